"""A split -> songs embedded by every method and every choice of its parameters, scored by validation artists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from nearsong.evaluation import RankingScores
from nearsong.library.training.fused import FusedSongs
from nearsong.model.held_out import Indices, Ranking
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.selection import Learned, PCAVectors
from nearsong.types import FloatArray

Choice = Mapping[str, Any]
"""Parameters of a method by name."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """All songs of a training set as one method embeds them.

    Attributes
    ----------
    queries : array of shape (n_songs, rank)
        Songs by themselves.
    database : array of shape (n_songs, rank)
        Songs beside their artist's other songs in their database.
    """

    queries: FloatArray
    database: FloatArray

    @classmethod
    def of(cls, vectors: FloatArray) -> Self:
        """Return embeddings that are the same in a database."""
        return cls(vectors, vectors)

    def score(self, ranking: Ranking) -> RankingScores | None:
        """Score Euclidean distances; None if no query is usable."""
        return ranking.score_embeddings(self.queries[ranking.queries], self.database[ranking.database])


def validation_score(embeddings: Embeddings, rankings: Sequence[Ranking]) -> float:
    """Return the mean of the AUCs against known songs and among unseen artists, those that can be measured."""
    scores = [embeddings.score(ranking) for ranking in rankings]
    return float(np.mean([score.auc for score in scores if score is not None] or [0.0]))


@dataclass(frozen=True, eq=False)
class Candidates:
    """A method in one split: all choices, and the songs under the best of them.

    Attributes
    ----------
    choices : tuple of mappings
        Parameters, the same in every split.
    validation : array of shape (n_choices,)
        Scores on validation artists.
    embeddings : Embeddings
        Under the best choice; the first of equals.
    model : FloatArray or None
        For MLR the factor (rank, n_coordinates) of the best choice, in the coordinates of the songs.
    """

    choices: tuple[Choice, ...]
    validation: FloatArray
    embeddings: Embeddings
    model: FloatArray | None = None

    @property
    def best(self) -> int:
        """Number of the best choice."""
        return int(np.argmax(self.validation))

    @property
    def choice(self) -> Choice:
        """The best choice."""
        return self.choices[self.best]

    @property
    def score(self) -> float:
        """Its validation score."""
        return float(self.validation[self.best])


def metric_candidates(songs: PCAVectors, grid: Sequence[Learned], rankings: Sequence[Ranking]) -> Candidates:
    """Score the metrics of a grid."""
    tables = [Embeddings.of(songs.vectors @ learned.factor.T) for learned in grid]
    validation = np.array([validation_score(table, rankings) for table in tables])
    best = int(np.argmax(validation))
    factor = grid[best].factor
    return Candidates(
        choices=tuple({"loss": learned.loss, "C": learned.C} for learned in grid),
        validation=validation,
        embeddings=tables[best],
        model=factor if songs.axes is None else factor @ songs.axes,
    )


@dataclass(frozen=True, eq=False)
class SpaceFitter:
    """Fits listener spaces to the training artists of a split.

    Attributes
    ----------
    songs : FusedSongs
        All songs.
    training : array of shape (n_training,)
        Rows of the training songs.
    columns : array of shape (n_songs,)
        Each song's artist in the listens.
    plays : csr_array of shape (n_listeners, n_columns)
        Who listens to whom.
    held_out : array of shape (n_held_out,)
        Columns of the artists of validation and test.
    rankings : tuple of Ranking
        What spaces are chosen by.
    check_stop : callable
        Called between fits; raises to end.
    """

    songs: FusedSongs
    training: Indices
    columns: Indices
    plays: sp.csr_array
    held_out: Indices
    rankings: tuple[Ranking, ...]
    check_stop: Callable[[], None]

    def fit(self, penalty: float, metric: FloatArray | None = None) -> ListenerSpace:
        """Fit one space; its blocks are weighted afterwards."""
        self.check_stop()
        return ListenerSpace(penalty=penalty, sound_weight=1.0, metric_weight=1.0).fit(
            self.songs.coordinates[self.training],
            self.columns[self.training],
            self.plays,
            held_out=self.held_out,
            metric=metric,
            parts=self.songs.parts,
        )

    def embed(self, space: ListenerSpace, share: float) -> Embeddings:
        """Return all songs in a space, drawn to their artists by a share in a database."""
        songs = self.songs
        queries = _embedded(space, songs.coordinates, songs.lengths)
        if share == 0:
            return Embeddings.of(queries)
        return Embeddings(queries, _embedded(space, songs.drawn(share), songs.drawn_lengths[share]))

    def candidates(
        self, penalties: Sequence[float], shares: Sequence[float], sound_weights: Sequence[float]
    ) -> Candidates:
        """Score the listener space for every choice of its parameters."""
        choices: list[Choice] = []
        validation: list[float] = []
        best: Embeddings | None = None
        for penalty in penalties:
            space = self.fit(penalty)
            for share in shares:
                self.check_stop()
                table = self.embed(space, share)
                for weight in sound_weights:
                    weighted = _weighted(space, table, sound=weight)
                    score = validation_score(weighted, self.rankings)
                    if best is None or score > max(validation):
                        best = weighted
                    choices.append({"penalty": penalty, "centroid_share": share, "sound_weight": weight})
                    validation.append(score)
        assert best is not None
        return Candidates(tuple(choices), np.array(validation), best)

    def combined(self, choice: Choice, metric: FloatArray, metric_weights: Sequence[float]) -> Candidates:
        """Score a listener space with a metric (rank, n_coordinates) as a further block, for each of its weights."""
        space = self.fit(choice["penalty"], metric)
        table = self.embed(space, choice["centroid_share"])
        tables = [_weighted(space, table, sound=choice["sound_weight"], metric=weight) for weight in metric_weights]
        validation = np.array([validation_score(table, self.rankings) for table in tables])
        return Candidates(
            tuple({"metric_weight": weight} for weight in metric_weights),
            validation,
            tables[int(validation.argmax())],
        )


def _embedded(space: ListenerSpace, coordinates: FloatArray, lengths: FloatArray) -> FloatArray:
    """Embed songs given in the span of the training songs; the block of sound is divided by their full lengths."""
    embedded = space.transform(coordinates)
    visible = np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates))
    ratios = np.divide(visible, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    for block in space.blocks_:
        if block.kind == "sound":
            embedded[:, block.columns] *= ratios[:, None]
    return embedded


def _weighted(space: ListenerSpace, table: Embeddings, *, sound: float, metric: float = 1.0) -> Embeddings:
    """Return embeddings with other squared weights of sound and metric, which were fitted with 1."""
    scales = np.ones(table.queries.shape[1])
    for block in space.blocks_:
        if block.kind in ("sound", "metric"):
            scales[block.columns] = np.sqrt(sound if block.kind == "sound" else metric)
    return Embeddings(table.queries * scales, table.database * scales)
