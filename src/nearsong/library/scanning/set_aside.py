"""The samples of a file -> why it is set aside: silent, too short, steady, or speech of some seconds.

What is heard is measured while the encoders read the same samples. Wrongly setting a song aside is worse than
comparing a sound that is no music, so every rule holds for what is clear only; docs/decisions/0029 has the numbers.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nearsong.audio.decode import Samples
from nearsong.types import FloatArray

SILENT_LEVEL = -70.0
"""Level in dB of full scale below which 20 ms are silent; dithered silence has -90."""

MIN_SOUND_SECONDS = 1.5
"""Seconds of sound, silence left out, that songs have at least."""

MIN_STEADY_SECONDS = 5.0
"""Seconds after which it is clear whether a sound is steady."""

MAX_STEADY_CHANGE = 0.7
"""Standard deviation in dB, over seconds, of every band of a hum, a test tone or noise."""

MAX_SPEECH_SECONDS = 20.0
"""Length of what may be set aside as speech; longer recordings, such as audio books, are never."""

MIN_PAUSES, MIN_LEVEL_CHANGE = 0.05, 10.0
"""Of speech: the share of windows of 20 ms that are 30 dB below loud ones; standard deviation of the levels in dB."""

MAX_HELD_PITCH, MIN_VOICED = 0.22, 0.35
"""Of speech: how alike its fine spectrum is 186 ms later, -1..1; the share of loud windows with a voice's pitch."""

_WINDOWS_A_SECOND = 50
_BAND_EDGES = np.geomspace(8, 1_025, 7).astype(int)  # bins; below 86 Hz, even noise changes from second to second
_SPECTRUM = 2_048
_PITCH_WINDOW = 1_024


class SoundOutline:
    """Measures the samples of one file as they pass: levels, the spectrum of every second, short files completely.

    Parameters
    ----------
    blocks : iterator of arrays of float32
        Mono samples.
    sample_rate : int
    """

    def __init__(self, blocks: Iterator[Samples], sample_rate: int) -> None:
        self._blocks, self._rate = blocks, sample_rate
        self._rest = np.zeros(0, np.float32)
        self._levels: list[FloatArray] = []
        self._bands: list[FloatArray] = []
        self._short: list[Samples] = []
        self._window = sample_rate // _WINDOWS_A_SECOND

    def __iter__(self) -> Iterator[Samples]:
        """Pass the blocks on."""
        for block in self._blocks:
            self._measure(block)
            yield block
        if len(self._rest) >= self._window:
            self._levels.append(self._levels_of(self._rest))
        self._rest = np.zeros(0, np.float32)

    def reason(self, seconds: float) -> str:
        """Return why a file of this length is to be set aside; empty if it is music for all one can tell."""
        levels = np.concatenate(self._levels) if self._levels else np.zeros(0)
        sounding = float((levels > SILENT_LEVEL).sum()) / _WINDOWS_A_SECOND
        if not sounding:
            return "is silent."
        if sounding < MIN_SOUND_SECONDS:
            return f"has {sounding:.1f} seconds of sound; songs have at least {MIN_SOUND_SECONDS:g}."
        if sounding >= MIN_STEADY_SECONDS and _is_steady(self._bands, levels):
            return "is one steady sound, such as a hum, a test tone or noise."
        if seconds <= MAX_SPEECH_SECONDS and _is_speech(np.concatenate(self._short), levels, self._rate):
            return f"is speech of {seconds:.0f} seconds."
        return ""

    def _measure(self, block: Samples) -> None:
        if sum(map(len, self._short)) <= MAX_SPEECH_SECONDS * self._rate:
            self._short.append(block.copy())
        samples = np.concatenate([self._rest, block])
        n_seconds = len(samples) // self._rate
        for second in samples[: n_seconds * self._rate].reshape(n_seconds, self._rate):
            self._levels.append(self._levels_of(second))
            self._bands.append(_band_levels(second))
        self._rest = samples[n_seconds * self._rate :]

    def _levels_of(self, samples: Samples) -> FloatArray:
        n_windows = len(samples) // self._window
        windows = samples[: n_windows * self._window].reshape(n_windows, self._window)
        return np.asarray(10 * np.log10(np.square(windows).mean(axis=1) + 1e-12))


