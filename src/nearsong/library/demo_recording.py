"""A mix -> a recording of it: what the room, the tape and the machines do to music, and listeners do not mind.

A kitchen tape and a studio album of the same band sound far apart to a plain distance. Whoever likes the band likes
both; that is what there is to learn.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft

from nearsong.library.demo_synth import RATE, Sound, filtered, n_samples, noise, swell

_EDGES_SECONDS = (0.01, 0.6)  # songs begin and end in silence
_LOUDEST = 0.89


@dataclass(frozen=True)
class Recording:
    """How a song was recorded; numbers are typical ones, every song has its own near them.

    Attributes
    ----------
    name : str
        What it is called.
    low, high : float
        Hz: what is below or above is lost.
    tilt : float
        dB that an octave is louder than the one below it.
    hiss : float
        dB of the noise, the music being 0.
    room, echo : float
        Share of the room in the sound, and seconds until its echo has gone.
    crush : float
        How hard the sound is pressed together; 0 is not at all.
    loudness : float
        dB of the result, full scale being 0.
    mono : bool
        Whether there was only one microphone.
    albums : tuple of str
        Patterns of what such an album is called.
    """

    name: str
    low: float
    high: float
    tilt: float
    hiss: float
    room: float
    echo: float
    crush: float
    loudness: float
    mono: bool
    albums: tuple[str, ...]


RECORDINGS = (
    Recording(
        "studio", 30, 11_500, tilt=0.0, hiss=-70, room=0.12, echo=0.6, crush=0.3, loudness=-15, mono=False,
        albums=("{thing}", "The {thing}", "{thing} Songs"),
    ),
    Recording(
        "tape", 100, 3_500, tilt=-2.0, hiss=-30, room=0.15, echo=0.4, crush=1.0, loudness=-30, mono=True,
        albums=("The {place} Tapes", "Demos from the {place}"),
    ),
    Recording(
        "hall", 60, 8_000, tilt=-1.5, hiss=-45, room=0.6, echo=2.0, crush=0.3, loudness=-23, mono=False,
        albums=("Live at the {place}", "One Night at the {place}"),
    ),
    Recording(
        "loud", 60, 10_000, tilt=2.2, hiss=-50, room=0.05, echo=0.3, crush=2.0, loudness=-9, mono=False,
        albums=("{thing} (Remastered)", "{thing} Loud and Clear"),
    ),
    Recording(
        "radio", 350, 3_600, tilt=2.0, hiss=-36, room=0.05, echo=0.2, crush=2.0, loudness=-14, mono=True,
        albums=("The {place} Broadcast", "{thing} on the Wireless"),
    ),
    Recording(
        "next door", 40, 2_500, tilt=-3.0, hiss=-40, room=0.3, echo=0.5, crush=0.3, loudness=-33, mono=False,
        albums=("Heard Through the {place} Wall", "{thing} Next Door"),
    ),
)  # fmt: skip
"""The ways of recording; what is taken out of a song differs more between them than between many styles."""


def record(mix: npt.NDArray[np.float32], how: Recording, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return a stereo mix (2 x n) as it comes from the tape: (n,) if there was one microphone, otherwise (n, 2)."""
    dry = mix.mean(axis=0, keepdims=True) if how.mono else mix
    dry = dry / (_level(dry) + 1e-9)
    if how.crush > 0:
        dry = np.tanh(how.crush * random.uniform(0.8, 1.25) * dry)
    wet = _in_the_room(dry, how, random)
    wet /= _level(wet) + 1e-9
    n = wet.shape[1]
    hiss = _decibels(how.hiss + random.uniform(-4, 4)) * filtered(noise(n, random), "highpass", 200)
    edges = swell(n, *_EDGES_SECONDS)
    for number, channel in enumerate(wet):  # left and right have the same noise at different times
        channel += np.roll(hiss, number * n // 2)
        channel *= edges
    loud = wet * _decibels(how.loudness + random.uniform(-2, 2))
    return np.ascontiguousarray(_limited(loud).T).squeeze()


def _in_the_room(
    dry: npt.NDArray[np.float32], how: Recording, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return the sound with its room and through the machine's frequency response, in one product of spectra."""
    n = dry.shape[1]
    echo = how.echo * random.uniform(0.8, 1.25)
    size = scipy.fft.next_fast_len(n + n_samples(echo), real=True)
    octaves = np.log2(np.maximum(scipy.fft.rfftfreq(size, 1 / RATE), 1.0) / 600.0)
    low, high = (np.log2(edge * 2 ** random.uniform(-0.25, 0.25) / 600.0) for edge in (how.low, how.high))
    tilt = how.tilt + random.uniform(-0.5, 0.5)
    # a slope of 24 dB an octave beyond the edges
    response = tilt * octaves.clip(-3, 4) - 24 * (np.maximum(low - octaves, 0) + np.maximum(octaves - high, 0))
    machine = _decibels(response.clip(-120, 40))
    machine[0] = 0.0
    share = min(how.room * random.uniform(0.8, 1.25), 0.9)
    wet = np.empty_like(dry)
    for channel, sound in enumerate(dry):
        spectrum = scipy.fft.rfft(sound, size)
        tail = scipy.fft.rfft(_tail(echo, random), size)
        spectrum *= machine * ((1 - share) + share * tail)
        wet[channel] = scipy.fft.irfft(spectrum, size)[:n]
    return wet


def _tail(seconds: float, random: np.random.Generator) -> Sound:
    """Return a room's answer to a clap: noise that dies away and is darker than the clap, of energy 1."""
    n = n_samples(seconds)
    tail = filtered(noise(n, random), "lowpass", 3_500, order=1) * np.exp(-6.9078 * np.arange(n) / n)
    tail[: n_samples(0.012)] = 0.0  # the walls are some metres away
    return np.asarray(tail / (np.linalg.norm(tail) + 1e-9), dtype=np.float32)


def _limited(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Bend the loudest peaks, so that nothing clips; what is below half of full scale stays as it is."""
    over = np.abs(sound) - 0.5
    bent = np.sign(sound) * (0.5 + (_LOUDEST - 0.5) * np.tanh(np.maximum(over, 0) / (_LOUDEST - 0.5)))
    return np.where(over > 0, bent, sound).astype(np.float32)


def _level(sound: npt.NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(sound))))


def _decibels(value: npt.ArrayLike) -> npt.NDArray[np.float32]:
    return np.asarray(10.0 ** (np.asarray(value) / 20), dtype=np.float32)
