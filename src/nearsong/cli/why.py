"""``nearsong why``: why two songs are similar, in one sentence, and where to hear it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import JsonOption, LibraryOption, open_library, output, print_json, print_line, read_library

if TYPE_CHECKING:
    from nearsong.library import Seed, SharedMoment, Why

SONG_HELP = 'A file, an id, or a name such as "Artist - Title".'


def why(
    first: Annotated[str, typer.Argument(help=SONG_HELP)],
    second: Annotated[str, typer.Argument(help=SONG_HELP)],
    *,
    details: Annotated[bool, typer.Option("--details", help="Also the parts of the distance, and sounds.")] = False,
    moment: Annotated[
        bool, typer.Option("--moment/--no-moment", help="Find the five seconds that sound most alike.")
    ] = True,
    as_json: JsonOption = False,
    library: LibraryOption = None,
) -> None:
    """Say why two songs are similar, or how they differ, and where they sound most alike.

    Songs of the library and files can be compared.

    For example:

        nearsong why 17 42
        nearsong why new-release.mp3 "Wynton Marsalis - Caravan" --details
    """
    with read_library(library) as reader:
        songs = [reader.song(one) for one in (first, second)]
    with open_library(library) as lib:
        snapshot = lib.snapshot()
        seeds = [snapshot.seed(one, in_worker=True) for one in songs]
        (reason,) = snapshot.why(seeds[:1], seeds[1:])
    heard = _moment(*seeds) if moment else None
    if as_json:
        print_json({**reason.as_json(), "moment": None if heard is None else asdict(heard)})
        return
    _print(reason, heard, details=details)


def _moment(first: "Seed", second: "Seed") -> "SharedMoment":
    from nearsong.library import find_shared_moment

    paths = [seed.path if seed.song is None else seed.song.path for seed in (first, second)]
    return find_shared_moment(*paths)


def _print(reason: "Why", moment: "SharedMoment | None", *, details: bool) -> None:
    console = output()
    sentence, *more = reason.sentences()
    print_line(console, sentence)
    print_line(console, f"{reason.query} and {reason.other}: {reason.closeness_word} ({reason.closeness:.2f})")
    if moment is not None and moment.query_start is not None and moment.other_start is not None:
        starts = f"{_clock(moment.query_start)} in the first, {_clock(moment.other_start)} in the second"
        print_line(console, f"Hear what they share: {starts}, {moment.seconds:g} seconds each")
    elif moment is not None:
        print_line(console, f"No shared moment: {moment.reason}")
    for line in more if details else ():
        print_line(console, line)


def _clock(seconds: float) -> str:
    """Return a position in a song.

    >>> _clock(7.4), _clock(125.5)
    ('0:07', '2:05')
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
