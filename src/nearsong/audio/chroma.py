"""Samples -> chroma: how strongly each of the twelve pitch classes sounds, every 93 ms.

The power spectrum of 8,192 samples with a hop of 2,048, in Gaussian bands one semitone apart over five octaves; the
logarithms of a pitch class are summed over the octaves. What exceeds the median of the twelve sums is scaled to
length 1, so that loudness and timbre, which all pitch classes share, have little influence.

The highest band is at 3.3 kHz, so the samples are low-pass filtered and every other one is dropped before the
transform, which halves its cost and changes a frame by less than 0.001.

The logarithm has a floor relative to the loudness of the song, which is known at its end. Bands are stored for up to
two minutes and use the loudness of all sound until then: a shorter song is measured by its complete sound.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.audio.spectrum.band_power import TILE_FRAMES, SampleTiles, band_power_4096
from nearsong.audio.spectrum.fourier import LANES
from nearsong.audio.spectrum.mel_power import band_edges, hann_window
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

N_PITCH_CLASSES = 12

_FRAME_LENGTH, _HOP_LENGTH = 8192, 2048

_N_OCTAVES = 5

_FIRST_PITCH = 45
"""MIDI number of the lowest band: the A of 110 Hz. Pitch class 0 is therefore A."""

_BAND_SEMITONES = 0.35
"""Standard deviation of a band."""

_MIN_BAND_WEIGHT = 1e-9
"""Smaller weights count as 0: they are below the floor of the logarithm even beside a pure tone."""

_FLOOR = 0.1
"""Band power below which the logarithm is flat, for a song of mean square 1.

