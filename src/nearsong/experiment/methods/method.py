"""The protocol of a method: its names, what data it needs, which features it prepares and how it scores a split.

A `Baseline` ranks without learning from listeners; a `LearnedMethod` fits a metric to the vectors of a baseline. Both
are listed in ``registry.py``, from which settings, preparation, tasks, tables, figures and wording are derived.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.audio import DeltaMFCC, FrameFeatures
from nearsong.model.held_out import Indices, ListeningData, Score, Split
from nearsong.types import FloatArray

Arrays = Mapping[str, npt.NDArray[Any]]

EXPLAINED_VARIANCE = 0.95
"""Share of the training songs' variance that PCA keeps before a metric is learned (paper IV-B)."""


class Need(Enum):
    """What a method needs of the data set; the value is the message where it is missing."""

    SOUND = "the data set has vectors instead of sound"
    TAGS = "the data set has no tags"


class Group(Enum):
    """The kind of data a method ranks by."""

    CONTROL = "control"
    SOUND = "sound"
    TAGS = "tags"


class SongData(Hashable, Protocol):
    """The prepared data of a run as methods see it. Rows are the songs of the experiment set."""

    @property
    def vectors(self) -> FloatArray | None:
        """The vectors of a data set without sound."""

    @property
    def tags(self) -> sp.csr_array | None:
        """Songs x tags."""

    @property
    def codebook_tags(self) -> sp.csr_array | None:
        """Songs x tags of the codebook set."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def n_relevant(self) -> int:
        """Number of relevant artists per artist."""

    @property
    def listening_data(self) -> ListeningData:
        """Songs, artists and listeners."""

    @property
    def has_sound(self) -> bool:
        """Whether the data set has sound, not vectors."""

    def histograms(self, codebook: int, tau: int) -> FloatArray:
        """Return codeword histograms (songs x codewords)."""

    @property
    def n_codebook_songs(self) -> int:
        """Songs of the codebook set."""

    def codebook_frames(self, song: int, features: FrameFeatures | None = None) -> npt.NDArray[Any]:
        """Return the frames of a song of the codebook set, by default MFCCs."""

    @property
    def encoders(self) -> tuple[str, ...]:
        """The encoders of the run."""

    def given_vectors(self, name: str) -> tuple[FloatArray, FloatArray] | None:
        """Return vectors that are a file of the data set: of all songs, and of the codebook set; None if not."""

    def learned(self, feature: str) -> Arrays:
        """Return what a feature learned from the codebook set."""

    def stored(self, feature: str) -> Arrays:
        """Return a feature of all songs, as packed."""

    def distance_table(self, feature: str) -> npt.NDArray[Any]:
        """Return the distances of a feature (songs x songs)."""


@dataclass(frozen=True)
class Quantization:
    """Codebook size and tau; both None where a method uses no codebook."""

    codebook: int | None = None
    tau: int | None = None


class SongFeature(ABC):
    """A value computed from the frames of each song, once for all splits.

    Attributes
    ----------
    name : str
        Key of its arrays in the run's cache.
    """

    name: str

    @property
    def frame_features(self) -> FrameFeatures:
        """The kind of frames that it is computed from."""
        return DeltaMFCC()

    def is_available(self, data: SongData) -> bool:
        """Return whether it can be computed for the data set."""
        return True

    @abstractmethod
    def encoder(self, data: SongData) -> Callable[[npt.NDArray[Any]], Any]:
        """Return the function from the frames of a song to its value."""

    @abstractmethod
    def pack(self, values: Sequence[Any]) -> Arrays:
        """Return the values of some songs as arrays that can be concatenated along the first axis."""


class LearnedFeature(SongFeature):
    """A feature whose encoder has parameters that are learned from the codebook set first.

    Attributes
    ----------
    learning_stage : str
        Label of the progress bar.
    """

    learning_stage: str

    @abstractmethod
    def learn(self, data: SongData) -> Arrays:
        """Learn the parameters of the encoder from the codebook set."""


class ComparedFeature(SongFeature):
    """A feature whose distances between all songs are computed beforehand, as a table."""

    @abstractmethod
    def distances(self, data: SongData, songs: range) -> FloatArray:
        """Return the distances of some songs to all songs."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A row of the comparison.

    Attributes
    ----------
    name : str
        Key in the settings and in ``results.jsonl``.
    label, short_label : str
        Name in text; name in figures, where it must be short.
    group : Group
        The kind of data it ranks by.
    needs : tuple of Need
        What the data set must have.
    features : tuple of SongFeature
        Values to be computed from the frames of the songs beforehand.
    task : str
        The task that computes it, possibly together with other methods; by default its name.
    priority : int
        Tasks with a lower value start first; long tasks should.
    uses_codebook : bool
        Whether it is computed for every codebook size and tau.
    encoders : tuple of str
        Encoders whose vectors it joins.
    uses_all_encoders : bool
        Whether it joins the vectors of all encoders of the run.
    paper_auc : (float, float), optional
        AUC and standard deviation in the paper (codebook 1,024, tau 1).
    is_default : bool
        Whether it is compared unless the settings name the methods.
    grid_panel : bool
        Whether the figure of codebook sizes and taus has a panel for it.
    reference_line : bool
        Whether figures draw it as a line instead of a dot.
    on_vectors : Method, optional
        The method reported instead for a data set of vectors.
    """

    name: str
    label: str
    short_label: str = ""
    group: Group
    needs: tuple[Need, ...] = ()
    features: tuple[SongFeature, ...] = ()
    task: str = ""
    priority: int = 2
    uses_codebook: bool = False
    encoders: tuple[str, ...] = ()
    uses_all_encoders: bool = False
    paper_auc: tuple[float, float] | None = None
    is_default: bool = True
    grid_panel: bool = False
    reference_line: bool = False
    on_vectors: "Method | None" = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", self.task or self.name)
        object.__setattr__(self, "short_label", self.short_label or self.label)

    def is_available(self, data: SongData) -> bool:
        """Return whether its features can be computed."""
        return all(feature.is_available(data) for feature in self.features)

    @property
    def needs_histograms(self) -> bool:
        """Whether codeword histograms must be computed for it."""
        return self.uses_codebook

    @property
    def is_beyond_paper(self) -> bool:
        """Whether it hears more than the codewords of the paper."""
        return self.uses_all_encoders or bool(self.encoders)

    def encoders_for(self, data: SongData) -> tuple[str, ...]:
        """Return the encoders whose vectors it joins."""
        return data.encoders if self.uses_all_encoders else self.encoders

    def reported_name(self, data: SongData) -> str:
        """Return the name in the results, which may differ for data sets of vectors."""
        return self.name if data.has_sound or self.on_vectors is None else self.on_vectors.name


@dataclass(frozen=True, kw_only=True)
class Baseline(Method, ABC):
    """A method that does not learn from listeners."""

    @abstractmethod
    def score(self, data: SongData, split: Split, quantization: Quantization) -> Score:
        """Return a function that scores the rankings of a split; fitting uses training songs only."""


@dataclass(frozen=True, kw_only=True)
class VectorBaseline(Baseline):
    """Songs as vectors, ranked by Euclidean distance.

    Attributes
    ----------
    vectors : callable
        Returns a vector for each song, given the data, the rows of the training songs and a quantization.
    """

    vectors: Callable[[SongData, Indices, Quantization], FloatArray]

    def score(self, data: SongData, split: Split, quantization: Quantization) -> Score:
        """Score Euclidean distances."""
        vectors = self.vectors(data, split.training.queries, quantization)
        return lambda ranking: ranking.score_vectors(vectors)

    def explained_variance(self, data: SongData) -> float | None:
        """Return the share of variance that PCA keeps before a metric is learned; None for all."""
        return EXPLAINED_VARIANCE if data.has_sound or self.on_vectors is None else None


@dataclass(frozen=True, kw_only=True)
class ListenerMethod(Method):
    """A method that learns from listeners.

    Attributes
    ----------
    compared_with : tuple of str
        Reported names of the method without learning, in order of preference.
    lead : int, optional
        The report is about the learned method of the run with the lowest value.
    """

    compared_with: tuple[str, ...] = ()
    lead: int | None = None


@dataclass(frozen=True, kw_only=True)
class LearnedMethod(ListenerMethod):
    """A metric learned on the vectors of a baseline.

    Attributes
    ----------
    base : VectorBaseline
        The baseline whose vectors the metric is learned on.
    base_on_vectors : VectorBaseline, optional
        The same for data sets of vectors, where it differs.
    shuffled : bool
        Whether the artists' neighbour lists are permuted before learning, as a control.
    """

    base: VectorBaseline
    base_on_vectors: VectorBaseline | None = None
    shuffled: bool = False

    @property
    def needs_histograms(self) -> bool:
        """Whether codeword histograms must be computed for it."""
        return self.base.uses_codebook

    def base_for(self, data: SongData) -> VectorBaseline:
        """Return the baseline whose vectors the metric is learned on."""
        return self.base if data.has_sound or self.base_on_vectors is None else self.base_on_vectors


def unit_rows(rows: FloatArray) -> FloatArray:
    """Scale rows to length 1, so that Euclidean distance ranks as cosine does; zero rows get an extra coordinate.

    As |q - x|^2 = 2 - 2 cos, the extra coordinate puts a zero vector at distance sqrt(2) from all others: cosine 0.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return np.hstack([unit, (lengths == 0).astype(np.float64)])


def standardised(rows: FloatArray, training: FloatArray) -> FloatArray:
    """Shift and scale columns to mean 0 and standard deviation 1 of the training rows; constant ones are shifted."""
    scales = training.std(axis=0)
    scales[(np.ptp(training, axis=0) == 0) | (scales == 0)] = 1.0
    scaled: FloatArray = (rows - training.mean(axis=0)) / scales
    return scaled