def _band_levels(second: Samples) -> FloatArray:
    """Return the levels in dB of bands of a spectrum, each twice as wide as the one before, (6,)."""
    n_spectra = len(second) // _SPECTRUM
    windows = second[: n_spectra * _SPECTRUM].reshape(n_spectra, _SPECTRUM)
    power = np.square(np.abs(np.fft.rfft(windows * np.hanning(_SPECTRUM)))).mean(axis=0)
    return np.asarray(10 * np.log10(np.add.reduceat(power, _BAND_EDGES[:-1]) + 1e-12))


def _is_steady(bands: list[FloatArray], levels: FloatArray) -> bool:
    """Return whether no band within 40 dB of the loudest changes from second to second."""
    rows = np.array(bands)
    if (levels <= SILENT_LEVEL).mean() > 0.02:
        return False
    mean = rows.mean(axis=0)
    audible = rows[:, mean > mean.max() - 40]
    return bool(audible.std(axis=0).max() < MAX_STEADY_CHANGE)


def _is_speech(samples: Samples, levels: FloatArray, rate: int) -> bool:
    """Return whether a sound has the pauses, the gliding pitch and the voiced parts of somebody who speaks."""
    below = levels - np.percentile(levels, 95)
    if (below < -30).mean() < MIN_PAUSES or np.clip(below, -45, 10).std() < MIN_LEVEL_CHANGE:
        return False
    return held_pitch(samples) < MAX_HELD_PITCH and voiced_share(samples, rate) > MIN_VOICED


def held_pitch(samples: Samples) -> float:
    """Return how alike the fine structure of the spectrum is 186 ms later: notes are held, spoken vowels glide."""
    hop, later, smooth = _SPECTRUM // 2, 4, 15
    n_frames = 1 + (len(samples) - _SPECTRUM) // hop
    if n_frames <= later:
        return 1.0
    frames = np.lib.stride_tricks.sliding_window_view(samples, _SPECTRUM)[::hop][:n_frames]
    spectra = np.abs(np.fft.rfft(frames * np.hanning(_SPECTRUM)))[:, 8:400]
    log = np.log(spectra + 1e-3 * spectra.max())
    padded = np.pad(log, ((0, 0), (smooth // 2, smooth // 2)), mode="edge")
    envelope = np.lib.stride_tricks.sliding_window_view(padded, smooth, axis=1).mean(axis=2)
    fine = log - envelope
    fine /= np.linalg.norm(fine, axis=1, keepdims=True) + 1e-9
    power = np.square(spectra).sum(axis=1)
    is_loud = power > 1e-3 * power.max()
    both = is_loud[:-later] & is_loud[later:]
    alike = (fine[:-later] * fine[later:]).sum(axis=1)
    return float(alike[both].mean()) if both.any() else 1.0


def voiced_share(samples: Samples, rate: int) -> float:
    """Return the share of loud windows that repeat at 70 to 400 Hz and have power above 300 Hz, as vowels do.

    A bass drum repeats too, but it has hardly any power there.
    """
    n_windows = len(samples) // _PITCH_WINDOW
    windows = samples[: n_windows * _PITCH_WINDOW].reshape(n_windows, _PITCH_WINDOW)
    windows = windows - windows.mean(axis=1, keepdims=True)
    power = np.square(windows).mean(axis=1)
    windows = windows[power > 1e-2 * np.percentile(power, 95)]
    if not len(windows):
        return 0.0
    spectra = np.square(np.abs(np.fft.rfft(windows, 2 * _PITCH_WINDOW)))
    correlation = np.fft.irfft(spectra)[:, :_PITCH_WINDOW]
    overlap: npt.NDArray[np.float64] = _PITCH_WINDOW / (_PITCH_WINDOW - np.arange(_PITCH_WINDOW))
    repeats = (correlation * overlap / (correlation[:, :1] + 1e-12))[:, rate // 400 : rate // 70]
    has_formants = spectra[:, 2 * _PITCH_WINDOW * 300 // rate :].sum(axis=1) > 0.1 * spectra.sum(axis=1)
    return float(((repeats.max(axis=1) > 0.6) & has_formants).mean())
