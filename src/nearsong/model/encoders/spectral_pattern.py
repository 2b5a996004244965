"""Mel levels -> spectral pattern: how loud each mel band is in the quiet and in the loud moments of a song.

Frames are cut into blocks of ten (0.23 s) that start every five. Within a block the levels of each band are sorted,
so that it does not matter when something sounds; the pattern is the 90th percentile of each of the 10 x 64 numbers
over all blocks (Seyerlehner, Widmer and Pohle, 2010: Fusing block-level features for music similarity estimation).
Levels are relative to the loudness of the song, and each number of the vector is a z-score among sampled songs.

The percentile needs the blocks of the complete song. Those of up to four minutes are stored as they are; of a longer
song every second block is, or every fourth, and so on: at least 1,024, at equal distances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from nearsong.audio import FrameFeatures, Frames, MelLevels
from nearsong.encoding.fisher import ColumnScores
from nearsong.encoding.frames import check_frames
from nearsong.errors import InvalidInputError
from nearsong.model.encoders.base import VectorPart
from nearsong.model.encoders.sampled import SampledEncoder, features_of
from nearsong.model.file_format import Arrays
from nearsong.types import FloatArray
from nearsong.validation import check_learned

BLOCK_FRAMES = 10
"""Frames whose levels are sorted together."""

BLOCK_HOP_FRAMES = 5
"""Frames from one block to the next."""

PERCENTILE = 0.9

MAX_BLOCKS = 2048
"""Blocks stored of a song: 3 min 58 s. When there are as many, every other one is dropped; an even number."""

_WEIGHT = 0.25
"""Squared weight beside other encoders, chosen by validation."""

_MEAN_POWER = 0.01
"""Every song is scaled to this mean square: a root mean square of 0.1."""

_FLOOR_POWER = 1e-6
"""Added to the power of a band of the scaled song, so that what nobody can hear has a level of -60 dB."""

_MAX_LEVEL_DB = 200.0
"""Levels are clipped here and at the negative of it; real ones are between -100 and 160 dB."""

# upper frequency in Hz and name of what sounds below it
_REGIONS = ((160.0, "bass"), (500.0, "low mid-range"), (2000.0, "mid-range"), (6000.0, "treble"), (np.inf, "highs"))


class _PatternAccumulator:
    """The sorted blocks of one song, and its mean power."""

    def __init__(self, n_features: int, scores: ColumnScores | None) -> None:
        self._n_features = n_features
        self._scores = scores
        self._rows = np.empty((MAX_BLOCKS, (n_features - 1) * BLOCK_FRAMES), dtype=np.float32)
        self._n_rows = 0
        self._hop = BLOCK_HOP_FRAMES
        self._pending: Frames = np.empty((0, n_features), dtype=np.float32)  # from the start of the next block on
        self._n_skipped = 0  # frames to come before the next block
        self._power = 0.0
        self._n_frames = 0

    @property
    def n_frames(self) -> int:
        return self._n_frames

    def add(self, frames: npt.ArrayLike) -> None:
        rows = check_frames(frames, self._n_features).clip(-_MAX_LEVEL_DB, _MAX_LEVEL_DB)
        self._power = _add_powers(rows[:, -1], self._power)
        self._n_frames += len(rows)
        skipped = min(self._n_skipped, len(rows))
        self._n_skipped -= skipped
        self._pending = np.concatenate([self._pending, rows[skipped:]])
        while len(self._pending) >= BLOCK_FRAMES:
            n_ready = (len(self._pending) - BLOCK_FRAMES) // self._hop + 1
            n_taken = min(n_ready, MAX_BLOCKS - self._n_rows)
            _sort_blocks(self._pending, self._hop, self._rows[self._n_rows : self._n_rows + n_taken])
            self._n_rows += n_taken
            used = n_taken * self._hop
            self._n_skipped = max(0, used - len(self._pending))
            self._pending = self._pending[used:]
            if self._n_rows == MAX_BLOCKS:
                self._n_rows //= 2
                self._rows[: self._n_rows] = self._rows[::2].copy()
                self._hop *= 2

    def pattern(self) -> FloatArray:
        """Return the pattern (n_bands * 10,) in dB, of a song scaled to a root mean square of 0.1."""
        if self._n_frames == 0:
            raise InvalidInputError("no frames were added, so there is no pattern; add at least one frame.")
        rows = self._rows[: self._n_rows]
        if self._n_rows == 0:  # a song shorter than a block repeats its last frame
            rows = np.empty((1, self._rows.shape[1]), dtype=np.float32)
            repeated = self._pending[-1:].repeat(BLOCK_FRAMES - len(self._pending), axis=0)
            _sort_blocks(np.concatenate([self._pending, repeated]), self._hop, rows)
        return _percentile(rows, gain=_MEAN_POWER * self._n_frames / self._power)

    def result(self) -> FloatArray:
        pattern = self.pattern()
        return pattern if self._scores is None else self._scores.transform(pattern)


def _percentile(rows: Frames, gain: float) -> FloatArray:
    """Return the 90th percentile of each column (n_columns,) of levels in dB, after a gain and a floor of power.

    Both keep the order of levels, so that they need not be applied to all of them.
    """
    position = PERCENTILE * (len(rows) - 1)
    below = int(position)
    above = min(below + 1, len(rows) - 1)
    columns = np.ascontiguousarray(rows.T)
    columns.partition(above, axis=1)  # for one rank, numpy has vector instructions
    high = columns[:, above]
    low = columns[:, :above].max(axis=1) if above > below else high
    powers = gain * 10 ** (np.stack([low, high]).astype(np.float64) / 10)
    levels = 10 * np.log10(powers + _FLOOR_POWER)
    return np.asarray(levels[0] + (position - below) * (levels[1] - levels[0]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SpectralPatternEncoder(SampledEncoder):
    """Describes a song by how loud each mel band gets in its quiet and loud moments.

    Parameters
    ----------
    scores : ColumnScores
        The mean and scale of each number among sampled songs.
    features : MelLevels
        Computes the frames of samples.

    Examples
    --------
    >>> import numpy as np
    >>> songs = [np.random.default_rng(i).normal(-30, 5, size=(200, 65)) for i in range(4)]
    >>> encoder = SpectralPatternEncoder.fit(songs)
    >>> vectors = encoder.encode_all(songs)
    >>> vectors.shape, bool(np.allclose(vectors.std(axis=0), 1.0))
    ((4, 640), True)
    """

    name: ClassVar[str] = "spectral_pattern"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.15
    part_words: ClassVar[Mapping[str, str]] = MappingProxyType({"spectral_pattern": "spectrum"})
    file_weight: ClassVar[float] = _WEIGHT
    file_is_unscaled: ClassVar[bool] = True
    reads: ClassVar[type[FrameFeatures]] = MelLevels

    scores: ColumnScores
    features: MelLevels = field(default_factory=MelLevels)

    def __post_init__(self) -> None:
        check_learned(self.scores.mean, "the mean of songs", (self.n_dimensions,))

    @property
    def parts(self) -> tuple[VectorPart, ...]:
        """One: ten numbers for each band."""
        return (VectorPart(self.name, self.features.n_mels * BLOCK_FRAMES, _WEIGHT),)

    def start(self) -> _PatternAccumulator:
        """Return an empty accumulator for one song."""
        return _PatternAccumulator(self.features.n_features, self.scores)

    @classmethod
    def fit(cls, songs: Sequence[Frames], *, features: FrameFeatures | None = None, seed: int = 0) -> Self:
        """Learn the mean and scale of each number from the frames of sampled songs."""
        levels = features_of(MelLevels, features)
        patterns = []
        for frames in songs:
            accumulator = _PatternAccumulator(levels.n_features, None)
            accumulator.add(frames)
            if accumulator.n_frames:
                patterns.append(accumulator.pattern())
        return cls.fit_patterns(np.array(patterns).reshape(len(patterns), levels.n_mels * BLOCK_FRAMES), levels)

    @classmethod
    def fit_patterns(cls, patterns: npt.ArrayLike, features: MelLevels | None = None) -> Self:
        """Learn from patterns of songs in dB (n_songs, n_dimensions), as data sets bring them."""
        rows = np.asarray(patterns, dtype=np.float64)
        if len(rows) == 0:
            raise InvalidInputError("there are no songs to learn typical spectral patterns from; give at least one.")
        return cls(ColumnScores.fit(rows), features_of(MelLevels, features))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the mean and scale of each number."""
        return {"mean": self.scores.mean, "scale": self.scores.scale}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Arrays, features: FrameFeatures) -> Self:
        """Return the encoder with stored scores."""
        return cls(ColumnScores(arrays["mean"], arrays["scale"]), features_of(MelLevels, features))

    def scales(self, mapped: FloatArray) -> FloatArray:
        """Return one scale for all numbers, which gives them a total variance of 1."""
        variance = mapped.var(axis=0).sum()
        return np.full(mapped.shape[1], np.sqrt(variance) if variance > 0 else 1.0)

    def labels(self) -> list[str]:
        """Name the region of each band and the kind of moment: quiet, middle or loud within a quarter second."""
        moments = ["quiet moments", *["quiet moments"] * 2, *["typical moments"] * 4, *["loud moments"] * 3]
        regions = [next(name for high, name in _REGIONS if centre < high) for centre in self.features.band_centres()]
        return [f"{region} in {moment}" for region in regions for moment in moments]


