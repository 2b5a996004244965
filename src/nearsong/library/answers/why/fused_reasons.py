"""Pairs of songs under a fused model -> why they are near: taste, sound, tags of both, and who is also played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.answers.seeds import Seed
from nearsong.library.answers.why.distance_parts import (
    KIND_WORDS,
    DistancePart,
    artists_of_both,
    columns_of_kinds,
    distance_parts,
    listener_space_of,
)
from nearsong.library.answers.words.song_words import SongWords, TagEncoder, calibrated
from nearsong.library.neighbours.calibration import Calibration
from nearsong.library.neighbours.space import Space
from nearsong.model import SimilarityModel
from nearsong.names import artist_key, primary_artist

ANCHORS = "anchors"
"""What a model's record of its training names the artists of its listens: column -> name, for those that matter."""

MAX_PLAYED_NAMED = 3
"""Artists that a sentence names."""

MAX_ASPECTS_NAMED = 2
"""Aspects of sound that a sentence names."""


@dataclass(frozen=True)
class KindReason:
    """How near two songs are in the blocks of a kind.

    Attributes
    ----------
    kind : str
        taste, sound, metric or known.
    words : str
        The same for users.
    squared : float
        Its part of the squared distance.
    share : float
        Its share of the squared distance, 0 to 1.
    similarity : float
        The share of random pairs of songs that are farther apart in these blocks.
    """

    kind: str
    words: str
    squared: float
    share: float
    similarity: float


@dataclass(frozen=True)
class FusedReasons:
    """Why two songs are near under a fused model.

    Attributes
    ----------
    kinds : tuple of KindReason
        They add up to the squared distance.
    aspects : tuple of DistancePart
        Aspects of sound, the most different first; they add up to the kind "sound".
    tags : tuple of str
        What describes both songs and few others, if an encoder has words.
    played : tuple of str
        Artists that the likely listeners of both songs play more than others do.
    n_listeners : int or None
        How many listeners the model learned from.
    """

    kinds: tuple[KindReason, ...]
    aspects: tuple[DistancePart, ...]
    tags: tuple[str, ...]
    played: tuple[str, ...]
    n_listeners: int | None

    @property
    def nearest(self) -> str:
        """In which respect they are nearest, in words."""
        kind = max(self.kinds, key=lambda one: one.similarity)
        if kind.similarity < 0.5:
            return "farther apart than most songs"
        return f"nearest in {kind.words}: nearer than {_percent(kind.similarity)} of all pairs"

    def sentences(self) -> list[str]:
        """Return the parts of the distance in words."""
        kinds = sorted(self.kinds, key=lambda kind: -kind.share)
        parts = [
            f"{_percent(kind.share)} {kind.words} (nearer than {_percent(kind.similarity)} of pairs)"
            for kind in kinds
            if kind.squared > 0
        ]
        if not parts:
            return ["Nothing sets them apart that nearsong knows of."]
        lines = [f"What sets them apart: {', '.join(parts)}."]
        total = sum(aspect.squared for aspect in self.aspects)
        if total > 0 and len(self.aspects) > 1:
            most = [f"{part.name} ({_percent(part.squared / total)})" for part in self.aspects[:MAX_ASPECTS_NAMED]]
            lines.append(f"In sound they differ most in {' and '.join(most)}.")
        if self.played:
            lines.append(f"Likely listeners of both also play {listed(self.played)}.")
        return lines


class FusedExplainer:
    """What the explanations of a space have in common, computed once.

    Parameters
    ----------
    space : Space
        With a fused model.
    words : SongWords or None
        The tags of the library's songs.
    """

    def __init__(self, space: Space, words: SongWords | None) -> None:
        self._model, self._words = space.model, words
        self._columns = columns_of_kinds(space.model)
        self._calibrations = {
            kind: Calibration.fit(space.embeddings[:, columns]) for kind, columns in self._columns.items()
        }
        self._mean = space.embeddings.mean(axis=0, dtype=np.float64)
        self._names = anchor_names(space.model.trained_on)
        listeners = space.model.trained_on.get("listeners")
        learned = listener_space_of(space.model) is not None
        self._n_listeners = int(listeners) if learned and isinstance(listeners, int) else None

    def reasons(self, query: Seed, other: Seed) -> FusedReasons:
        """Explain the distance of two songs."""
        parts = distance_parts(self._model, query.embedding, other.embedding)
        kinds = []
        for kind, calibration in self._calibrations.items():
            squared = parts.of_kind(kind)
            similarity = float(calibration.similarity([np.sqrt(squared)])[0])
            kinds.append(KindReason(kind, KIND_WORDS[kind], squared, parts.share(kind), similarity))
        return FusedReasons(
            kinds=tuple(kind for kind in kinds if kind.squared > 0 or kind.kind in ("taste", "sound")),
            aspects=parts.aspects,
            tags=self._tags(query, other),
            played=self._played(query, other),
            n_listeners=self._n_listeners,
        )

    def _played(self, query: Seed, other: Seed) -> tuple[str, ...]:
        space = listener_space_of(self._model)
        if space is None or not self._names:
            return ()
        sums = artists_of_both(space, (query.embedding, other.embedding), self._mean)
        own = {query.artist_key, other.artist_key}
        named = [column for column in self._names if column < len(sums) and sums[column] > 0]
        ordered = sorted(named, key=lambda column: (-sums[column], column))
        names = [self._names[column] for column in ordered[: MAX_PLAYED_NAMED + len(own)]]
        return tuple(name for name in names if artist_key(primary_artist(name)) not in own)[:MAX_PLAYED_NAMED]

    def _tags(self, query: Seed, other: Seed) -> tuple[str, ...]:
        if self._words is None:
            return ()
        rows = [_tags_of(seed, self._words, self._model) for seed in (query, other)]
        return () if rows[0] is None or rows[1] is None else self._words.shared_by(np.stack([rows[0], rows[1]]))


def _tags_of(seed: Seed, words: SongWords, model: SimilarityModel) -> npt.NDArray[Any] | None:
    """Return the probabilities (n_tags,) of a song's tags; None if the encoder of words has no vector of it."""
    if seed.song is not None:
        return words.of_song(seed.song.id)
    if seed.vector is None:
        return None
    blocks = model.encoder.blocks(np.asarray(seed.vector, dtype=np.float64)[None])
    for encoder, block in zip(model.encoder.encoders, blocks, strict=True):
        if isinstance(encoder, TagEncoder) and encoder.name == words.encoder and not np.isnan(block).any():
            return np.asarray(calibrated(encoder.tags(block))[0])
    return None


def anchor_names(trained_on: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of artists in the listens that a model was trained on, by column."""
    named = trained_on.get(ANCHORS)
    return {int(column): str(name) for column, name in named.items()} if isinstance(named, Mapping) else {}


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> listed(["Can"]), listed(["Can", "Neu!", "Faust"])
    ('Can', 'Can, Neu! and Faust')
    """
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _percent(share: float) -> str:
    """Return a share as a rounded percentage; only all of it is 100 %.

    >>> _percent(0.123), _percent(0.999), _percent(1.0), _percent(0.001)
    ('12 %', '99 %', '100 %', 'under 1 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share if share in (0, 1) else min(99, round(100 * share)):.0f} %"
