"""Filters and loaded songs -> a mask of the songs that a result may contain. All filters are fields of `Filters`.

To add a filter, add a field: its type and default, a sentence of help, bounds, the function that returns the mask of
the songs that pass, and its words in a form. The options of the command line, the parameters of the API, the form of
the page and the checks are derived from the fields. This module does not import numpy, so that the command line can
build its options without loading it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from nearsong.errors import InvalidInputError
from nearsong.names import artist_key, primary_artist

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nearsong.library.answers.seeds import Seed
    from nearsong.library.neighbours.space import Space

    Mask = npt.NDArray[np.bool_]
    PlayCounts = Callable[[], npt.NDArray[np.float64]]

MAX_VALUES = 100
"""Maximum number of values of a filter that can be given several times."""

_RANGES = (("year_from", "year_to"), ("min_seconds", "max_seconds"))


@dataclass(frozen=True, eq=False)
class FilterContext:
    """Input of the filters.

    Attributes
    ----------
    space : Space
        The songs, with their fields as arrays.
    seeds : sequence of Seed
    plays : callable, optional
        Returns the number of plays of each song of the space, (n_songs,).
    """

    space: "Space"
    seeds: "Iterable[Seed]" = ()
    plays: "PlayCounts | None" = None


FilterMask = Callable[[Any, FilterContext], "Mask"]
ControlKind = Literal["check", "number", "texts", "choices"]


@dataclass(frozen=True)
class FormControl:
    """How a form shows a filter: as a checkbox, a number, lines of text, or choices.

    Attributes
    ----------
    label : str
    summary : str
        In the summary of the filters that are set; ``{}`` is the value.
    group : str
        Heading of a row that it shares with other numbers.
    checked : bool, float or None
        The value that its checkbox sets; None if it is not a checkbox.
    choices : str
        Path in the API of the values to choose from; empty if any text is allowed.
    """

    label: str
    summary: str
    group: str = ""
    checked: bool | float | None = None
    choices: str = ""


def _filter(
    default: Any,
    mask: FilterMask | None,
    description: str,
    control: FormControl,
    *,
    option: str | None = None,
    batched: bool = False,
    **bounds: float,
) -> Any:
    """Declare a filter.

    Parameters
    ----------
    default : bool, tuple or None
        The value that disables it.
    mask : callable or None
        ``(value, context) -> mask`` of the songs that pass; None if it applies after ranking.
    description : str
        Help of the option and the API parameter.
    control : FormControl
    option : str, optional
        Name of the option and the query parameter, if it differs from the field: singular for a list.
    batched : bool, default=False
        Whether it is cheap enough for batched queries.
    **bounds : float
        ``ge``, ``gt``, ``le`` and ``max_length``, as pydantic names them; pydantic reads them from the metadata.
    """
    return field(
        default=default,
        metadata={
            "description": description,
            **bounds,
            "strict": not isinstance(default, tuple),  # for pydantic: no numbers from texts; JSON has no tuples
            "mask": mask,
            "control": control,
            "option": option,
            "batched": batched,
        },
    )


def _new_artists(_: bool, context: FilterContext) -> "Mask":
    return ~context.space.by_artists({seed.artist_key for seed in context.seeds} - {""})


def _exclude_artists(names: tuple[str, ...], context: FilterContext) -> "Mask":
    return ~context.space.by_artists({artist_key(primary_artist(name)) for name in names if name.strip()})


def _genres(names: tuple[str, ...], context: FilterContext) -> "Mask":
    return context.space.containing("genre", names)


def _year_from(year: int, context: FilterContext) -> "Mask":
    return context.space.numbers("year") >= year


def _year_to(year: int, context: FilterContext) -> "Mask":
    return context.space.numbers("year") <= year


def _min_seconds(seconds: float, context: FilterContext) -> "Mask":
    return context.space.numbers("seconds") >= seconds


def _max_seconds(seconds: float, context: FilterContext) -> "Mask":
    return context.space.numbers("seconds") <= seconds


def _fewer_plays(count: float, context: FilterContext) -> "Mask":
    if context.plays is None:
        raise InvalidInputError("fewer_plays needs play counts; import listens first.")
    return context.plays() < count


@dataclass(frozen=True)
class Filters:
    """Which songs a result may contain; by default all.

    Attributes
    ----------
    one_per_artist : bool
        Only the nearest song of each artist.
    new_artists : bool
        No songs by the artists of the seeds.
    exclude_artists : tuple of str
        No songs by these artists.
    genres : tuple of str
        Only songs whose genre contains one of these, ignoring case.
    year_from, year_to : int or None
        Only songs of these years; songs without a year are excluded.
    fewer_plays : float or None
        Only songs with fewer plays than this.
    min_seconds, max_seconds : float or None
        Only songs of at least, and at most, this duration.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    one_per_artist: bool = _filter(
        False,
        None,
        "Only the nearest song of each artist.",
        FormControl("One song per artist", "one song per artist", checked=True),
        batched=True,
    )
    new_artists: bool = _filter(
        False,
        _new_artists,
        "No songs by the artists of the seeds.",
        FormControl("Other artists only", "other artists", checked=True),
        batched=True,
    )
    exclude_artists: tuple[str, ...] = _filter(
        (),
        _exclude_artists,
        "No songs by this artist.",
        FormControl("Excluded artists", "without {}"),
        option="exclude_artist",
        max_length=MAX_VALUES,
    )
    genres: tuple[str, ...] = _filter(
        (),
        _genres,
        "Only songs whose genre contains this.",
        FormControl("Genres", "{}", choices="/genres"),
        option="genre",
        max_length=MAX_VALUES,
    )
    year_from: int | None = _filter(
        None,
        _year_from,
        "Only songs of this year or later.",
        FormControl("From year", "since {}", "Years"),
        ge=0,
        le=9999,
    )
    year_to: int | None = _filter(
        None,
        _year_to,
        "Only songs of this year or earlier.",
        FormControl("To year", "until {}", "Years"),
        ge=0,
        le=9999,
    )
    fewer_plays: float | None = _filter(
        None,
        _fewer_plays,
        "Only songs with fewer plays than this.",
        FormControl("Unplayed songs only", "unplayed", checked=1e-9),  # fewer than any play
        gt=0,
        le=1e12,
    )
    min_seconds: float | None = _filter(
        None,
        _min_seconds,
        "Only songs of at least this length.",
        FormControl("Min length", "at least {} s", "Seconds"),
        ge=0,
        le=1e6,
    )
    max_seconds: float | None = _filter(
        None,
        _max_seconds,
        "Only songs of at most this length.",
        FormControl("Max length", "at most {} s", "Seconds"),
        ge=0,
        le=1e6,
    )

    def __post_init__(self) -> None:
        for option in self._active():
            option.check(getattr(self, option.name))
        for low, high in _RANGES:
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and least > most:
                raise InvalidInputError(f"{low}={least:g} is above {high}={most:g}; swap them.")

    @classmethod
    def from_options(cls, values: Mapping[str, Any]) -> Self:
        """Return the filters for options or query parameters; None and empty lists are ignored."""
        given: dict[str, Any] = {}
        for option in FILTERS:
            if (value := values.get(option.option)) not in (None, []):
                given[option.name] = tuple(value) if option.is_list else value
        return cls(**given)

    @property
    def excludes_songs(self) -> bool:
        """Whether some songs are excluded before the ranking."""
        return any(option.mask for option in self._active())

    @property
    def is_batched(self) -> bool:
        """Whether queries with these filters are cheap enough to be batched."""
        return all(option.batched for option in self._active())

    def allowed(self, context: FilterContext) -> "Mask":
        """Return the mask of the songs that may be in a result, (n_songs,); seeds are excluded."""
        mask = context.space.all_but(seed.song.id for seed in context.seeds if seed.song is not None)
        for option in self._active():
            if option.mask is not None:
                mask &= option.mask(getattr(self, option.name), context)
        return mask

    def _active(self) -> "list[FilterOption]":
        return [option for option in FILTERS if getattr(self, option.name) != option.default]


