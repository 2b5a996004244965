"""Samples -> frames: 13 MFCCs of every 23 ms with their first and second derivatives (paper III-A).

A power spectrum of 512 samples every 256, 40 mel bands (Slaney's scale and areas), their level in dB, and the
first 13 coefficients of its cosine transform. The derivatives are slopes and curvatures of polynomials fitted
to nine frames. All of it equals librosa's features with the same parameters and no ``top_db``, which would need the
whole song first.

Everything is computed on tiles of fixed size, so that a frame has the same bytes whether its song came whole
or in pieces.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import scipy.fft
from numba import njit

from nearsong.audio.decode import LOUDEST, SAMPLE_RATE, Samples
from nearsong.audio.mel_power import FRAME_LENGTH, HOP_LENGTH, band_edges, mel_bands, mel_power
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

Frames = npt.NDArray[np.float32]
"""Rows are frames."""

_TILE = 256
"""Frames computed at once; a multiple of `LANES`."""

_WIDTH = 9
"""Frames a derivative is fitted to, as in librosa."""

_QUIETEST = 1e-10
"""Mel power below this counts as this, -100 dB: digital silence has a finite level."""


_UNSURE = 1e-9
"""Below this share of a frame's power, single precision's rounding shows in a bin: after a pure tone, say."""


class DeltaMFCC:
    """Dynamic MFCCs: what a frame sounds like, how that changes, and how the change changes.

    Parameters
    ----------
    sample_rate : int, default=22050
        Samples a second of what will come.
    n_mfcc : int, default=13
        Cepstral coefficients a frame.
    n_mels : int, default=40
        Mel bands they are made of.

    Attributes
    ----------
    n_features : int
        Numbers a frame: three times ``n_mfcc``.
    min_samples : int
        The shortest sound that has derivatives: nine frames, 93 ms.
    seconds_a_frame : float
        Time from one frame to the next.

    Notes
    -----
    Frame i has 512 samples, centred at sample ``256 * i``, with silence before the first and after the last sample,
    so n samples give ``1 + n // 256`` frames: five seconds are 431.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.audio import DeltaMFCC
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(5 * 22_050) / 22_050).astype(np.float32)
    >>> DeltaMFCC().transform(tone).shape
    (431, 39)
    """

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
                f"n_mfcc={n_mfcc} asks for more than there are mel bands ({n_mels}); choose fewer."
            )
        if n_mels > FRAME_LENGTH:
            raise InvalidInputError(
                f"n_mels={n_mels} is more than a frame can tell apart; choose at most {FRAME_LENGTH}."
            )
        self.n_features = 3 * self.n_mfcc
        self.min_samples = (_WIDTH - 1) * HOP_LENGTH
        self.seconds_a_frame = HOP_LENGTH / self.sample_rate
        # the periodic Hann window; importing scipy.signal for it costs a worker half a second
        self._exact_window = (0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, FRAME_LENGTH + 1)))[:-1]
        self._window = self._exact_window.astype(np.float32)
        self._bands = mel_bands(self.sample_rate, self.n_mels)
        self._edges = band_edges(self._bands)
        self._areas = self._bands.sum(axis=1)
        cosines = scipy.fft.dct(np.eye(self.n_mels), type=2, norm="ortho", axis=0)[: self.n_mfcc]
        self._cosines = np.ascontiguousarray(cosines.T, dtype=np.float32)

    def parameters(self) -> dict[str, int]:
        """Return what makes two of these compute the same frames."""
        return {name: getattr(self, name) for name in ("sample_rate", "n_mfcc", "n_mels")}

    def transform(self, samples: npt.ArrayLike) -> Frames:
        """Return the frames of a whole sound.

        Parameters
        ----------
        samples : array of shape (n_samples,)
            Mono samples at ``sample_rate``; floats with full scale 1, or integers of 8, 16 or 32 bits.

        Returns
        -------
        array of shape (1 + n_samples // 256, n_features), float32
        """
        sound = np.asarray(samples)
        if sound.ndim != 1 or sound.dtype.kind not in "fi" or sound.dtype == np.int64:
            raise InvalidInputError(
                f"samples came as {sound.dtype} of shape {sound.shape}; one channel is needed (the mean of all), of "
                "floats with full scale 1 or of 16- or 32-bit integers."
            )
        if sound.dtype.kind == "i":
            sound = sound / -float(np.iinfo(sound.dtype).min)
        sound = sound.astype(np.float32, copy=False)
        if len(sound) and not (sound.max() <= LOUDEST and sound.min() >= -LOUDEST):  # false for NaN too
            raise InvalidInputError(
                "samples has a NaN or is far beyond full scale, 1; set such samples to 0 or scale."
            )
        if len(sound) < self.min_samples:
            raise InvalidInputError(
                f"{len(sound)} samples are too few; {self.min_samples} ({_WIDTH} frames) are needed for derivatives."
            )
        return np.concatenate(list(self.stream([sound])))

    def stream(self, blocks: Iterable[Samples]) -> Iterator[Frames]:
        """Return the frames of a sound that comes in blocks, some at a time: the same as :meth:`transform`.

        Parameters
        ----------
        blocks : iterable of arrays of shape (n,), float32
            Consecutive finite samples, as :func:`nearsong.audio.stream_audio` gives them.

        Yields
        ------
        array of shape (n_frames, n_features), float32
            Consecutive frames; nothing at all if the sound is shorter than ``min_samples``.
        """
        return _with_derivatives(self._mfccs(blocks))

    def _mfccs(self, blocks: Iterable[Samples]) -> Iterator[Frames]:
        """Cut the sound into overlapping tiles; the last one is filled up with silence and cut to length."""
        reach = FRAME_LENGTH + (_TILE - 1) * HOP_LENGTH  # samples a tile sees
        step = _TILE * HOP_LENGTH
        silence = np.zeros(FRAME_LENGTH // 2, dtype=np.float32)
        pending = silence
        for block in _cut(blocks, 4 * step):
            pending = np.concatenate([pending, block])
            n_tiles = max(0, (len(pending) - reach) // step + 1)
            for start in range(0, n_tiles * step, step):
                yield self._tile(pending[start : start + reach])
            pending = pending[n_tiles * step :]
        pending = np.concatenate([pending, silence])
        n_frames = (len(pending) - FRAME_LENGTH) // HOP_LENGTH + 1
        pending = np.concatenate([pending, np.zeros(step + reach, dtype=np.float32)])
        for start in range(0, n_frames, _TILE):
            first = start * HOP_LENGTH
            yield self._tile(pending[first : first + reach])[: n_frames - start]

    def _tile(self, samples: Samples) -> Frames:
        levels, whole = mel_power(samples, _TILE, self._window, self._bands, self._edges)
        self._mend(levels, whole, samples)
        np.maximum(levels, np.float32(_QUIETEST), out=levels)
        np.log10(levels, out=levels)
        levels *= np.float32(10)
        return np.asarray(levels @ self._cosines, dtype=np.float32)

    def _mend(self, power: Frames, whole: Frames, samples: Samples) -> None:
        """Compute anew, in double precision, the frames that have a band too weak for single beside its loudest."""
        weak = (power < _UNSURE * whole[:, None] * self._areas) & (power > _QUIETEST / 2)
        rows = np.flatnonzero(weak.any(axis=1))
        if len(rows):
            windows = np.lib.stride_tricks.sliding_window_view(samples, FRAME_LENGTH)[rows * HOP_LENGTH]
            spectrum = scipy.fft.rfft(windows * self._exact_window, axis=1)
            power[rows] = (spectrum.real**2 + spectrum.imag**2) @ self._bands.T.astype(np.float64)


def _cut(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """Cut long blocks into pieces that stay in the processor's cache."""
    for block in blocks:
        for start in range(0, len(block), size):
            yield block[start : start + size]


def with_derivatives(mfcc: npt.ArrayLike) -> Frames:
    """Put first and second derivatives beside coefficients that are already there.

    Parameters
    ----------
    mfcc : array of shape (n_frames, n_mfcc)
        At least nine frames.

    Returns
    -------
    array of shape (n_frames, 3 * n_mfcc), float32
        Coefficients, slopes, curvatures.

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
    return np.concatenate(list(_with_derivatives([frames])))


def _with_derivatives(chunks: Iterable[Frames]) -> Iterator[Frames]:
    """Put derivatives beside chunks of coefficients, each frame's from the nine around it.

    The polynomial fitted at an end covers the last nine frames. Its highest derivative is the same everywhere,
    so the four outermost frames take theirs from the fifth.
    """
    half = _WIDTH // 2
    window: Frames | None = None
    last: Frames | None = None
    for chunk in chunks:
        window = chunk if window is None else np.concatenate([window, chunk])
        if len(window) < _WIDTH:
            continue
        inner = _differentiated(np.ascontiguousarray(window), _SLOPE, _CURVATURE)
        if last is None:
            yield _edge(window[:half], inner[0])
        yield inner
        last = inner[-1]
        window = window[-2 * half :]
    if window is not None and last is not None:
        yield _edge(window[-half:], last)


def _edge(frames: Frames, neighbour: Frames) -> Frames:
    derivatives = neighbour[frames.shape[1] :]
    return np.hstack([frames, np.tile(derivatives, (len(frames), 1))])


def _taps(degree: int) -> npt.NDArray[np.float32]:
    """Return the nine weights that give the degree-th derivative of the best polynomial of that degree."""
    places = np.arange(_WIDTH) - _WIDTH // 2
    powers = np.vander(places, degree + 1, increasing=True).astype(np.float64)
    return np.asarray(np.linalg.pinv(powers)[degree] * degree, dtype=np.float32)  # degree! = degree for 1 and 2


_SLOPE, _CURVATURE = _taps(1), _taps(2)


@njit(cache=True, nogil=True)
def _differentiated(frames, slope, curvature):  # type: ignore[no-untyped-def]
    """Return coefficients, slopes and curvatures of all but the outermost frames."""
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
