"""What the commands of the library share: its address, how songs are shown, how lists are written."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

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

    with Library.open(_chosen["library"] if place is None else place, create=create) as library:
        yield library


def out() -> Console:
    """Return the console for answers: as wide as the terminal, or wide enough for a table in a file."""
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 118)


def shown(text: str) -> str:
    r"""Return a text without anything that a terminal would obey: tags and names come from strangers.

    >>> shown("a\x1b[2Jb\nc")
    'a�[2Jb c'
    """
    flat = " ".join(text.splitlines())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in flat)


def song_table(
    title: str, songs: "Sequence[Song]", columns: Sequence[tuple[str, Sequence[str]]] = (), width: int = 118
) -> Table:
    """Return a table of songs with some columns of numbers in front; numbers and ids are never cut."""
    numbers = [str(row + 1) for row in range(len(songs))]
    fixed = [("#", numbers), *columns, ("year", [str(song.year or "") for song in songs])]
    fixed.append(("id", [str(song.id) for song in songs]))
    taken = sum(2 + max(map(len, (name, *values))) for name, values in fixed)
    left = max(24, width - taken)
    with_album = left >= 75
    names = {"artist": 0.35, "title": 0.4, "album": 0.25} if with_album else {"artist": 0.45, "title": 0.55}
    table = Table(title=Text(shown(title)), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, values in fixed[:-2]:
        least = max(map(len, (name, *values)))
        table.add_column(name, justify="right", no_wrap=True, min_width=least, style="dim" if name == "#" else None)
    for name, share in names.items():
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=int(share * left) - 2)
    for name, values in fixed[-2:]:
        least = max(map(len, (name, *values)))
        table.add_column(name, justify="right", no_wrap=True, min_width=least, style="dim" if name == "id" else None)
    for row, song in enumerate(songs):
        words = [song.artist or "-", song.title or os.path.basename(song.path), song.album][: len(names)]
        values = [cells[row] for _, cells in fixed]
        table.add_row(*values[:-2], *(Text(shown(word)) for word in words), *values[-2:])
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
