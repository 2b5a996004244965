"""Samples -> frames: 13 MFCCs of every 23 ms with their first and second derivatives (paper III-A).

The power spectrum of 512 samples with a hop of 256, 40 mel bands (Slaney's scale and normalisation), their level in
dB, and the first 13 coefficients of its cosine transform. The derivatives are slopes and curvatures of polynomials
fitted to nine frames. All values equal librosa's with the same parameters and ``top_db=None``.

Frames are computed in tiles of fixed size, so that a frame has the same bytes whether its song is passed at once or
in blocks.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.fft
from numba import njit

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.audio.spectrum.mel_power import FRAME_LENGTH, HOP_LENGTH, band_edges, hann_window, mel_bands, mel_power
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

_TILE_FRAMES = 256
"""Frames per tile; a multiple of `LANES`."""

_TILE_SAMPLES = FRAME_LENGTH + (_TILE_FRAMES - 1) * HOP_LENGTH
"""Samples that the frames of a tile cover."""

_TILE_STEP_SAMPLES = _TILE_FRAMES * HOP_LENGTH
"""Samples from one tile to the next."""

_MAX_BLOCK_SAMPLES = 4 * _TILE_STEP_SAMPLES
"""Samples processed at a time."""

_WIDTH = 9
"""Frames that a derivative is fitted to, as in librosa."""

_HALF_WIDTH = _WIDTH // 2

_MIN_POWER = 1e-10
"""Floor of the mel power, -100 dB, so that digital silence has a finite level."""

_IMPRECISE_SHARE = 1e-9
"""Below this share of the power of a frame, rounding errors of single precision show, for example in pure tones."""


class DeltaMFCC(FrameFeatures):
    """Dynamic MFCCs: cepstral coefficients with their first and second derivatives.

    Parameters
    ----------
    sample_rate : int, default=22050
        Sample rate of the input in Hz.
    n_mfcc : int, default=13
        Cepstral coefficients per frame.
    n_mels : int, default=40
        Mel bands.

    Attributes
    ----------
    n_features : int
        Numbers per frame: three times ``n_mfcc``.
    min_samples : int
        The minimum length of the input: nine frames, 93 ms.
    seconds_a_frame : float
        Time from one frame to the next.

    Notes
    -----
    Frame i has 512 samples, centred at sample ``256 * i``, with zero padding at both ends, so n samples give
    ``1 + n // 256`` frames: five seconds are 431.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.audio import DeltaMFCC
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(5 * 22_050) / 22_050).astype(np.float32)
    >>> DeltaMFCC().transform(tone).shape
    (431, 39)
    """

    name: ClassVar[str] = "delta_mfcc"

    def __init__(
        self,
        sample_rate: int = SAMPLE_RATE,
        n_mfcc: int = 13,
        n_mels: int = 40,
    ) -> None:
        self.sample_rate = check_count(sample_rate, "sample_rate", 1_000)
        self.n_mels = check_count(n_mels, "n_mels")
        self.n_mfcc = check_count(n_mfcc, "n_mfcc")
        if n_mfcc > n_mels:
            raise InvalidInputError(
                f"n_mfcc={n_mfcc} is more than the mel bands, n_mels={n_mels}; choose at most {n_mels}."
            )
        if n_mels > FRAME_LENGTH:
            raise InvalidInputError(
                f"n_mels={n_mels} is more than a frame can resolve; choose at most {FRAME_LENGTH}."
            )
        self.n_features = 3 * self.n_mfcc
        self.min_samples = (_WIDTH - 1) * HOP_LENGTH
        self.seconds_a_frame = HOP_LENGTH / self.sample_rate
        self._exact_window = hann_window(FRAME_LENGTH)
        self._window = self._exact_window.astype(np.float32)
        self._bands = mel_bands(self.sample_rate, self.n_mels)
        self._edges = band_edges(self._bands)
        self._areas = self._bands.sum(axis=1)
        cosines = scipy.fft.dct(np.eye(self.n_mels), type=2, norm="ortho", axis=0)[: self.n_mfcc]
        self._cosines = np.ascontiguousarray(cosines.T, dtype=np.float32)

    def parameters(self) -> dict[str, int]:
        """Return the parameters; equal parameters give equal frames."""
        return {name: getattr(self, name) for name in ("sample_rate", "n_mfcc", "n_mels")}

    def start(self) -> "_MFCCStream":
        """Return a stream for one song."""
        return _MFCCStream(self)

    def tiles(self, samples: Samples, n_frames: int) -> Iterator[Frames]:
        """Yield the cepstral coefficients (n, n_mfcc) of frames, tile by tile; ``samples`` covers complete tiles."""
        for start in range(0, n_frames, _TILE_FRAMES):
            first = start * HOP_LENGTH
            yield self._tile(samples[first : first + _TILE_SAMPLES])[: n_frames - start]

    def _tile(self, samples: Samples) -> Frames:
        levels, total_power = mel_power(samples, _TILE_FRAMES, self._window, self._bands, self._edges)
        self._recompute_imprecise(levels, total_power, samples)
        np.maximum(levels, np.float32(_MIN_POWER), out=levels)
        np.log10(levels, out=levels)
        levels *= np.float32(10)
        return np.asarray(levels @ self._cosines, dtype=np.float32)

    def _recompute_imprecise(self, power: Frames, total_power: Frames, samples: Samples) -> None:
        """Recompute in double precision the frames with a band that is too weak for single precision."""
        weak = (power < _IMPRECISE_SHARE * total_power[:, None] * self._areas) & (power > _MIN_POWER / 2)
        rows = np.flatnonzero(weak.any(axis=1))
        if len(rows):
            windows = np.lib.stride_tricks.sliding_window_view(samples, FRAME_LENGTH)[rows * HOP_LENGTH]
            spectrum = scipy.fft.rfft(windows * self._exact_window, axis=1)
            power[rows] = (spectrum.real**2 + spectrum.imag**2) @ self._bands.T.astype(np.float64)


class _MFCCStream:
    """Cuts the signal of one song into overlapping tiles; the last one is zero-padded and trimmed."""

    def __init__(self, features: DeltaMFCC) -> None:
        self._features = features
        self._derivatives = _Derivatives(features.n_mfcc)
        self._pending = np.zeros(FRAME_LENGTH // 2, dtype=np.float32)

    def add(self, samples: Samples) -> Frames:
        pieces = []
        for start in range(0, len(samples), _MAX_BLOCK_SAMPLES):  # pieces that fit into the processor's cache
            block = samples[start : start + _MAX_BLOCK_SAMPLES]
            self._pending = np.concatenate([self._pending, block])
            n_tiles = max(0, (len(self._pending) - _TILE_SAMPLES) // _TILE_STEP_SAMPLES + 1)
            for tile in self._features.tiles(self._pending, n_tiles * _TILE_FRAMES):
                pieces += self._derivatives.add(tile)
            self._pending = self._pending[n_tiles * _TILE_STEP_SAMPLES :]
        return self._joined(pieces)

    def finish(self) -> Frames:
        signal = np.concatenate([self._pending, np.zeros(FRAME_LENGTH // 2, dtype=np.float32)])
        n_frames = (len(signal) - FRAME_LENGTH) // HOP_LENGTH + 1
        signal = np.concatenate([signal, np.zeros(_TILE_STEP_SAMPLES + _TILE_SAMPLES, dtype=np.float32)])
        pieces = []
        for tile in self._features.tiles(signal, n_frames):
            pieces += self._derivatives.add(tile)
        return self._joined([*pieces, *self._derivatives.finish()])

    def _joined(self, pieces: list[Frames]) -> Frames:
        return np.concatenate(pieces) if pieces else np.empty((0, self._features.n_features), dtype=np.float32)


def with_derivatives(mfcc: npt.ArrayLike) -> Frames:
    """Append first and second derivatives to coefficients.

    Parameters
    ----------
    mfcc : array of shape (n_frames, n_mfcc)
        At least nine frames.

    Returns
    -------
    array of shape (n_frames, 3 * n_mfcc), float32
        Coefficients, first derivatives, second derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.audio import with_derivatives
    >>> with_derivatives(np.arange(10.0)[:, None] ** 2)[4].round(3)
    array([16.,  8.,  2.], dtype=float32)
    """
    frames = np.asarray(mfcc, dtype=np.float32)
    if frames.ndim != 2 or len(frames) < _WIDTH:
        raise InvalidInputError(
            f"mfcc has shape {frames.shape}; frames x coefficients is needed, with at least {_WIDTH} frames."
        )
    derivatives = _Derivatives(frames.shape[1])
    return np.concatenate([*derivatives.add(frames), *derivatives.finish()])


class _Derivatives:
    """Appends derivatives to chunks of coefficients, each from the nine frames around it.

    At both ends the polynomial is fitted to the outermost nine frames. Its highest derivative is constant, so the
    four outermost frames have the derivatives of the fifth.
    """

    def __init__(self, n_mfcc: int) -> None:
        self._window: Frames = np.empty((0, n_mfcc), dtype=np.float32)
        self._last: Frames | None = None

    def add(self, chunk: Frames) -> list[Frames]:
        window = np.concatenate([self._window, chunk])
        self._window = window if len(window) < _WIDTH else window[-2 * _HALF_WIDTH :]
        if len(window) < _WIDTH:
            return []
        inner = _differentiated(np.ascontiguousarray(window), _SLOPE, _CURVATURE)
        first = [] if self._last is not None else [_edge(window[:_HALF_WIDTH], inner[0])]
        self._last = inner[-1]
        return [*first, inner]

    def finish(self) -> list[Frames]:
        return [] if self._last is None else [_edge(self._window[-_HALF_WIDTH:], self._last)]


def _edge(frames: Frames, neighbour: Frames) -> Frames:
    derivatives = neighbour[frames.shape[1] :]
    return np.hstack([frames, np.tile(derivatives, (len(frames), 1))])


def _taps(degree: int) -> npt.NDArray[np.float32]:
    """Return the nine filter weights of the degree-th derivative of the fitted polynomial of that degree."""
    offsets = np.arange(_WIDTH) - _HALF_WIDTH
    powers = np.vander(offsets, degree + 1, increasing=True).astype(np.float64)
    return np.asarray(np.linalg.pinv(powers)[degree] * degree, dtype=np.float32)  # degree! = degree for 1 and 2


_SLOPE, _CURVATURE = _taps(1), _taps(2)


@njit(cache=True, nogil=True)
def _differentiated(frames, slope, curvature):  # type: ignore[no-untyped-def]
    """Return coefficients and both derivatives of all but the outermost frames."""
    n, d = frames.shape
    width = len(slope)
    result = np.zeros((n - width + 1, 3 * d), dtype=np.float32)
    for i in range(n - width + 1):
        result[i, :d] = frames[i + width // 2]
        for t in range(width):
            for j in range(d):
                result[i, d + j] += slope[t] * frames[i + t, j]
                result[i, 2 * d + j] += curvature[t] * frames[i + t, j]
    return result