@njit(cache=True, nogil=True)
def _add_powers(levels, power):  # type: ignore[no-untyped-def]
    """Return ``power`` plus the power of levels in dB, added one by one, so that chunks do not change the sum."""
    for level in levels:
        power += 10.0 ** (np.float64(level) / 10.0)
    return power


@njit(cache=True, nogil=True)
def _sort_blocks(frames, hop, result):  # type: ignore[no-untyped-def]
    """Write the sorted levels of a block every ``hop`` frames into the rows of a result, band by band."""
    n_bands = frames.shape[1] - 1
    block = np.empty((BLOCK_FRAMES, n_bands), dtype=np.float32)
    for row in range(len(result)):
        for i in range(BLOCK_FRAMES):
            for band in range(n_bands):
                block[i, band] = frames[row * hop + i, band]
        # odd-even transposition sort, of all bands at the same time
        for step in range(BLOCK_FRAMES):
            for i in range(step % 2, BLOCK_FRAMES - 1, 2):
                for band in range(n_bands):
                    a, b = block[i, band], block[i + 1, band]
                    block[i, band] = a if a < b else b
                    block[i + 1, band] = b if a < b else a
        for band in range(n_bands):
            for i in range(BLOCK_FRAMES):
                result[row, band * BLOCK_FRAMES + i] = block[i, band]
