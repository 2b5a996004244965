"""The method and parameters that validation chose -> a model learned from all artists."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.library.training.anchors import named_anchors
from nearsong.library.training.data import TrainingData, TrainingSet
from nearsong.library.training.fused import codeword_member, columns_of, fused_members, members_joined, weighted_parts
from nearsong.library.training.settings import TrainingSettings
from nearsong.library.training.threads import one_thread_each
from nearsong.metric import MetricLearningToRank
from nearsong.model import FusedProjector, MetricProjector, SimilarityModel, SongEncoder, SoundSpace, learn_projection
from nearsong.model.encoders import VectorPart
from nearsong.model.file_format import fingerprint
from nearsong.model.fusion import Fusion
from nearsong.model.held_out import Indices, Ranking, neighbours_among, ranking_of
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.listener_space.rows import BLOCK_NUMBERS, row_blocks
from nearsong.model.selection import compress
from nearsong.types import FloatArray

SPACE_PARAMETERS = ("penalty", "centroid_share", "sound_weight", "metric_weight")
"""Parameters of the listener space that validation chooses."""

MAX_CERTIFIED_SONGS = 6_000
"""Songs up to which every round of MLR looks at all queries; above, at a batch, so that time grows with the songs
instead of their square."""

BATCH_QUERIES = 1_000
"""Queries of a batch."""

MAX_PCA_SONGS = 5_000
"""Songs that principal components are fitted on; more do not change the leading ones."""

Phi = npt.NDArray[np.float32]
"""Songs x dimensions in single precision, as precise as stored vectors: half the memory."""


@dataclass(frozen=True, eq=False)
class FinalFit:
    """Learns a model from all artists of a training set.

    Attributes
    ----------
    encoder : SongEncoder
        Of the vectors; may be joined.
    data : TrainingData
        All songs, with vectors as stored.
    training_set : TrainingSet
        The chosen songs and artists, with vectors in double precision.
    settings : TrainingSettings
        Stopping criteria.
    """

    encoder: SongEncoder
    data: TrainingData
    training_set: TrainingSet
    settings: TrainingSettings

    def fit(self, method: str, choice: Mapping[str, Any]) -> tuple[SimilarityModel, dict[str, Any]]:
        """Return the model, and facts about the fit."""
        ranking = self._ranking()
        with one_thread_each():
            if method == "paper":
                model, facts = self._paper(choice, ranking)
            else:
                model, facts = self._fused(method, choice, ranking)
        facts |= {"fingerprint": fingerprint(self.training_set.vectors, ranking.relevant, ranking.ignored)}
        return model, facts

    def _ranking(self) -> Ranking:
        listening_data = self.training_set.final.listening_data
        songs = np.arange(listening_data.n_songs)
        near = neighbours_among(listening_data, np.unique(listening_data.song_unit), self.training_set.n_relevant)
        return ranking_of(listening_data, songs, songs, near)

    def _learner(self, choice: Mapping[str, Any], n_songs: int) -> MetricLearningToRank:
        return MetricLearningToRank(
            loss=choice["loss"],
            C=choice["C"],
            tol=self.settings.final_tol,
            max_rounds=self.settings.final_max_rounds,
            batch_size=None if n_songs <= MAX_CERTIFIED_SONGS else BATCH_QUERIES,
            random_state=self.settings.seed,
        )

    def _blocks(self, songs: Indices, columns: Indices) -> Iterator[FloatArray]:
        """Yield some columns of the vectors of songs, as encoders made them, a block at a time."""
        step = max(1, BLOCK_NUMBERS // self.data.vectors.shape[1])
        for start in range(0, len(songs), step):
            yield self.encoder.restore(self.data.vectors[songs[start : start + step]])[:, columns]

    def _paper(self, choice: Mapping[str, Any], ranking: Ranking) -> tuple[SimilarityModel, dict[str, Any]]:
        number = codeword_member(self.encoder)
        assert number is not None
        member = self.encoder.encoders[number]
        ranked = self.training_set.final.ranked
        vectors = np.concatenate(list(self._blocks(ranked, columns_of(self.encoder, [number]))))
        learner = self._learner(choice, len(ranked))
        projection, fitted = learn_projection(
            vectors, ranking.relevant, ranking.ignored, encoder=member, learner=learner
        )
        assert fitted is not None
        return SimilarityModel(member, MetricProjector([projection])), _metric_facts(fitted)

    def _fused(
        self, method: str, choice: Mapping[str, Any], ranking: Ranking
    ) -> tuple[SimilarityModel, dict[str, Any]]:
        numbers = fused_members(self.encoder)
        fused, columns = members_joined(self.encoder, numbers), columns_of(self.encoder, numbers)
        final = self.training_set.final
        is_space = method != "mlr"  # which needs no rankings, so more songs can be used
        songs = final.songs if is_space else final.ranked
        fusion, phi = fused_phi(
            lambda: map(fused.phi, self._blocks(songs, columns)),
            len(songs),
            weighted_parts(fused, choice.get("pretrained_ratio")),
        )
        metric: FloatArray | None = None
        facts: dict[str, Any] = {}
        if "loss" in choice:
            metric, facts = self._metric(phi, np.searchsorted(songs, final.ranked), choice, ranking)
        if not is_space:
            assert metric is not None
            space: SoundSpace | ListenerSpace = SoundSpace(np.ascontiguousarray(metric.T))
        else:
            parameters = {name: choice[name] for name in SPACE_PARAMETERS if name in choice}
            space = ListenerSpace(**parameters)
            all_plays = self.training_set.all_plays
            space.fit(phi, final.columns, all_plays, metric=metric, parts=fusion.slices.values())
            if self.data.artist_names:
                facts["anchors"] = named_anchors(space, self.data.artist_names)
        return SimilarityModel(fused, FusedProjector(fusion, space)), facts

    def _metric(
        self, phi: Phi, ranked: Indices, choice: Mapping[str, Any], ranking: Ranking
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Return the factor (rank, n_dimensions) of a metric learned on the principal components of phi."""
        random = np.random.default_rng([self.settings.seed, 41])
        few = np.sort(random.permutation(ranked)[:MAX_PCA_SONGS])
        axes = compress(phi[few].astype(np.float64), np.arange(len(few))).axes
        assert axes is not None
        songs = np.concatenate([block @ axes.T for _, block in row_blocks(phi, ranked)])
        songs -= songs.mean(axis=0)
        fitted = self._learner(choice, len(songs)).fit(songs, ranking.relevant, ignored=ranking.ignored)
        return np.asarray(fitted.components_ @ axes, dtype=np.float64), _metric_facts(fitted)


def fused_phi(
    mapped: Callable[[], Iterator[FloatArray]], n_songs: int, parts: Sequence[VectorPart]
) -> tuple[Fusion, Phi]:
    """Fit a fusion to songs that come in blocks, and return their phi (n_songs, n_dimensions).

    Parameters
    ----------
    mapped : callable
        Returns the songs after the encoders' own ``phi``, some rows at a time; called three times.
    n_songs : int
        Their number.
    parts : sequence of VectorPart
        Name, columns and squared weight of each part.
    """
    fusion = Fusion.fit_blocks(mapped, parts)
    phi = np.empty((n_songs, fusion.n_dimensions), np.float32)
    start = 0
    for block in mapped():
        phi[start : start + len(block)] = fusion.transform(block)
        start += len(block)
    return fusion, phi


def _metric_facts(fitted: MetricLearningToRank) -> dict[str, Any]:
    """Return how near the optimum a fit is; with batches nobody knows, only whether it has settled."""
    gap = float(fitted.gap_)
    return {"gap": gap if np.isfinite(gap) else None, "converged": bool(fitted.converged_)}
