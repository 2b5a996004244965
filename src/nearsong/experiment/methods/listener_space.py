"""Songs of all encoders in the listener space: where their listeners would put them, predicted from sound."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearsong.evaluation import RankingScores
from nearsong.experiment.methods.fused import ALL_ENCODERS
from nearsong.experiment.methods.method import Group, ListenerMethod, SongData
from nearsong.model.held_out import Indices, Ranking, Split
from nearsong.model.listener_space import ListenerSpace
from nearsong.types import FloatArray

Choice = Mapping[str, Any]

CHOICES: tuple[Choice, ...] = tuple({"penalty": penalty} for penalty in (0.1, 0.3, 1.0))
"""Parameters of the listener space among which validation chooses; the others made no difference."""

METRIC_WEIGHTS = (0.0, 0.1, 0.2, 0.4)
"""Squared weights of the block of the learned metric among which validation chooses."""


@dataclass(frozen=True, kw_only=True)
class SpaceMethod(ListenerMethod):
    """A listener space on the vectors of all encoders.

    Attributes
    ----------
    by_listeners : bool
        Whether songs of known artists in a database are embedded by their listeners instead of by sound.
    with_metric : bool
        Whether a metric learned on the same vectors is a further block.
    choices : tuple of dict
        Parameters of the space among which validation chooses.
    """

    group: Group = Group.SOUND
    uses_all_encoders: bool = True
    compared_with: tuple[str, ...] = (ALL_ENCODERS.name,)
    by_listeners: bool = False
    with_metric: bool = False
    choices: tuple[Choice, ...] = field(default=CHOICES)


@dataclass(frozen=True, eq=False)
class SongSpace:
    """All songs of a split in a fitted listener space.

    Attributes
    ----------
    space : ListenerSpace
        Fitted to the training artists.
    phi : array of shape (n_songs, n_dimensions)
        The songs.
    song_artist : array of shape (n_songs,)
        Their artists.
    by_listeners : bool
        As in `SpaceMethod`.
    is_balanced : bool
        Whether songs embedded by listeners and by sound can be compared in one database.
    """

    space: ListenerSpace
    phi: FloatArray
    song_artist: Indices
    by_listeners: bool
    is_balanced: bool = False

    def score(self, ranking: Ranking) -> RankingScores | None:
        """Score a ranking: queries are embedded one by one, the database with its artists."""
        artists = self.song_artist[ranking.database]
        queries = self.space.transform(self.phi[ranking.queries])
        database = self.space.transform_database(
            self.phi[ranking.database], artists, known_by=self._known_by(artists)
        )
        return ranking.score_embeddings(queries, database)

    def _known_by(self, artists: Indices) -> str:
        """Return what songs of known artists are embedded by; with unseen artists, distances need a balance."""
        is_known = np.isin(artists, self.space.artists_)
        if self.by_listeners and is_known.all():
            return "listeners"
        return "balanced" if self.is_balanced and is_known.any() else "sound"


def outside_of_training(data: SongData, split: Split) -> Indices:
    """Return the artists whose songs and listeners must not be used: those of validation and test."""
    song_artist = data.listening_data.song_artist
    training = np.unique(song_artist[split.training.queries])
    return np.setdiff1d(np.arange(data.listening_data.n_artists), training)


LISTENER_SPACE = SpaceMethod(name="listener_space", label="Listener space", task="listener_space")
HYBRID = SpaceMethod(
    name="listener_space_hybrid",
    label="Listener space, known artists by their listeners",
    short_label="Listener space, hybrid",
    task="listener_space",
    by_listeners=True,
)
COMBINED = SpaceMethod(
    name="listener_space_mlr",
    label="Listener space with an MLR block, known artists by their listeners",
    short_label="Listener space + MLR",
    task="all_encoders_mlr",
    by_listeners=True,
    with_metric=True,
)
