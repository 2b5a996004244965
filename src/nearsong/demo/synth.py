"""Pitches and times -> audio: the instruments and drums of the demo.

All sounds are made of oscillators, noise, filters and envelopes at 24,000 Hz. The same arguments and the same state
of the random generator give the same samples.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.signal

RATE = 24_000
"""Sample rate in Hz, which all formats support."""

Sound = npt.NDArray[np.float32]
"""Mono samples of shape (n,)."""

Pass = Literal["lowpass", "highpass", "bandpass"]

_TABLE_BITS = 13
_TABLE = 1 << _TABLE_BITS  # samples per period of an oscillator
_NYQUIST = 0.45 * RATE  # Hz; highest partials
_FINGERTIP = 3_000.0  # Hz; a soft fingertip excites a string less above this


def hertz(pitch: float) -> float:
    """Return the frequency of a MIDI pitch; 69 is 440 Hz."""
    return float(440.0 * 2.0 ** ((pitch - 69) / 12))


def n_samples(seconds: float) -> int:
    """Return the number of samples in some time, at least one."""
    return max(1, round(seconds * RATE))


# ---- oscillators, filters, envelopes


@lru_cache(maxsize=256)
def _period(shape: str, n_partials: int, edge: float) -> Sound:
    """Return one period of a wave with some partials; those with a number above ``edge`` are attenuated."""
    number = np.arange(1, n_partials + 1)
    strength = {
        "saw": 1.0 / number,
        "square": (number % 2) / number,
        "pulse": np.sin(np.pi * number / 4) / number,  # high for a quarter of the period
        "triangle": (number % 2) * np.where(number % 4 == 1, 1.0, -1.0) / number**2,
        "sine": (number == 1) * 1.0,
    }[shape]
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex128)
    spectrum[1 : n_partials + 1] = -0.25j * _TABLE * strength / np.sqrt(1 + (number / edge) ** 4)
    return np.asarray(scipy.fft.irfft(spectrum), dtype=np.float32)


def oscillator(
    shape: str,
    frequency: float | npt.NDArray[np.float64],
    n: int,
    phase: float = 0.0,
    edge: float = np.inf,
) -> Sound:
    """Return ``n`` samples of a wave without aliasing.

    Parameters
    ----------
    shape : {"saw", "square", "pulse", "triangle", "sine"}
        The wave.
    frequency : float or array of shape (n,)
        In Hz; constant or for every sample.
    n : int
        Samples.
    phase : float
        Start within the period, 0 to 1.
    edge : float
        Frequency in Hz above which partials are attenuated by 12 dB per octave.

    Returns
    -------
    array of float32 and shape (n,)
        The first partial has the amplitude 0.5, unless the edge is below it.

    Examples
    --------
    >>> oscillator("sine", 6_000.0, 4).round(2) + 0.0
    array([ 0. ,  0.5,  0. , -0.5], dtype=float32)
    """
    highest = float(np.max(frequency))
    n_partials = int(min(max(_NYQUIST / highest, 1), _TABLE // 4))
    step = np.asarray(
        np.asarray(frequency) * (2.0**32 / RATE), dtype=np.uint32
    )  # a period is 2^32, which wraps around
    start = np.uint32(int(phase * 2**32) & 0xFFFFFFFF)
    turns = np.cumsum(step, dtype=np.uint32) if step.ndim else np.arange(n, dtype=np.uint32) * step
    index = (turns + start) >> np.uint32(32 - _TABLE_BITS)
    return np.asarray(_period(shape, n_partials, round(edge / highest, 2))[index])


@lru_cache(maxsize=512)
def _sections(kind: Pass, low: float, high: float, order: int) -> npt.NDArray[np.float64]:
    edges = [low, high] if kind == "bandpass" else low
    return np.asarray(scipy.signal.butter(order, edges, kind, fs=RATE, output="sos"))


def filtered(sound: Sound, kind: Pass, low: float, high: float = 0.0, order: int = 2) -> Sound:
    """Return a sound after a Butterworth filter: ``lowpass`` or ``highpass`` at ``low`` Hz, or ``bandpass``."""
    low = float(np.clip(round(low, 1), 15.0, 0.48 * RATE))
    high = float(np.clip(round(high, 1), low * 1.05, 0.49 * RATE)) if kind == "bandpass" else 0.0
    # single precision is too imprecise at low edges
    return np.asarray(scipy.signal.sosfilt(_sections(kind, low, high, order), sound.astype(np.float64)), np.float32)


def swell(n: int, attack: float, release: float) -> Sound:
    """Return an envelope with cosine attack and release in seconds, each at most half of its length."""
    envelope = np.ones(n, dtype=np.float32)
    up, down = (min(n_samples(seconds), n // 2) for seconds in (attack, release))
    envelope[:up] = _rise(up)
    envelope[n - down :] = _rise(down)[::-1]
    return envelope


@lru_cache(maxsize=64)
def _rise(n: int) -> Sound:
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * (np.arange(n) + 0.5) / max(n, 1)), dtype=np.float32)


def decay(n: int, seconds: float, attack: float = 0.002) -> Sound:
    """Return an envelope that falls by 60 dB in some seconds after a short attack, and ends in silence."""
    envelope = np.exp(np.arange(n, dtype=np.float32) * np.float32(-6.9078 / (seconds * RATE)))
    return np.asarray(envelope * swell(n, attack, 0.01))


def noise(n: int, random: np.random.Generator) -> Sound:
    """Return white noise of variance 1."""
    return random.standard_normal(n, dtype=np.float32)


# ---- instruments: a frequency and a length -> a note


def pluck(
    frequency: float, seconds: float, random: np.random.Generator, *, ring: float, softness: float, position: float
) -> Sound:
    """Return a plucked string: the Karplus-Strong loop of delay and low-pass, solved by Fourier transform.

    Parameters
    ----------
    frequency, seconds : float
        Frequency in Hz and length of the note.
    random : Generator
        Draws the noise that excites the string.
    ring : float
        Seconds in which the lowest partials fall by 60 dB.
    softness : float
        0 to 0.5: how fast high partials decay.
    position : float
        Plucking position as a share of the length of the string.
    """
    n = n_samples(seconds)
    size = scipy.fft.next_fast_len(n_samples(max(seconds, ring) + 0.1), real=True)
    length = RATE / frequency
    burst = noise(max(2, round(length)), random)
    frequencies = scipy.fft.rfftfreq(size)
    damping = np.float32(1 - softness) + np.float32(softness) * _delay(frequencies, 1.0)
    loop = damping * _delay(frequencies, length - softness) * np.float32(10.0 ** (-3.0 / (frequency * ring)))
    finger = (1 / (1 + (frequencies * (RATE / _FINGERTIP)) ** 2)).astype(np.float32)
    spectrum = scipy.fft.rfft(burst - burst.mean(), size) * finger
    spectrum *= (1 - _delay(frequencies, position * length)) / (1 - loop)
    string = scipy.fft.irfft(spectrum, size)[:n]
    return string * np.float32(0.25 / (np.std(string[: n_samples(0.1)]) + 1e-9)) * swell(n, 0.001, 0.03)


def _delay(frequencies: npt.NDArray[np.float64], samples: float) -> npt.NDArray[np.complex64]:
    """Return the frequency response of a delay, exp(-2 pi i f t), with f in periods per sample."""
    angle = (frequencies * (-2 * np.pi * samples)).astype(np.float32)
    response = np.empty(len(angle), dtype=np.complex64)
    np.cos(angle, out=response.real)
    np.sin(angle, out=response.imag)
    return response


def hammered(frequency: float, seconds: float, random: np.random.Generator, *, hardness: float, ring: float) -> Sound:
    """Return a piano-like note: inharmonic partials, of which high ones decay faster, and the knock of the hammer."""
    n = n_samples(seconds)
    number = np.arange(1, 13)
    partials = number * frequency * np.sqrt(1 + 4e-4 * number**2)
    strength = hardness ** (number - 1) * (0.3 + np.abs(np.sin(np.pi * number / 7.3)))
    length = ring * (220.0 / frequency) ** 0.4 / (1 + 0.35 * (number - 1))
    note = np.zeros(n, dtype=np.float32)
    for partial, amount, ring_seconds in zip(partials, strength, length, strict=True):
        if partial < _NYQUIST:
            audible = min(n, n_samples(ring_seconds))
            note[:audible] += (
                np.float32(amount)
                * oscillator("sine", partial, audible, random.random())
                * decay(audible, ring_seconds)
            )
    knock = filtered(noise(min(n, 1_500), random), "bandpass", 120, 900) * decay(min(n, 1_500), 0.05)
    note[: len(knock)] += 0.25 * knock
    return note * np.float32(0.8)


def bowed(frequency: float, seconds: float, random: np.random.Generator, *, warmth: float, vibrato: float) -> Sound:
    """Return a bowed string: a soft saw wave with slow vibrato, body resonance and bow noise."""
    n = n_samples(seconds)
    time = np.arange(n, dtype=np.float32) / RATE
    depth = 0.006 * vibrato * np.minimum(time / 0.5, 1)
    pitch = frequency * (1 + depth * np.sin(2 * np.pi * (5.2 + 0.6 * random.random()) * time + 6 * random.random()))
    string = oscillator("saw", pitch, n, random.random(), warmth)
    string += np.resize(np.float32(0.01) * noise(6_000, random), n)
    body = filtered(string, "bandpass", 350, 1_500, order=1)
    return (string + np.float32(0.7) * body) * swell(n, 0.12, 0.15)


def pad(frequency: float, seconds: float, random: np.random.Generator, *, warmth: float, detune: float) -> Sound:
    """Return a soft synthesizer: three detuned saw waves with slowly changing brightness."""
    n = n_samples(seconds)
    wave = 0.5 + 0.5 * np.sin(2 * np.pi * np.arange(n, dtype=np.float32) / n_samples(4 + 6 * random.random()))
    sound = np.zeros(n, dtype=np.float32)
    for step in (-1, 0.1, 1):
        pitch, phase = frequency * (1 + detune * step), random.random()
        sound += oscillator("saw", pitch, n, phase, warmth)
        sound += np.float32(0.6) * wave * oscillator("saw", pitch, n, phase, 4 * warmth)
    return sound * np.float32(0.4) * swell(n, 0.35 * seconds, 0.4 * seconds)


def power_chord(frequency: float, seconds: float, random: np.random.Generator, *, drive: float, muted: bool) -> Sound:
    """Return root, fifth and octave through an overdriven amplifier and its loudspeaker."""
    n = n_samples(seconds)
    chord = np.zeros(n, dtype=np.float32)
    for ratio, share in ((1.0, 1.0), (1.4983, 0.8), (2.0, 0.5)):
        pitch = frequency * ratio * (1 + 0.002 * random.normal())
        chord += np.float32(2 * share) * oscillator("saw", pitch, n, random.random(), 700 if muted else 3_000)
    chord *= decay(n, 0.22 if muted else 2.5)
    shaped = np.tanh(drive * filtered(chord, "highpass", 90))
    return filtered(shaped, "bandpass", 90, 4_200) * np.float32(0.6) * swell(n, 0.002, 0.02)


def synth_bass(frequency: float, seconds: float, *, bite: float) -> Sound:
    """Return a short synthesizer bass; ``bite`` is the cut-off frequency of its filter in Hz."""
    n = n_samples(seconds)
    tone = oscillator("saw", frequency, n, edge=bite) + np.float32(0.7) * oscillator("sine", frequency, n)
    return tone * decay(n, 2.2 * seconds, 0.004)


def flute(frequency: float, seconds: float, random: np.random.Generator) -> Sound:
    """Return a flute with breath noise."""
    n = n_samples(seconds)
    time = np.arange(n) / RATE
    pitch = frequency * (1 + 0.004 * np.sin(2 * np.pi * 4.8 * time) * np.clip(time / 0.3, 0, 1))
    breath = filtered(noise(n, random), "bandpass", frequency, 2.5 * frequency, 1)
    tone = oscillator("sine", pitch, n) + np.float32(0.25) * oscillator("triangle", 2 * pitch, n)
    return np.asarray((tone + np.float32(0.12) * breath) * swell(n, 0.06, 0.09))


# ---- drums


def kick(random: np.random.Generator, *, pitch: float, seconds: float) -> Sound:
    """Return a bass drum: a sine of falling pitch, and a click."""
    n = n_samples(seconds)
    time = np.arange(n) / RATE
    falling = pitch * (1 + 3.5 * np.exp(-time / 0.025))
    drum = np.float32(2) * oscillator("sine", falling, n) * decay(n, seconds)
    click = filtered(noise(240, random), "highpass", 1_500) * decay(240, 0.008, 0.0005)
    drum[:240] += 0.15 * click[: len(drum)]
    return drum


def snare(random: np.random.Generator, *, pitch: float, wires: float) -> Sound:
    """Return a snare drum: a tone and the noise of its wires."""
    seconds = 0.22
    n = n_samples(seconds)
    skin = oscillator("triangle", pitch, n) * decay(n, 0.5 * seconds)
    rattle = filtered(noise(n, random), "bandpass", 900, 8_000, 1) * decay(n, seconds)
    return skin + np.float32(wires) * rattle


def burst(random: np.random.Generator, *, low: float, high: float, seconds: float, attack: float = 0.001) -> Sound:
    """Return decaying band-passed noise: cymbals, shakers, brushes."""
    n = n_samples(seconds)
    return filtered(noise(n, random), "bandpass", low, high) * decay(n, seconds, attack)


# ---- the mix


class Mix:
    """A stereo signal that notes are added to.

    Parameters
    ----------
    seconds : float
        Length; notes are cut off at the end.
    """

    def __init__(self, seconds: float) -> None:
        self.sound = np.zeros((2, n_samples(seconds)), dtype=np.float32)

    def add(self, note: Sound, at: float, gain: float = 1.0, pan: float = 0.0) -> None:
        """Add a note at a time in seconds; pan is -1 (left) to 1 (right), at constant power."""
        start = round(at * RATE)
        part = note[: max(0, self.sound.shape[1] - start)]
        angle = (pan + 1) * np.pi / 4
        for channel, share in enumerate((np.cos(angle), np.sin(angle))):
            self.sound[channel, start : start + len(part)] += np.float32(gain * share) * part
