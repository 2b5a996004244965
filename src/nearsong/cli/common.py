"""Shared by all commands: the library's address, consoles, tables of songs, and number formats."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    from nearsong.library import Library, LibraryReader, Song

MIN_NAME_WIDTH = 24
"""Columns that artist and title get on the narrowest terminal."""
MIN_WIDTH_WITH_ALBUM = 75
"""Columns for names from which on the album is shown too."""
FILE_WIDTH = 118
"""Columns of a table that does not go to a terminal."""

_options: dict[str, str | None] = {"library": None, "verbose": None}
"""The values of `nearsong --library ADDRESS --verbose COMMAND`."""

Column = tuple[str, Sequence[str]]
"""A heading and a cell for each song."""

LibraryOption = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="PATH-or-URL",
        help="Library to use: a file, a folder, or postgresql://user@host/name.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DIAL_WORDS = {"familiar": -1.0, "neutral": 0.0, "adventurous": 1.0}
"""Word -> position of the dial."""


def dial_position(text: str) -> float:
    """Return the position of the dial that a word or a number means.

    >>> dial_position("adventurous"), dial_position("-0.5")
    (1.0, -0.5)
    """
    try:
        return DIAL_WORDS[text.lower()] if text.lower() in DIAL_WORDS else float(text)
    except ValueError:
        raise InvalidInputError(
            f"--adventurous {text}: give a number from -1 to 1, or familiar, neutral or adventurous."
        ) from None


DialOption = Annotated[
    str,
    typer.Option("--adventurous", help="-1 or familiar: what many play; 1 or adventurous: what few play."),
]


def choose_library(address: str | None) -> None:
    """Set the library that all commands use by default."""
    _options["library"] = address


def choose_verbose(verbose: bool) -> None:
    """Set whether errors have a traceback."""
    _options["verbose"] = "yes" if verbose else None


def is_verbose() -> bool:
    """Return whether errors have a traceback."""
    return _options["verbose"] is not None


def address_of(address: str | None) -> str:
    """Return the address of the library that a command uses."""
    from nearsong.library import default_address

    chosen = _options["library"] if address is None else address
    return default_address() if chosen is None else chosen


@contextmanager
def open_library(address: str | None, *, create: bool = False) -> Iterator["Library"]:
    """Open the library at an address, or the default one."""
    chosen = _options["library"] if address is None else address
    if not create:
        check_library(chosen)
    from nearsong.library import Library

    with Library.open(chosen, create=create) as library:
        yield library


def check_library(address: str | None) -> None:
    """Raise if there is no library, before anything that takes long is loaded."""
    from nearsong.library import check_exists

    check_exists(_options["library"] if address is None else address)


def check_found(paths: Sequence[Path], words: str) -> None:
    """Raise if a path leads to nothing, before imports of what reads it; ``{}`` in the words is the path."""
    for path in paths:
        if not os.path.exists(path):
            raise InvalidInputError(words.format(printable(str(path))))


@contextmanager
def read_library(address: str | None) -> Iterator["LibraryReader"]:
    """Open the library at an address, or the default one, only to show what it has."""
    from nearsong.library import LibraryReader

    with LibraryReader.open(_options["library"] if address is None else address) as library:
        yield library


def output() -> "Console":
    """Return the console for results: as wide as the terminal, or of a fixed width in a file."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_WIDTH)


