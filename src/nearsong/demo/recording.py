"""A mix -> a recording of it, with the reverberation, frequency response and noise of a studio, a tape or a hall.

Recordings change the features of a song a lot, but not who likes it. A home tape and a studio album of the same
artist are far apart before learning; a learned metric should bring them together.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft

from nearsong.demo.synth import RATE, Sound, filtered, n_samples, noise, swell

_FADE_SECONDS = (0.01, 0.6)  # at the start and the end
_MAX_AMPLITUDE = 0.89


@dataclass(frozen=True)
class Recording:
    """The parameters of a recording; each song has its own random variation of them.

    Attributes
    ----------
    name : str
        Name of the kind of recording.
    low, high : float
        Cut-off frequencies in Hz.
    tilt : float
        Slope of the spectrum in dB per octave.
    hiss : float
        Level of the noise in dB relative to the music.
    reverb, decay : float
        Share of reverberation in the sound, and its length in seconds.
    crush : float
        Strength of the dynamic compression; 0 for none.
    loudness : float
        Level of the result in dB relative to full scale.
    mono : bool
        Whether the recording has one channel.
    albums : tuple of str
        Patterns of album names.
    """

    name: str
    low: float
    high: float
    tilt: float
    hiss: float
    reverb: float
    decay: float
    crush: float
    loudness: float
    mono: bool
    albums: tuple[str, ...]


RECORDINGS = (
    Recording(
        "studio", 30, 11_500, tilt=0.0, hiss=-70, reverb=0.12, decay=0.6, crush=0.3, loudness=-15, mono=False,
        albums=("{thing}", "The {thing}", "{thing} Songs"),
    ),
    Recording(
        "tape", 100, 3_500, tilt=-2.0, hiss=-30, reverb=0.15, decay=0.4, crush=1.0, loudness=-30, mono=True,
        albums=("The {venue} Tapes", "Demos from the {venue}"),
    ),
    Recording(
        "hall", 60, 8_000, tilt=-1.5, hiss=-45, reverb=0.6, decay=2.0, crush=0.3, loudness=-23, mono=False,
        albums=("Live at the {venue}", "One Night at the {venue}"),
    ),
    Recording(
        "loud", 60, 10_000, tilt=2.2, hiss=-50, reverb=0.05, decay=0.3, crush=2.0, loudness=-9, mono=False,
        albums=("{thing} (Remastered)", "{thing} Loud and Clear"),
    ),
    Recording(
        "radio", 350, 3_600, tilt=2.0, hiss=-36, reverb=0.05, decay=0.2, crush=2.0, loudness=-14, mono=True,
        albums=("The {venue} Broadcast", "{thing} on the Wireless"),
    ),
    Recording(
        "next door", 40, 2_500, tilt=-3.0, hiss=-40, reverb=0.3, decay=0.5, crush=0.3, loudness=-33, mono=False,
        albums=("Heard Through the {venue} Wall", "{thing} Next Door"),
    ),
)  # fmt: skip
"""The kinds of recordings; features differ more between some of them than between some styles."""


def record(
    mix: npt.NDArray[np.float32], recording: Recording, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return the recording of a stereo mix of shape (2, n): an array of shape (n,) for mono, else (n, 2)."""
    dry = mix.mean(axis=0, keepdims=True) if recording.mono else mix
    dry = dry / (_level(dry) + 1e-9)
    if recording.crush > 0:
        dry = np.tanh(recording.crush * random.uniform(0.8, 1.25) * dry)
    wet = _with_reverb(dry, recording, random)
    wet /= _level(wet) + 1e-9
    n = wet.shape[1]
    hiss = _decibels(recording.hiss + random.uniform(-4, 4)) * filtered(noise(n, random), "highpass", 200)
    edges = swell(n, *_FADE_SECONDS)
    for number, channel in enumerate(wet):  # both channels have the same noise with a time offset
        channel += np.roll(hiss, number * n // 2)
        channel *= edges
    loud = wet * _decibels(recording.loudness + random.uniform(-2, 2))
    return np.ascontiguousarray(_limited(loud).T).squeeze()


def _with_reverb(
    dry: npt.NDArray[np.float32], recording: Recording, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Apply reverberation and frequency response, as one product of spectra."""
    n = dry.shape[1]
    decay = recording.decay * random.uniform(0.8, 1.25)
    size = scipy.fft.next_fast_len(n + n_samples(decay), real=True)
    octaves = np.log2(np.maximum(scipy.fft.rfftfreq(size, 1 / RATE), 1.0) / 600.0)
    low, high = (np.log2(edge * 2 ** random.uniform(-0.25, 0.25) / 600.0) for edge in (recording.low, recording.high))
    tilt = recording.tilt + random.uniform(-0.5, 0.5)
    # a slope of 24 dB per octave beyond the cut-off frequencies
    response = tilt * octaves.clip(-3, 4) - 24 * (np.maximum(low - octaves, 0) + np.maximum(octaves - high, 0))
    transfer = _decibels(response.clip(-120, 40))
    transfer[0] = 0.0
    share = min(recording.reverb * random.uniform(0.8, 1.25), 0.9)
    wet = np.empty_like(dry)
    for channel, sound in enumerate(dry):
        spectrum = scipy.fft.rfft(sound, size)
        tail = scipy.fft.rfft(_impulse_response(decay, random), size)
        spectrum *= transfer * ((1 - share) + share * tail)
        wet[channel] = scipy.fft.irfft(spectrum, size)[:n]
    return wet


def _impulse_response(seconds: float, random: np.random.Generator) -> Sound:
    """Return the impulse response of a room: low-passed noise that decays, of energy 1."""
    n = n_samples(seconds)
    tail = filtered(noise(n, random), "lowpass", 3_500, order=1) * np.exp(-6.9078 * np.arange(n) / n)
    tail[: n_samples(0.012)] = 0.0  # the first reflections arrive later
    return np.asarray(tail / (np.linalg.norm(tail) + 1e-9), dtype=np.float32)


def _limited(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Apply a soft limiter; samples below half of full scale are unchanged."""
    over = np.abs(sound) - 0.5
    limited = np.sign(sound) * (0.5 + (_MAX_AMPLITUDE - 0.5) * np.tanh(np.maximum(over, 0) / (_MAX_AMPLITUDE - 0.5)))
    return np.where(over > 0, limited, sound).astype(np.float32)


def _level(sound: npt.NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(sound))))


def _decibels(value: npt.ArrayLike) -> npt.NDArray[np.float32]:
    return np.asarray(10.0 ** (np.asarray(value) / 20), dtype=np.float32)
