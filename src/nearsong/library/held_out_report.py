"""Scores of held-out songs -> means with confidence intervals, and the report that is kept with a model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.evaluation import RankingScores

FloatArray = npt.NDArray[np.float64]

DATABASES = ("known", "unknown")
"""What held-out songs are compared with: songs it learned from, and songs of artists it never saw."""

VERSION = 1
"""Of the report as JSON."""

_RESAMPLES = 2000
_BLOCK = 1 << 22  # numbers drawn together


@dataclass(frozen=True)
class Estimate:
    """A mean over artists with its 95 % confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean and the ends of the interval.
    artists : int
        How many it is taken over.
    """

    mean: float
    low: float
    high: float
    artists: int


@dataclass(frozen=True)
class ReportRow:
    """How well something ranks: against songs it learned from, and among songs of artists it never saw."""

    name: str
    known: Estimate | None
    unknown: Estimate | None


@dataclass(frozen=True)
class SplitChoice:
    """What validation chose in one split, and the split's own scores (means over songs)."""

    split: int
    loss: str
    C: float
    validation: float
    known: float | None
    unknown: float | None


@dataclass(frozen=True)
class HeldOutExample:
    """A song of an artist that was held out, and the songs nearest to it among those learned from.

    Attributes
    ----------
    query : int
        The song, as ``TrainingData.song_ids`` calls it.
    native, learned : tuple of int
        The nearest songs by sound alone, and as learned in that split.
    native_relevant, learned_relevant : tuple of bool
        Whether listeners find them similar.
    """

    query: int
    native: tuple[int, ...]
    native_relevant: tuple[bool, ...]
    learned: tuple[int, ...]
    learned_relevant: tuple[bool, ...]


