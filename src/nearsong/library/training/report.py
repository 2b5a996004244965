"""The report of a training: scores on held-out artists and what follows from them, as it is stored with a model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from nearsong.errors import InvalidInputError
from nearsong.library.training.coverage.records import Coverage

DATABASES = ("known", "unknown")
"""Songs that held-out songs are ranked against: the training songs, and songs of other unseen artists."""

MEASURES = (*DATABASES, "known_terciles", "unknown_terciles")
"""What a method is measured by: AUC in each database, and within its popularity terciles."""

VERSION = 2
"""Version of the JSON format."""

METRIC_ONLY_VERSION = 1
"""The version before there were methods: the paper's, of which loss and C were chosen."""


@dataclass(frozen=True)
class Estimate:
    """A mean over artists with its 95 % confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean and the bounds of the interval.
    artists : int
        Number of artists.
    """

    mean: float
    low: float
    high: float
    artists: int


@dataclass(frozen=True)
class ReportRow:
    """Scores of one method: against the training songs, and among songs of unseen artists.

    The last two are measured within popularity terciles of these songs.
    """

    name: str
    known: Estimate | None
    unknown: Estimate | None
    known_terciles: Estimate | None = None
    unknown_terciles: Estimate | None = None


@dataclass(frozen=True)
class SplitChoice:
    """The method and parameters selected by validation in one split, and the split's scores (means over songs)."""

    split: int
    method: str
    choice: Mapping[str, Any]
    validation: float
    known: float | None
    unknown: float | None


@dataclass(frozen=True)
class HeldOutExample:
    """A song of a held-out artist and its nearest training songs.

    Attributes
    ----------
    query : int
        Id of the song in ``TrainingData.song_ids``.
    native, learned : tuple of int
        The nearest songs by sound alone, and as learned in that split.
    native_relevant, learned_relevant : tuple of bool
        Whether they are relevant, that is, similar according to listeners.
    """

    query: int
    native: tuple[int, ...]
    native_relevant: tuple[bool, ...]
    learned: tuple[int, ...]
    learned_relevant: tuple[bool, ...]


@dataclass(frozen=True)
class TrainingReport:
    """Result of a training; :mod:`nearsong.library.training.wording` formats it as text.

    Attributes
    ----------
    decision : {"learned", "native", "active", "none"}
        "learned" if the new model becomes active; "native" if it is no better than sound alone, or there is none;
        "active" if the active model is as good; "none" for an evaluation, which decides nothing.
    reason : str
        Reason for the decision: one of ``gain``, ``few_artists``, ``few_listeners``, ``same_sound``,
        ``nothing_to_judge``, ``no_gain``, ``worse_on_new``, ``only_popularity``, ``not_better``, ``same_data``,
        ``asked``.
    unit, min_listeners, n_relevant, n_splits, seed
        Settings, as given or as chosen from the data.
    artists, songs, listeners : int
        Size of the training set, which methods and parameters are chosen and scored on.
    artists_known, songs_known : int
        Artists with enough listeners, and their songs, before sampling.
    coverage : Coverage or None
        What a model would learn from in the end, and what is left out; None in reports from before it was counted.
    listener_kinds : dict of str to int
        Number of listeners of each kind.
    parts : dict of str to dict
        Mean number of artists and songs in the training, validation and test part of a split.
    rows : tuple of ReportRow
        AUC of ``random``, ``popularity``, ``native``, each method that was learned, ``learned`` (in each split the
        method that validation chose there), ``ceiling``, and ``imported`` and ``active`` if there is such a model.
    differences : tuple of ReportRow
        Paired differences in AUC, such as ``learned - native``; to ``native``, ``popularity``, ``paper`` and
        ``active``.
    method : str or None
        The method with the best mean validation score over all splits.
    choice : dict
        Its parameters with the best mean validation score.
    validation : dict of str to float
        Mean validation score of each method: the mean of the AUCs against known songs and among unseen artists.
    loss, C : str and float, or None
        Those of MLR in ``choice``.
    choices : tuple of SplitChoice
        What was selected in each split, and its scores.
    examples : tuple of HeldOutExample
        From the first split, one song each of randomly drawn artists.
    seconds : dict of str to float
        Duration of each stage.
    notes : tuple of str
        Additional remarks.
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
    coverage: Coverage | None = None
    listener_kinds: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rows: tuple[ReportRow, ...] = ()
    differences: tuple[ReportRow, ...] = ()
    method: str | None = None
    choice: Mapping[str, Any] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)
    loss: str | None = None
    C: float | None = None
    choices: tuple[SplitChoice, ...] = ()
    examples: tuple[HeldOutExample, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def estimate(self, name: str, database: str = "known") -> Estimate | None:
        """Return the AUC of a method, or a difference such as ``learned - native``; None if it was not measured."""
        if database not in DATABASES:
            raise InvalidInputError(f"database={database!r} is unknown; choose known or unknown.")
        row = next((row for row in (*self.rows, *self.differences) if row.name == name), None)
        return None if row is None else getattr(row, database)

    def score(self, name: str, database: str = "known") -> float | None:
        """Return the mean AUC of a method; None if it was not measured."""
        estimate = self.estimate(name, database)
        return None if estimate is None else estimate.mean

    @property
    def learned_from(self) -> str:
        """Number of artists and listeners as a short text."""
        coverage = self.coverage if self.decision == "learned" else None
        artists = self.artists if coverage is None else coverage.used.artists
        return f"{artists:,} artists, {self.listeners:,} listeners"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON-serialisable values."""
        return {"version": VERSION, **_plain(asdict(self))}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Restore a report from :meth:`as_json`.

        Raises
        ------
        InvalidInputError
            If the value is not a report, or of another version.
        """
        version = facts.get("version") if isinstance(facts, Mapping) else None
        if version not in (METRIC_ONLY_VERSION, VERSION):
            raise InvalidInputError(f"the training report has version {version!r}; this nearsong reads {VERSION}.")
        known = {item.name for item in fields(cls)}
        try:
            values = {name: value for name, value in facts.items() if name in known}
            if version == METRIC_ONLY_VERSION:
                values |= _with_methods(facts)
            if values.get("coverage") is not None:
                values["coverage"] = Coverage.from_json(values["coverage"])
            values["choices"] = tuple(SplitChoice(**item) for item in values["choices"])
            values["examples"] = tuple(HeldOutExample(**_tuples(item)) for item in facts["examples"])
            for name in ("rows", "differences"):
                values[name] = tuple(_row(item) for item in facts[name])
            return cls(**{**values, "notes": tuple(facts["notes"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"the training report cannot be read ({error!r}); train again.") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _tuples(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


def _row(facts: Mapping[str, Any]) -> ReportRow:
    estimates = {name: None if facts.get(name) is None else Estimate(**facts[name]) for name in MEASURES}
    return ReportRow(name=facts["name"], **estimates)


def _with_methods(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report of the version before would say of its only method."""
    choices = [
        {name: value for name, value in item.items() if name not in ("loss", "C")}
        | {"method": "paper", "choice": {"loss": item["loss"], "C": item["C"]}}
        for item in facts["choices"]
    ]
    if facts["loss"] is None:
        return {"choices": choices}
    return {"choices": choices, "method": "paper", "choice": {"loss": facts["loss"], "C": facts["C"]}}
