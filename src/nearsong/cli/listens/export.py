"""``nearsong listens export``: write what was played, hearted, rated and skipped with nearsong to a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import LibraryOption, open_library, output, print_line
from nearsong.errors import InvalidInputError
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.listens.records import Action

WORDS = {"LISTEN": "play", "HEART": "heart", "RATING": "rating", "SKIP": "skip"}
"""Name of an action -> what users read."""


def export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as plays.jsonl.")],
    user: Annotated[str | None, typer.Option(help="One listener only; by default all.")] = None,
    library: LibraryOption = None,
) -> None:
    """Export plays, hearts, ratings and skips recorded by nearsong.

    The file has one JSON record per line, which `nearsong listens import` reads, in this library or another.

    For example: nearsong listens export plays.jsonl --user anna
    """
    from nearsong.library import write_recorded

    with open_library(library) as lib:
        if next(lib.play_log.recorded(user), None) is None:
            whose = "" if user is None else f" of {user!r}"
            raise InvalidInputError(f"nothing{whose} is recorded, so there is nothing to export; play songs first.")
        counts = write_recorded(path, lib.play_log.recorded(user))
    console = output()
    print_line(console, f"Written: {path} ({recorded_words(counts.written)}).")
    if counts.nameless:
        print_line(console, f"Left out: {count(counts.nameless, 'row')} of songs without an artist.")


def recorded_words(counts: "Mapping[Action, int]") -> str:
    """Return what is recorded in words.

    >>> from nearsong.listens.records import Action
    >>> recorded_words({Action.LISTEN: 1200, Action.HEART: 1})
    '1,200 plays, 1 heart'
    """
    by_name = {action.name: n for action, n in counts.items()}
    return ", ".join(count(by_name[name], word) for name, word in WORDS.items() if by_name.get(name)) or "0 plays"