A song is thought to be scaled to a root mean square of 0.1, where the floor is 0.001."""

_MIN_FLOOR = 1e-30
"""The floor in digital silence."""

_SEGMENT_FRAMES = 20 * TILE_FRAMES
"""Frames that are stored until the loudness of the song is measured: 119 s."""

_TAPS = 8
"""Weights of the low-pass filter, which has 4 * 8 - 1 coefficients: half of them are 0, the others symmetric."""

_ATTENUATION_BETA = 9.0
"""Parameter of the Kaiser window that makes the low-pass filter: frequencies that alias are 90 dB weaker."""

_MARGIN_SAMPLES = 2 * _TAPS
"""Samples beyond a tile that its low-pass filter reads."""


class Chroma(FrameFeatures):
    """Chroma: the strength of each pitch class, whatever the octave.

    Parameters
    ----------
    sample_rate : int, default=22050
        Sample rate of the input in Hz, at least 22,050.

    Attributes
    ----------
    n_features : int
        Twelve, from A upwards in semitones.
    min_samples : int
        The minimum length of the input: one hop, 93 ms.
    seconds_a_frame : float
        Time from one frame to the next.

    Notes
    -----
    Frame i has 8,192 samples, centred at sample ``2048 * i``, with zero padding at both ends, so n samples give
    ``1 + n // 2048`` frames. A frame of silence has no pitch class and is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.audio import Chroma
    >>> tone = np.sin(2 * np.pi * 523.25 * np.arange(22_050) / 22_050).astype(np.float32)  # a C
    >>> frames = Chroma().transform(tone)
    >>> frames.shape, int(frames[5].argmax())
    ((11, 12), 3)
    """

    name: ClassVar[str] = "chroma"

    def __init__(self, sample_rate: int = SAMPLE_RATE) -> None:
        self.sample_rate = check_count(sample_rate, "sample_rate", 1_000)
        if self.sample_rate < SAMPLE_RATE:
            raise InvalidInputError(
                f"sample_rate={sample_rate} is too low for the highest octave; choose at least {SAMPLE_RATE}."
            )
        self.n_features = N_PITCH_CLASSES
        self.min_samples = _HOP_LENGTH
        self.seconds_a_frame = _HOP_LENGTH / self.sample_rate
        self._window = hann_window(_FRAME_LENGTH // 2).astype(np.float32)
        self._bands = semitone_bands(self.sample_rate)
        self._edges = band_edges(self._bands)

    def parameters(self) -> dict[str, int]:
        """Return the parameters; equal parameters give equal frames."""
        return {"sample_rate": self.sample_rate}

    def start(self) -> "_ChromaStream":
        """Return a stream for one song."""
        return _ChromaStream(self)

    def tile(self, samples: Samples, n_frames: int) -> tuple[Frames, float]:
        """Return the power in semitone bands (n_frames, 60) of a tile, and the sum of its squared new samples.

        ``samples`` covers ``n_frames``, a multiple of `LANES`, and the margin of the filter on both sides. New are
        those from the centre of the first frame to one hop beyond that of the last.
        """
        halved, power = _halve(samples, _LOW_PASS, _MARGIN_SAMPLES + _FRAME_LENGTH // 2, n_frames * _HOP_LENGTH)
        bands, _ = band_power_4096(halved, n_frames, self._window, self._bands, self._edges)
        return bands, power


class _ChromaStream:
    """The band powers of a segment of one song, and how loud it was until its end."""

    def __init__(self, features: Chroma) -> None:
        self._features = features
        self._tiles = SampleTiles(_FRAME_LENGTH, _HOP_LENGTH, _MARGIN_SAMPLES)
        self._segment: list[Frames] = []
        self._square_sum = 0.0
        self._n_samples = 0

    def add(self, samples: Samples) -> Frames:
        pieces = []
        for tile in self._tiles.cut(samples):
            self._take(tile, TILE_FRAMES, TILE_FRAMES)
            self._n_samples += TILE_FRAMES * _HOP_LENGTH
            if len(self._segment) * TILE_FRAMES == _SEGMENT_FRAMES:
                pieces.append(self._chroma())
        return np.concatenate(pieces) if pieces else np.empty((0, N_PITCH_CLASSES), dtype=np.float32)

    def finish(self) -> Frames:
        tile, n_frames = self._tiles.rest()
        self._take(tile, -(-n_frames // LANES) * LANES, n_frames)
        self._n_samples += max(1, self._tiles.n_pending)
        return self._chroma()

    def _take(self, tile: Samples, n_padded: int, n_frames: int) -> None:
        bands, square_sum = self._features.tile(tile, n_padded)
        self._square_sum += square_sum
        self._segment.append(bands[:n_frames])

    def _chroma(self) -> Frames:
        # half of the samples have half of the amplitude and a quarter of the power in the spectrum
        floor = max(_FLOOR / 4 * self._square_sum / self._n_samples, _MIN_FLOOR)
        bands = np.concatenate(self._segment)
        self._segment = []
        return np.asarray(_fold(bands, floor), dtype=np.float32)


def semitone_bands(sample_rate: int) -> npt.NDArray[np.float32]:
    """Return the weights (60, n_bins) of the lowest bins of a frame in Gaussian bands, one for each semitone.

    >>> bands = semitone_bands(22_050)
    >>> bands.shape[0], int(bands[12].argmax()) * 22_050 / 8192 // 1  # an octave above 110 Hz
    (60, 220.0)
    """
    frequencies = np.arange(1, _FRAME_LENGTH // 4 + 1) * sample_rate / _FRAME_LENGTH
    pitches = 69 + 12 * np.log2(frequencies / 440)
    centres = _FIRST_PITCH + np.arange(_N_OCTAVES * N_PITCH_CLASSES)
    weights = np.exp(-0.5 * ((pitches - centres[:, None]) / _BAND_SEMITONES) ** 2)
    weights[weights < _MIN_BAND_WEIGHT] = 0.0
    n_bins = 2 + int(np.flatnonzero(weights.any(axis=0))[-1])
    constant = np.zeros((len(centres), 1))  # bin 0 has no pitch
    return np.ascontiguousarray(np.hstack([constant, weights])[:, :n_bins], dtype=np.float32)


def _low_pass() -> npt.NDArray[np.float32]:
    """Return the weights (8,) of a half-band filter for the odd distances 1, 3, ... 15; that of distance 0 is 1/2."""
    distances = np.arange(1, 2 * _TAPS, 2)
    window = np.i0(_ATTENUATION_BETA * np.sqrt(1 - (distances / (2 * _TAPS)) ** 2)) / np.i0(_ATTENUATION_BETA)
    weights = np.sin(np.pi * distances / 2) / (np.pi * distances) * window
    return np.asarray(weights * (0.25 / weights.sum()), dtype=np.float32)  # a constant stays as it is


_LOW_PASS = _low_pass()


@njit(cache=True, nogil=True)
def _halve(samples, weights, first_new, n_new):  # type: ignore[no-untyped-def]
    """Return low-pass filtered samples, every other one, and the sum of squares of the ``n_new`` new ones.

    The output starts with the sample at ``2 * len(weights)`` and ends as far before the end.
    """
    taps = len(weights)
    n_out = len(samples) // 2 - 2 * taps
    odd = np.empty(len(samples) // 2, dtype=np.float32)
    for i in range(len(odd)):
        odd[i] = samples[2 * i + 1]
    result = np.empty(n_out, dtype=np.float32)
    w0, w1, w2, w3, w4, w5, w6, w7 = weights
    half = np.float32(0.5)
    for i in range(n_out):
        j = i + taps  # in even and in odd samples; the odd one to the left of an even one is one index lower
        near = w0 * (odd[j - 1] + odd[j]) + w1 * (odd[j - 2] + odd[j + 1]) + w2 * (odd[j - 3] + odd[j + 2])
        far = w3 * (odd[j - 4] + odd[j + 3]) + w4 * (odd[j - 5] + odd[j + 4]) + w5 * (odd[j - 6] + odd[j + 5])
        farther = w6 * (odd[j - 7] + odd[j + 6]) + w7 * (odd[j - 8] + odd[j + 7])
        result[i] = half * samples[2 * j] + (near + (far + farther))
    sums = np.zeros(64)
    for i in range(first_new, first_new + n_new, 64):
        for lane in range(64):
            sums[lane] += np.float64(samples[i + lane]) * np.float64(samples[i + lane])
    return result, sums.sum()


@njit(cache=True, nogil=True)
def _fold(bands, floor):  # type: ignore[no-untyped-def]
    """Return the chroma (n_frames x 12) of band powers: sums of logarithms above their median, to length 1."""
    result = np.zeros((len(bands), N_PITCH_CLASSES))
    ordered = np.empty(N_PITCH_CLASSES)
    for frame in range(len(bands)):
        row = result[frame]
        for i in range(N_PITCH_CLASSES):
            product = 1.0  # of five, whose logarithm is their sum
            for octave in range(_N_OCTAVES):
                product *= bands[frame, octave * N_PITCH_CLASSES + i] + floor
            row[i] = np.log(product)
        ordered[:] = row
        ordered.sort()
        median = 0.5 * (ordered[N_PITCH_CLASSES // 2 - 1] + ordered[N_PITCH_CLASSES // 2])
        square = 0.0
        for i in range(N_PITCH_CLASSES):
            row[i] = max(row[i] - median, 0.0)
            square += row[i] * row[i]
        if square > 0:
            row /= np.sqrt(square)
    return result
