"""One split of the artists -> what each method learns from its training artists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nearsong.library.training.candidates import Candidates, SpaceFitter
from nearsong.library.training.data import TrainingSet
from nearsong.library.training.fused import (
    FusedSongs,
    codeword_member,
    columns_of,
    fuse_songs,
    fused_members,
    has_pretrained,
    members_joined,
)
from nearsong.library.training.settings import TrainingSettings
from nearsong.library.training.threads import StopSignal
from nearsong.model import SongEncoder
from nearsong.model.fused_projector import MAX_SOUND_DIMENSIONS
from nearsong.model.held_out import Indices, Ranking, Split, unseen_validation
from nearsong.model.selection import Learned, PCAVectors, compress, learn_grid
from nearsong.types import FloatArray

FIRST_SPACE = {"penalty": 0.3, "centroid_share": 0.5, "sound_weight": 0.25}
"""Parameters of the listener space by which the weight of pretrained encoders is chosen."""


@dataclass(frozen=True, eq=False)
class SplitSongs:
    """What is learned from in one split.

    Attributes
    ----------
    native : array of shape (n_songs, rank)
        Songs by sound alone.
    metric_songs : mapping of str to PCAVectors
        Songs as each method of MLR sees them.
    space : SpaceFitter or None
        Fits listener spaces, if they are asked for.
    pretrained_ratio : float or None
        Weight of pretrained encoders that validation chose.
    """

    native: FloatArray
    metric_songs: Mapping[str, PCAVectors]
    space: SpaceFitter | None
    pretrained_ratio: float | None


@dataclass(frozen=True, eq=False)
class SplitLearner:
    """Learns in one split.

    Attributes
    ----------
    encoder : SongEncoder
        Of the vectors of the training set; may be joined.
    training_set : TrainingSet
        All songs, with their vectors in double precision.
    settings : TrainingSettings
        What to try.
    methods : sequence of str
        Which methods.
    split : Split
        The artists.
    stop : StopSignal
        Ends fits.
    """

    encoder: SongEncoder
    training_set: TrainingSet
    settings: TrainingSettings
    methods: Sequence[str]
    split: Split
    stop: StopSignal
    validation: tuple[Ranking, Ranking] = field(init=False)

    def __post_init__(self) -> None:
        unseen = unseen_validation(self.training_set.listening_data, self.split, self.training_set.n_relevant)
        object.__setattr__(self, "validation", (self.split.validation, unseen))

    def prepare(self) -> SplitSongs:
        """Compute how songs of a split are compared before learning."""
        self.stop.check()
        encoder, vectors, training = self.encoder, self.training_set.vectors, self.split.training.queries
        metric_songs: dict[str, PCAVectors] = {}
        codewords = codeword_member(encoder)
        paper = None
        if codewords is not None and ("paper" in self.methods or len(encoder.encoders) == 1):
            member = encoder.encoders[codewords]
            block = vectors[:, columns_of(encoder, [codewords])]
            paper = compress(member.phi(block), training, scales=member.scales)
            metric_songs["paper"] = paper
        is_fused = fused_members(encoder) != [codewords]
        if not is_fused and not set(self.methods) - {"paper"}:
            assert paper is not None
            return SplitSongs(paper.vectors, metric_songs, None, None)
        space = self._space_fitter()
        compressed = compress(space.songs.coordinates, training)
        if "mlr" in self.methods:
            metric_songs["mlr"] = compressed
        native = compressed.vectors[:, :MAX_SOUND_DIMENSIONS] if is_fused or paper is None else paper.vectors
        return SplitSongs(native, metric_songs, space, space.songs.pretrained_ratio)

    def _space_fitter(self) -> SpaceFitter:
        """Return what fits spaces in a split, with the weight of pretrained encoders that validation chooses."""
        numbers = fused_members(self.encoder)
        fused = members_joined(self.encoder, numbers)
        mapped = fused.phi(self.training_set.vectors[:, columns_of(self.encoder, numbers)])
        ratios = self.settings.pretrained_ratios if has_pretrained(fused) else (None,)
        shares = tuple(dict.fromkeys([*self.settings.centroid_shares, FIRST_SPACE["centroid_share"]]))
        best: tuple[float, SpaceFitter] | None = None
        for ratio in ratios:
            songs = fuse_songs(
                mapped,
                fused,
                self.split.training.queries,
                self.database_artists(),
                shares=shares,
                pretrained_ratio=ratio,
            )
            learner = self._fitter_of(songs)
            score = 0.0
            if len(ratios) > 1:
                score = learner.candidates(*([value] for value in FIRST_SPACE.values())).score
            if best is None or score > best[0]:
                best = score, learner
        assert best is not None
        return best[1]

    def _fitter_of(self, songs: FusedSongs) -> SpaceFitter:
        training_set, training = self.training_set, self.split.training.queries
        columns = training_set.columns[training_set.listening_data.song_artist]
        return SpaceFitter(
            songs=songs,
            training=training,
            columns=columns,
            plays=training_set.all_plays,
            held_out=np.setdiff1d(training_set.columns, columns[training]),
            rankings=self.validation,
            check_stop=self.stop.check,
        )

    def database_artists(self) -> Indices:
        """Return a number for each artist of a database: training and validation songs are two; others are alone."""
        artists = np.full(self.training_set.listening_data.n_songs, -1, np.int64)
        for songs in (self.split.training.queries, self.split.validation.queries):
            artists[songs] = self.training_set.listening_data.song_artist[songs]
        return artists

    def metric_grid(self, songs: SplitSongs, name: str, loss: str) -> list[Learned]:
        """Fit MLR with one loss and every C."""
        split, settings = self.split, self.settings
        return learn_grid(
            songs.metric_songs[name],
            split.training,
            split.validation,
            (loss,),
            settings.Cs,
            tol=settings.tol,
            max_rounds=settings.max_rounds,
            after_round=self.stop.check,
        )

    def spaces(self, songs: SplitSongs) -> Candidates:
        """Fit listener spaces with every choice of their parameters."""
        learner, settings = songs.space, self.settings
        assert learner is not None
        return learner.candidates(settings.penalties, settings.centroid_shares, settings.sound_weights)

    def combined(self, songs: SplitSongs, found: Mapping[str, Candidates]) -> Candidates:
        """Fit the best listener space again, with the best metric as a further block."""
        learner, metric = songs.space, found["mlr"].model
        assert learner is not None
        assert metric is not None
        return learner.combined(found["listener_space"].choice, metric, self.settings.metric_weights)
