"""What the commands of the library share: its address, how songs are shown, how lists are written."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from nearsong.library import Library
    from nearsong.library.records import Song

_chosen: dict[str, str | None] = {"library": None}
"""What `nearsong --library PLACE COMMAND` said."""

LibraryOption = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="PATH-or-URL",
        help="Another library than the usual one: a file, a folder, or postgresql://user@host/name.",
        rich_help_panel="Library",
    ),
]


def choose_library(place: str | None) -> None:
    """Remember which library all commands use."""
    _chosen["library"] = place


@contextmanager
def opened(place: str | None, *, create: bool = False) -> Iterator["Library"]:
    """Open the library that was chosen."""
    from nearsong.library import Library

    with Library.open(place or _chosen["library"], create=create) as library:
        yield library


def out() -> Console:
    """Return the console for answers: as wide as the terminal, or wide enough for a table in a file."""
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 118)


def song_table(title: str, songs: "Sequence[Song]", columns: Sequence[tuple[str, Sequence[str]]] = ()) -> Table:
    """Return a table of songs with some columns of numbers in front."""
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right", style="dim")
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("artist", "title", "album", "year"):
        table.add_column(name, overflow="ellipsis", no_wrap=True, justify="right" if name == "year" else "left")
    table.add_column("id", justify="right", style="dim")
    for row, song in enumerate(songs):
        values = [values[row] for _, values in columns]
        table.add_row(
            str(row + 1),
            *values,
            escape(song.artist or "-"),
            escape(song.title or os.path.basename(song.path)),
            escape(song.album),
            str(song.year or ""),
            str(song.id),
        )
    return table


def print_json(value: Any) -> None:
    """Print JSON for another program."""
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def day(seconds: float) -> str:
    """Return a date as people write it."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def duration(seconds: float) -> str:
    """Return a length as people say it.

    >>> [duration(s) for s in (42, 187, 4000, 90_000)]
    ['42 s', '3 min', '1 h 7 min', '25 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:,.0f} h" + (f" {seconds % 3600 / 60:.0f} min" if seconds < 36_000 else "")


def many(n: float, one: str, more: str | None = None) -> str:
    """Return a number with its noun.

    >>> many(1, "song"), many(1200, "song"), many(2, "history", "histories")
    ('1 song', '1,200 songs', '2 histories')
    """
    return f"{n:,.0f} {one if n == 1 else more or one + 's'}"