@dataclass(frozen=True)
class TrainingReport:
    """What a training found; :mod:`nearsong.library.training_words` puts it in words.

    Attributes
    ----------
    decision : {"learned", "native", "none"}
        What is to answer from now on; "none" if nothing was to be decided.
    reason : str
        Why: one of ``gain``, ``few_artists``, ``few_listeners``, ``same_sound``, ``nothing_to_judge``, ``no_gain``,
        ``worse_on_new``, ``only_popularity``, ``asked``.
    unit, min_listeners, n_relevant, n_splits, seed
        As they were chosen, or given.
    artists, songs, listeners : int
        Learned from.
    artists_known, songs_known : int
        That could have been learned from.
    listener_kinds : dict of str to int
        All listeners by kind.
    parts : dict of str to dict
        Artists and songs of an average split's training, validation and test part.
    rows : tuple of ReportRow
        AUC of ``random``, ``popularity``, ``native``, ``learned``, ``ceiling``, and ``imported`` if there is one.
    differences : tuple of ReportRow
        Paired differences in AUC, such as ``learned - native``.
    loss, C : str and float, or None
        The best on average over all splits' validation artists.
    choices : tuple of SplitChoice
        What was scored in each split.
    examples : tuple of HeldOutExample
        From the first split, one song each of artists drawn by chance.
    seconds : dict of str to float
        How long the stages took.
    notes : tuple of str
        What else one should know.
    """

    decision: str
    reason: str
    unit: str = "artist"
    min_listeners: int = 0
    n_relevant: int = 0
    n_splits: int = 0
    seed: int = 0
    artists: int = 0
    songs: int = 0
    listeners: int = 0
    artists_known: int = 0
    songs_known: int = 0
    listener_kinds: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rows: tuple[ReportRow, ...] = ()
    differences: tuple[ReportRow, ...] = ()
    loss: str | None = None
    C: float | None = None
    choices: tuple[SplitChoice, ...] = ()
    examples: tuple[HeldOutExample, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def estimate(self, name: str, database: str = "known") -> Estimate | None:
        """Return a row's AUC, or a difference such as ``learned - native``; None if it was not measured."""
        if database not in DATABASES:
            raise InvalidInputError(f"database={database!r} is unknown; choose known or unknown.")
        found = next((row for row in (*self.rows, *self.differences) if row.name == name), None)
        return None if found is None else getattr(found, database)

    def score(self, name: str, database: str = "known") -> float | None:
        """Return a row's mean AUC."""
        found = self.estimate(name, database)
        return None if found is None else found.mean

    @property
    def learned_from(self) -> str:
        """Artists and listeners, in a few words."""
        return f"{self.artists:,} artists, {self.listeners:,} listeners"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {"version": VERSION, **_plain(asdict(self))}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return what :meth:`as_json` wrote.

        Raises
        ------
        InvalidInputError
            If it is something else, or comes from a later version.
        """
        version = facts.get("version") if isinstance(facts, Mapping) else None
        if version != VERSION:
            raise InvalidInputError(f"a training report of version {version!r} came; this nearsong reads {VERSION}.")
        known = {each.name for each in fields(cls)}
        try:
            values = {name: value for name, value in facts.items() if name in known}
            for name, record in {"choices": SplitChoice, "examples": HeldOutExample}.items():
                values[name] = tuple(record(**_tuples(each)) for each in facts[name])
            for name in ("rows", "differences"):
                values[name] = tuple(_row(each) for each in facts[name])
            return cls(**{**values, "notes": tuple(facts["notes"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"this is no training report ({error!r}); train anew.") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _tuples(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


def _row(facts: Mapping[str, Any]) -> ReportRow:
    known, unknown = (None if facts[name] is None else Estimate(**facts[name]) for name in DATABASES)
    return ReportRow(facts["name"], known, unknown)


class Tally:
    """Adds up held-out scores by the artist of the query.

    Intervals come from resampling *artists*. An artist's songs share a studio, a style and the list of artists that
    are relevant to them: ten songs of one artist say little more than one does, and resampling songs would give
    intervals that are far too narrow. An artist held out in several splits counts once, with the mean. What the
    intervals do not show is that splits learn from overlapping sets of artists; they are somewhat too narrow still.

    Parameters
    ----------
    n_artists : int
        In all.
    seed : int
        Of the resampling.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.evaluation import scores_from_distances
    >>> from nearsong.library.held_out_report import Tally
    >>> tally = Tally(n_artists=2, seed=0)
    >>> perfect = scores_from_distances([[0.0, 1.0], [1.0, 0.0]], [[1, 0], [0, 1]])
    >>> tally.add("native", "known", np.array([0, 1]), perfect)
    >>> tally.row("native").known
    Estimate(mean=1.0, low=1.0, high=1.0, artists=2)
    """

    def __init__(self, n_artists: int, seed: int) -> None:
        self._n_artists, self._seed = n_artists, seed
        self._sums: dict[tuple[str, str], FloatArray] = {}

    def add(self, name: str, database: str, artists: npt.NDArray[Any], scores: RankingScores | None) -> None:
        """Add the AUC of every query that could be scored; ``artists`` are the queries'."""
        if scores is None:
            return
        auc = np.asarray(scores.per_query["auc"], dtype=np.float64)
        usable = np.flatnonzero(~np.isnan(auc))
        table = self._sums.setdefault((name, database), np.zeros((2, self._n_artists)))
        np.add.at(table[0], artists[usable], auc[usable])
        np.add.at(table[1], artists[usable], 1.0)

    def artist_means(self, name: str, database: str) -> FloatArray:
        """Return each artist's mean AUC, NaN for those that were never held out."""
        sums, counts = self._sums.get((name, database), np.zeros((2, self._n_artists)))
        means: FloatArray = np.divide(sums, counts, out=np.full(self._n_artists, np.nan), where=counts > 0)
        return means

    def row(self, name: str) -> ReportRow:
        """Return a row's estimates."""
        known, unknown = (self.estimate(self.artist_means(name, database)) for database in DATABASES)
        return ReportRow(name, known, unknown)

    def difference(self, name: str, other: str) -> ReportRow:
        """Return the paired difference of two rows: over the same artists."""
        known, unknown = (
            self.estimate(self.artist_means(name, database) - self.artist_means(other, database))
            for database in DATABASES
        )
        return ReportRow(f"{name} - {other}", known, unknown)

    def estimate(self, values: Sequence[float] | FloatArray) -> Estimate | None:
        """Return the mean of the values that are there, and the interval that resampling gives it."""
        given = np.asarray(values, dtype=np.float64)
        given = given[~np.isnan(given)]
        n = len(given)
        if not n:
            return None
        random = np.random.default_rng([self._seed, 31])
        block = max(1, _BLOCK // n)
        means = [
            given[random.integers(n, size=(min(block, _RESAMPLES - done), n))].mean(axis=1)
            for done in range(0, _RESAMPLES, block)
        ]
        low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
        return Estimate(float(given.mean()), float(low), float(high), n)
