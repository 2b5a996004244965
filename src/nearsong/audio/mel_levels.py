"""Samples -> mel levels: the level of 64 mel bands every 23 ms in dB, and that of the complete sound.

The power spectrum of 2,048 samples with a hop of 512, in mel bands (Slaney's scale and normalisation) from 27.5 Hz,
the lowest note of a piano. The last number of a frame is the level of its samples, so that a reader of the frames can
compare a quiet recording with a loud one.
"""

from typing import ClassVar

import numpy as np

from nearsong.audio.decode import SAMPLE_RATE, Samples
from nearsong.audio.features import FrameFeatures, Frames
from nearsong.audio.spectrum.band_power import TILE_FRAMES, SampleTiles, band_power_2048
from nearsong.audio.spectrum.fourier import LANES
from nearsong.audio.spectrum.mel_power import band_edges, hann_window, mel_bands
from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_count

_FRAME_LENGTH, _HOP_LENGTH = 2048, 512

_LOWEST_HERTZ = 27.5

_MIN_POWER = 1e-10
"""Floor of the power, -100 dB, so that digital silence has a finite level."""

_IMPRECISE_SHARE = 1e-11
"""Floor of a band as a share of the power of its frame: weaker bands are rounding errors of single precision."""

_MAX_MELS = 256
"""More bands would be narrower than the bins of a frame."""


class MelLevels(FrameFeatures):
    """Levels of mel bands in dB, followed by the level of the complete sound.

    Parameters
    ----------
    sample_rate : int, default=22050
        Sample rate of the input in Hz.
    n_mels : int, default=64
        Mel bands.

    Attributes
    ----------
    n_features : int
        Numbers per frame: ``n_mels + 1``.
    min_samples : int
        The minimum length of the input: one hop, 23 ms.
    seconds_a_frame : float
        Time from one frame to the next.

    Notes
    -----
    Frame i has 2,048 samples, centred at sample ``512 * i``, with zero padding at both ends, so n samples give
    ``1 + n // 512`` frames. The last number is 10 log10 of the mean square of its samples, weighted by the window.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.audio import MelLevels
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(22_050) / 22_050).astype(np.float32)
    >>> frames = MelLevels().transform(tone)
    >>> frames.shape, float(frames[20, 64].round(1))  # a sine of amplitude 1 has the mean square 1/2
    ((44, 65), -3.0)
    """

    name: ClassVar[str] = "mel_levels"

    def __init__(self, sample_rate: int = SAMPLE_RATE, n_mels: int = 64) -> None:
        self.sample_rate = check_count(sample_rate, "sample_rate", 1_000)
        self.n_mels = check_count(n_mels, "n_mels")
        if self.n_mels > _MAX_MELS:
            raise InvalidInputError(f"n_mels={n_mels} is more than a frame can resolve; choose at most {_MAX_MELS}.")
        self.n_features = self.n_mels + 1
        self.min_samples = _HOP_LENGTH
        self.seconds_a_frame = _HOP_LENGTH / self.sample_rate
        self._window = hann_window(_FRAME_LENGTH).astype(np.float32)
        self._bands = mel_bands(self.sample_rate, self.n_mels, _FRAME_LENGTH, _LOWEST_HERTZ)
        self._edges = band_edges(self._bands)
        self._areas = self._bands.sum(axis=1)
        # by Parseval's theorem, the power of the bins is that of the samples times half their number
        self._floors = self._areas * np.float32(_IMPRECISE_SHARE * _FRAME_LENGTH / 2)
        self._window_power = np.float32(np.square(self._window, dtype=np.float64).sum())

    def parameters(self) -> dict[str, int]:
        """Return the parameters; equal parameters give equal frames."""
        return {"sample_rate": self.sample_rate, "n_mels": self.n_mels}

    def start(self) -> "_MelLevelStream":
        """Return a stream for one song."""
        return _MelLevelStream(self)

    def band_centres(self) -> FloatArray:
        """Return the frequencies in Hz (n_mels,) that the bands are sensitive to on average."""
        frequencies = np.linspace(0, self.sample_rate / 2, self._bands.shape[1])
        filled = np.flatnonzero(self._areas)  # a very narrow band may lie between two bins
        centres = (self._bands[filled] @ frequencies) / self._areas[filled]
        return np.asarray(np.interp(np.arange(self.n_mels), filled, centres), dtype=np.float64)

    def tile(self, samples: Samples, n_frames: int) -> Frames:
        """Return the frames (n_frames, n_features) of a tile; ``n_frames`` is a multiple of `LANES`."""
        power, total = band_power_2048(samples, n_frames, self._window, self._bands, self._edges)
        result = np.empty((n_frames, self.n_features), dtype=np.float32)
        np.maximum(power, np.outer(total, self._floors), out=result[:, :-1])
        result[:, -1] = total / self._window_power
        np.maximum(result, np.float32(_MIN_POWER), out=result)
        np.log(result, out=result)
        result *= np.float32(10 / np.log(10))
        return result


class _MelLevelStream:
    """Cuts the signal of one song into overlapping tiles."""

    def __init__(self, features: MelLevels) -> None:
        self._features = features
        self._tiles = SampleTiles(_FRAME_LENGTH, _HOP_LENGTH)

    def add(self, samples: Samples) -> Frames:
        pieces = [self._features.tile(tile, TILE_FRAMES) for tile in self._tiles.cut(samples)]
        return np.concatenate(pieces) if pieces else np.empty((0, self._features.n_features), dtype=np.float32)

    def finish(self) -> Frames:
        tile, n_frames = self._tiles.rest()
        return self._features.tile(tile, -(-n_frames // LANES) * LANES)[:n_frames]
