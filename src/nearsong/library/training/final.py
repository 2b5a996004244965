"""The method and parameters that validation chose -> a model learned from all artists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsong.library.training.anchors import named_anchors
from nearsong.library.training.data import TrainingData, TrainingSet
from nearsong.library.training.fused import codeword_member, columns_of, fused_members, members_joined, weighted_parts
from nearsong.library.training.settings import TrainingSettings
from nearsong.library.training.threads import one_thread_each
from nearsong.metric import MetricLearningToRank
from nearsong.model import FusedProjector, MetricProjector, SimilarityModel, SongEncoder, SoundSpace, learn_projection
from nearsong.model.file_format import fingerprint
from nearsong.model.fusion import Fusion
from nearsong.model.held_out import Ranking, neighbours_among, ranking_of
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.selection import compress
from nearsong.types import FloatArray

SPACE_PARAMETERS = ("penalty", "centroid_share", "sound_weight", "metric_weight")
"""Parameters of the listener space that validation chooses."""


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
        listening_data, songs = self.training_set.listening_data, np.arange(len(self.training_set.songs))
        near = neighbours_among(listening_data, np.unique(listening_data.song_unit), self.training_set.n_relevant)
        return ranking_of(listening_data, songs, songs, near)

    def _learner(self, choice: Mapping[str, Any]) -> MetricLearningToRank:
        return MetricLearningToRank(
            loss=choice["loss"],
            C=choice["C"],
            tol=self.settings.final_tol,
            max_rounds=self.settings.final_max_rounds,
        )

    def _paper(self, choice: Mapping[str, Any], ranking: Ranking) -> tuple[SimilarityModel, dict[str, Any]]:
        number = codeword_member(self.encoder)
        assert number is not None
        member = self.encoder.encoders[number]
        vectors = self.training_set.vectors[:, columns_of(self.encoder, [number])]
        projection, fitted = learn_projection(
            vectors, ranking.relevant, ranking.ignored, encoder=member, learner=self._learner(choice)
        )
        assert fitted is not None
        return SimilarityModel(member, MetricProjector([projection])), _metric_facts(fitted)

    def _fused(
        self, method: str, choice: Mapping[str, Any], ranking: Ranking
    ) -> tuple[SimilarityModel, dict[str, Any]]:
        numbers = fused_members(self.encoder)
        fused, columns = members_joined(self.encoder, numbers), columns_of(self.encoder, numbers)
        training_set = self.training_set
        songs, artists = training_set.songs, training_set.columns[training_set.listening_data.song_artist]
        vectors = training_set.vectors
        if method != "mlr":  # rankings are not needed, so more songs can be used
            songs, artists = training_set.space_songs, training_set.space_columns
            vectors = self.encoder.restore(self.data.vectors[songs])
        mapped = fused.phi(vectors[:, columns])
        fusion = Fusion.fit(mapped, weighted_parts(fused, choice.get("pretrained_ratio")))
        phi = fusion.transform(mapped)
        metric: FloatArray | None = None
        facts: dict[str, Any] = {}
        if "loss" in choice:
            of_songs = np.searchsorted(songs, training_set.songs)
            metric, facts = self._metric(phi[of_songs], choice, ranking)
        if method == "mlr":
            assert metric is not None
            space: SoundSpace | ListenerSpace = SoundSpace(np.ascontiguousarray(metric.T))
        else:
            parameters = {name: choice[name] for name in SPACE_PARAMETERS if name in choice}
            space = ListenerSpace(**parameters)
            space.fit(phi, artists, training_set.all_plays, metric=metric, parts=fusion.slices.values())
            if self.data.artist_names:
                facts["anchors"] = named_anchors(space, self.data.artist_names)
        facts["space_songs"] = len(songs)
        return SimilarityModel(fused, FusedProjector(fusion, space)), facts

    def _metric(
        self, phi: FloatArray, choice: Mapping[str, Any], ranking: Ranking
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Return the factor (rank, n_dimensions) of a metric learned on the principal components of phi."""
        songs = compress(phi, np.arange(len(phi)))
        fitted = self._learner(choice).fit(songs.vectors, ranking.relevant, ignored=ranking.ignored)
        assert songs.axes is not None
        return np.asarray(fitted.components_ @ songs.axes, dtype=np.float64), _metric_facts(fitted)


def _metric_facts(fitted: MetricLearningToRank) -> dict[str, Any]:
    return {"gap": float(fitted.gap_), "converged": bool(fitted.converged_)}
