"""Samples -> what a network of a user reads: a mel spectrogram or samples, at any rate."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.fft

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.pretrained.onnx_description import MelDescription
from nearsong.model.encoders.pretrained.resampled import ResampledSamples

_TILE_FRAMES = 64
_MIN_POWER = 1e-10


class OnnxInput(FrameFeatures):
    """The input of a network: frames of a mel spectrogram, or single samples.

    Parameters
    ----------
    rate : int
        Sample rate in Hz that the network reads.
    mel : dict, optional
        The mel spectrogram, as :class:`MelDescription` has it; without it frames are samples.
    """

    name: ClassVar[str] = "onnx_input"

    def __init__(self, rate: int, mel: dict[str, Any] | None = None) -> None:
        self.rate = rate
        self.mel = None if mel is None else MelDescription(**mel)
        self.sample_rate = SAMPLE_RATE
        self.min_samples = 512
        self._parameters = {"rate": rate, "mel": mel}
        if self.mel is None:
            self.n_features, self.seconds_a_frame = 1, 1 / rate
            return
        self.n_features, self.seconds_a_frame = self.mel.bands, self.mel.hop / rate
        self._filters = mel_filters(rate, self.mel)
        phases = 2 * np.pi * np.arange(self.mel.n_fft) / self.mel.n_fft
        self._window = (0.5 - 0.5 * np.cos(phases)).astype(np.float32)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return dict(self._parameters)

    def start(self) -> "_InputStream":
        """Return a stream for one song."""
        return _InputStream(self)

    def tile(self, samples: Samples) -> Frames:
        """Return the frames (n_frames, n_bands) of samples (n_samples,), which cover some frames exactly."""
        assert self.mel is not None
        windows = np.lib.stride_tricks.sliding_window_view(samples, self.mel.n_fft)[:: self.mel.hop]
        spectrum = scipy.fft.rfft(windows * self._window, axis=1)
        # einsum and not a BLAS: its sums have the same order for any number of threads
        power = np.einsum("tf,bf->tb", spectrum.real**2 + spectrum.imag**2, self._filters)
        if self.mel.level == "log10(10000x+1)":
            power = np.log10(10_000 * power + 1)
        elif self.mel.level == "dB":
            power = 10 * np.log10(np.maximum(power, _MIN_POWER))
        elif self.mel.level == "ln":
            power = np.log(np.maximum(power, _MIN_POWER))
        return np.asarray(power, np.float32)


class _InputStream:
    """Resamples the signal of one song and cuts it into tiles of fixed size."""

    def __init__(self, features: OnnxInput) -> None:
        self._features = features
        self._resampled = ResampledSamples(features.rate)
        n_before = 0 if features.mel is None else features.mel.n_fft // 2
        self._pending = np.zeros(n_before, np.float32)

    def add(self, samples: Samples) -> Frames:
        return self._complete(self._resampled.add(samples))

    def _complete(self, samples: Samples) -> Frames:
        mel = self._features.mel
        if mel is None:
            return samples[:, None]
        self._pending = np.concatenate([self._pending, samples])
        tile, step = mel.n_fft + (_TILE_FRAMES - 1) * mel.hop, _TILE_FRAMES * mel.hop
        tiles = []
        start = 0
        while start + tile <= len(self._pending):
            tiles.append(self._features.tile(self._pending[start : start + tile]))
            start += step
        self._pending = self._pending[start:]
        return np.concatenate([np.empty((0, mel.bands), np.float32), *tiles])

    def finish(self) -> Frames:
        frames = self._complete(self._resampled.finish())
        mel = self._features.mel
        if mel is None:
            return frames
        padded = np.concatenate([self._pending, np.zeros(mel.n_fft // 2, np.float32)])
        if len(padded) < mel.n_fft:
            return frames
        n_frames = (len(padded) - mel.n_fft) // mel.hop + 1
        rest = padded[: mel.n_fft + (n_frames - 1) * mel.hop]
        return np.concatenate([frames, self._features.tile(rest)])


def mel_filters(rate: int, mel: MelDescription) -> npt.NDArray[np.float32]:
    """Return triangular filters (n_bands, n_bins) from 0 Hz to half the sample rate, as librosa's."""
    bins = np.linspace(0, rate / 2, mel.n_fft // 2 + 1)
    corners = _mel_corners(rate / 2, mel.bands + 2, mel.scale)
    low, centre, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    triangles = np.maximum(0, np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)))
    if not triangles.any():
        raise InvalidInputError(f"mel.bands={mel.bands} are more than {mel.n_fft} samples can resolve.")
    return np.asarray(triangles * (2 / (high - low) if mel.norm == "slaney" else 1), np.float32)


def _mel_corners(highest: float, n: int, scale: str) -> npt.NDArray[np.float64]:
    """Return frequencies in Hz at equal distances in mel, from 0 to the highest."""
    if scale == "htk":
        return np.asarray(700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + highest / 700), n) / 2595) - 1))
    step, knee = np.log(6.4) / 27, 15.0  # linear below 1,000 Hz, which is 15 mel
    top = highest * 3 / 200 if highest <= 1000 else knee + np.log(highest / 1000) / step
    mels = np.linspace(0, top, n)
    return np.where(mels <= knee, mels * 200 / 3, 1000 * np.exp(step * (mels - knee)))