def confirmed(question: str, command: str) -> bool:
    """Ask on the terminal whether to do something; without one, refuse and name the command that does not ask."""
    if not sys.stdin.isatty():
        raise InvalidInputError(f"there is no terminal to ask on; to do it without asking: {command}")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def notices() -> "Console":
    """Return the console for what is not a result: progress and notes, on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_error(words: str) -> None:
    """Print an error on one line of stderr, in colour where that is a terminal."""
    if not (sys.stderr.isatty() or {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()):
        print(f"nearsong: {printable(words)}", file=sys.stderr)
        return
    from rich.text import Text

    text = Text.assemble(("nearsong:", "bold red"), f" {printable(words)}")
    notices().print(text, soft_wrap=True)


def print_line(console: "Console", text: str) -> None:
    """Print one line as it is: tags and file names are not markup and cannot control the terminal."""
    console.print(printable(text), soft_wrap=True, markup=False)


def printable(text: str) -> str:
    r"""Return a text on one line without control characters, since tags and file names are untrusted.

    >>> printable("a\x1b[2Jb\nc")
    'a�[2Jb c'
    """
    flat = " ".join(text.splitlines())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in flat)


def cell(text: str) -> str:
    """Return an untrusted text for a table or a line with markup: printable, and no markup itself."""
    from rich.markup import escape

    return escape(printable(text))


class PathCell:
    """An untrusted path for a table, folded after its separators; a name that is too long alone is folded, too."""

    def __init__(self, path: str) -> None:
        self._parts = re.findall(r"[^/\\]*[/\\]|[^/\\]+", printable(path))

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        """Return the width of the longest part, and of all."""
        from rich.cells import cell_len
        from rich.measure import Measurement

        widths = [cell_len(part) for part in self._parts]
        return Measurement(max(widths, default=0), sum(widths)).with_maximum(options.max_width)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator["Text"]:
        """Yield the lines."""
        from rich.cells import cell_len
        from rich.text import Text

        lines = [""]
        for part in self._parts:
            if lines[-1] and cell_len(lines[-1] + part) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield Text("\n".join(lines), overflow="fold")


def plain_table(*headings: str, right: Sequence[str] = (), uncut: Sequence[str] = ()) -> "Table":
    """Return an empty table without lines.

    The columns named in ``right`` are right-aligned, and the cells of those named in ``uncut`` are never cut.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in right else "left", overflow="fold", no_wrap=heading in uncut
        )
    return table


def song_table(
    title: str,
    songs: "Sequence[Song]",
    scores: Sequence[Column] = (),
    width: int = FILE_WIDTH,
    last_name: Column | None = None,
) -> "Table":
    """Return a table of songs, with columns of scores first; numbers and ids are never cut.

    Where there is space, ``last_name``, or else the album, follows artist and title.
    """
    from rich.table import Table
    from rich.text import Text

    left: list[Column] = [("#", [str(rank) for rank in range(1, len(songs) + 1)]), *scores]
    right: list[Column] = [
        ("year", [str(song.year or "") for song in songs]),
        ("id", [str(song.id) for song in songs]),
    ]
    table = Table(title=Text(printable(title)), title_justify="left", box=None, pad_edge=False, header_style="bold")
    space = width - sum(2 + _column_width(column) for column in [*left, *right])
    names = _name_columns(songs, space, last_name or ("album", [printable(song.album) for song in songs]))
    _add_number_columns(table, left)
    for (heading, _), column_width in names:
        table.add_column(heading, overflow="ellipsis", no_wrap=True, max_width=column_width)
    _add_number_columns(table, right)
    for row in range(len(songs)):
        table.add_row(
            *(cells[row] for _, cells in left),
            *(Text(cells[row]) for (_, cells), _ in names),
            *(cells[row] for _, cells in right),
        )
    return table


def _name_columns(songs: "Sequence[Song]", width: int, last: Column) -> list[tuple[Column, int]]:
    """Return the columns of names and the width of each; the last only where there is space for it."""
    width = max(MIN_NAME_WIDTH, width)
    columns: list[Column] = [
        ("artist", [printable(song.artist or "-") for song in songs]),
        ("title", [printable(song.title or os.path.basename(song.path)) for song in songs]),
        last,
    ]
    shares = [0.35, 0.4, 0.25] if width >= MIN_WIDTH_WITH_ALBUM else [0.45, 0.55]
    widths = [int(share * width) - 2 for share in shares]
    needed = [_column_width(column) for column in columns]
    spare = sum(max(0, limit - need) for limit, need in zip(widths, needed, strict=False))
    for i, need in enumerate(needed[: len(widths)]):  # names that are cut get the space that others leave
        extra = min(spare, max(0, need - widths[i]))
        widths[i], spare = widths[i] + extra, spare - extra
    return list(zip(columns, widths, strict=False))


def _column_width(column: Column) -> int:
    heading, cells = column
    return max(map(len, (heading, *cells)))


def _add_number_columns(table: "Table", columns: Sequence[Column]) -> None:
    for column in columns:
        heading = column[0]
        style = "dim" if heading in ("#", "id") else None
        table.add_column(heading, justify="right", no_wrap=True, min_width=_column_width(column), style=style)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def format_date(seconds: float) -> str:
    """Return a Unix time as a local date and time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def format_duration(seconds: float) -> str:
    """Return a duration in its two largest units.

    >>> [format_duration(s) for s in (42, 187, 4000, 90_000)]
    ['42 s', '3 min', '1 h 7 min', '25 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:,.0f} h" + (f" {seconds % 3600 / 60:.0f} min" if seconds < 36_000 else "")