class FilterOption:
    """A filter as the command line and the API offer it.

    Attributes
    ----------
    name, type, default
        Those of the field of `Filters`.
    option : str
        Name of the option and the query parameter.
    description : str
    bounds : dict of str to float
        ``ge``, ``gt``, ``le`` and ``max_length``, as pydantic names them.
    mask : callable or None
    control : FormControl
    batched : bool
    """

    def __init__(self, declared: "Field[Any]") -> None:
        metadata = declared.metadata
        self.name, self.type, self.default = declared.name, declared.type, declared.default
        self.option: str = metadata["option"] or declared.name
        self.description: str = metadata["description"]
        self.bounds: dict[str, Any] = {name: metadata[name] for name in _BOUNDS if name in metadata}
        self.mask: FilterMask | None = metadata["mask"]
        self.control: FormControl = metadata["control"]
        self.batched: bool = metadata["batched"]

    @property
    def is_list(self) -> bool:
        """Whether it can be given several times."""
        return isinstance(self.default, tuple)

    @property
    def kind(self) -> ControlKind:
        """How a form shows it."""
        if self.control.checked is not None:
            return "check"
        if self.is_list:
            return "choices" if self.control.choices else "texts"
        return "number"

    def check(self, value: Any) -> None:
        """Raise an InvalidInputError if a number is out of bounds."""
        if self.is_list or isinstance(value, bool):
            return
        above, low, high = self.bounds.get("gt"), self.bounds.get("ge", 0), self.bounds["le"]
        if not low <= value <= high or value == above:
            words = f"from {low}" if above is None else f"above {above}"
            raise InvalidInputError(f"{self.name}={value!r} must be a number {words}, and at most {high:g}.")


_BOUNDS = ("ge", "gt", "le", "max_length")

FILTERS = tuple(map(FilterOption, fields(Filters)))
"""All filters, in the order of their fields."""
