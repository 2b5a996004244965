"""Song vectors of an encoder with tags -> how likely each tag is for each song of a library."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from nearsong.caching import cached_property
from nearsong.types import FloatArray

LOG_ODDS_SHIFT = 1.48
"""Added to the log odds of musicnn's tags to calibrate them.

It learned from songs that few people had tagged, so a tag that fits is mostly absent, and its probabilities are too
low. Against the tags that listeners gave 127 artists (docs/results.md), fitted and checked on different artists, the
slope of a logistic regression is 0.99 and its intercept 1.48; the mean error of the probabilities falls from 0.062 to
0.005.
"""

MIN_PROBABILITY = 1e-6
"""Probabilities are at least this much away from 0 and 1."""


@runtime_checkable
class TagEncoder(Protocol):
    """An encoder whose vectors give probabilities of tags."""

    name: ClassVar[str]

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tags."""

    def tags(self, vectors: npt.ArrayLike) -> FloatArray:
        """Return the probabilities (n_songs, n_tags) of tags for song vectors (n_songs, n_dimensions)."""


@dataclass(frozen=True, eq=False)
class SongWords:
    """The tags of the songs of a library; made by :meth:`measure`.

    Attributes
    ----------
    encoder : str
        Name of the encoder.
    names : tuple of str
        The tags.
    ids : array of int64 and shape (n_songs,)
        Songs that were analysed by the encoder, ascending.
    probabilities : array of float32 and shape (n_songs, n_tags)
        Calibrated: the probability that listeners use the tag for the song's artist.
    """

    encoder: str
    names: tuple[str, ...]
    ids: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float32]

    @classmethod
    def measure(
        cls,
        encoder: TagEncoder,
        blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
        songs: npt.NDArray[np.int64],
    ) -> "SongWords":
        """Compute the tags of a library in one pass over its vectors.

        Parameters
        ----------
        encoder : TagEncoder
        blocks : iterable of (ids of shape (m,), vectors of shape (m, n_dimensions))
            Songs without a vector are NaN.
        songs : array of int
            Ids of the songs to include; others are skipped.
        """
        ids, rows = [np.empty(0, np.int64)], [np.empty((0, len(encoder.tag_names)), np.float32)]
        for numbers, vectors in blocks:
            analysed = np.isin(numbers, songs)
            if vectors.size:
                analysed &= ~np.isnan(vectors[:, 0])
            if analysed.any():
                ids.append(numbers[analysed])
                rows.append(calibrated(encoder.tags(vectors[analysed])).astype(np.float32))
        return cls(encoder.name, tuple(encoder.tag_names), np.concatenate(ids), np.concatenate(rows))

    @cached_property
    def _sorted(self) -> npt.NDArray[np.float32]:
        return np.sort(self.probabilities.T, axis=1)

    def rank_shares(self, probabilities: npt.ArrayLike) -> FloatArray:
        """Return, for probabilities (n, n_tags), the share of the library's songs with a lower one of each tag."""
        rows = np.asarray(probabilities, dtype=np.float32)
        below = [np.searchsorted(column, rows[:, tag]) for tag, column in enumerate(self._sorted)]
        return np.stack(below, axis=1) / max(1, len(self.ids))

    def of_song(self, song: int) -> npt.NDArray[np.float32] | None:
        """Return the probabilities (n_tags,) of a song by its id; None if the encoder has not analysed it."""
        row = int(np.searchsorted(self.ids, song))
        return self.probabilities[row] if row < len(self.ids) and self.ids[row] == song else None

    def shared_by(self, probabilities: npt.NDArray[Any], n: int = 3, least: float = 0.75) -> tuple[str, ...]:
        """Return the tags that set two songs apart from most others, the clearest first.

        Parameters
        ----------
        probabilities : array of shape (2, n_tags)
            Calibrated, as those of the library.
        n : int, default=3
            At most this many.
        least : float, default=0.75
            Both songs have a tag with a higher probability than this share of the library.
        """
        lower = self.rank_shares(probabilities).min(axis=0)
        likely = np.asarray(probabilities, dtype=np.float64).min(axis=0)
        order = np.argsort(-lower * np.sqrt(likely), kind="stable")
        names = [self.names[tag] for tag in order.tolist() if lower[tag] >= least]
        return tuple(_without_plurals(names)[:n])


def calibrated(probabilities: npt.ArrayLike) -> FloatArray:
    """Return tag probabilities of any shape with their log odds shifted.

    >>> calibrated([0.01, 0.1, 0.5]).round(3)
    array([0.042, 0.328, 0.815])
    """
    rows = np.clip(np.asarray(probabilities, dtype=np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    odds = rows / (1 - rows) * np.exp(LOG_ODDS_SHIFT)
    return np.asarray(odds / (1 + odds))


def _without_plurals(names: Sequence[str]) -> list[str]:
    """Return names without those that differ from an earlier one by a plural, as two of musicnn's do."""
    chosen: dict[str, str] = {}
    for name in names:
        chosen.setdefault(name.removesuffix("s"), name)
    return list(chosen.values())
