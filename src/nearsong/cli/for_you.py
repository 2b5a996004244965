"""``nearsong for`` and ``nearsong radio``: songs for a listener, and songs that follow one another without end."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import (
    JsonOption,
    LibraryOption,
    format_duration,
    open_library,
    output,
    print_json,
    print_line,
    printable,
    read_library,
    song_table,
)
from nearsong.cli.filter_options import with_filters
from nearsong.cli.similar import SEEDS_HELP, wrote_only
from nearsong.library import Filters
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import Recommendation

_OUT_HELP = "Also write a playlist, such as {}; - prints only the playlist."


@with_filters()
def for_(
    user: Annotated[str, typer.Argument(help="Name of a listener; me without accounts.")],
    *,
    n: Annotated[int, typer.Option("--number", "-n", help="How many songs.")] = 20,
    include_played: Annotated[bool, typer.Option("--include-played", help="Also songs that they know.")] = False,
    filters: Filters,
    as_json: JsonOption = False,
    out_file: Annotated[Path | None, typer.Option("--out", help=_OUT_HELP.format("for-me.m3u8"))] = None,
    library: LibraryOption = None,
) -> None:
    """Recommend songs to a listener, from what they play, like and skip.

    Recent plays count most. Songs that they know are left out.

    For example:

        nearsong for anna
        nearsong for me -n 50 --new-artists --out for-me.m3u8
    """
    with read_library(library) as reader:
        listener = reader.find_listener(user)
    with open_library(library) as lib:
        found = lib.for_you(listener, n, filters, include_played=include_played)
        is_unknown = not found.n_plays and all(one.because is None for one in found.songs)
        others = lib.accounts.others_in_words(found.listener) if is_unknown else ""
    title = f"For {found.listener}"
    if out_file is not None and wrote_only(out_file, [one.song for one in found.songs], title):
        return
    if as_json:
        print_json(
            {"listener": found.listener, "plays": found.n_plays, "songs": _rows(found.songs), "notes": found.notes}
        )
        return
    words = f"{title}, from {count(found.n_plays, 'play')}" if found.n_plays else title
    _print_songs(words, found.songs, "because of")
    for note in [*found.notes, f"{others[:1].upper()}{others[1:]}"] if others else found.notes:
        print_line(output(), note)
    if out_file is not None:
        print_line(output(), f"Written: {out_file}")


@with_filters()
def radio(
    seeds: Annotated[list[str], typer.Argument(help=SEEDS_HELP)],
    *,
    user: Annotated[str | None, typer.Option("--for", metavar="USER", help="Whose taste counts too.")] = None,
    n: Annotated[int, typer.Option("--number", "-n", "--n", help="How many songs.")] = 20,
    surprise: Annotated[
        float, typer.Option("--surprise", help="From 0, the nearest songs, to 1, far ones; with --for, unknown ones.")
    ] = 0.0,
    filters: Filters,
    seed: Annotated[int, typer.Option(help="Random seed; another seed gives another radio.")] = 0,
    as_json: JsonOption = False,
    out_file: Annotated[Path | None, typer.Option("--out", help=_OUT_HELP.format("radio.m3u8"))] = None,
    library: LibraryOption = None,
) -> None:
    """Print songs as a radio would play them: each follows from the seeds and the songs before.

    With --for, what the listener dislikes is left out. The radio of the page also follows hearts and skips.

    For example:

        nearsong radio "Wynton Marsalis - Caravan"
        nearsong radio 17 42 --for anna -n 50 --out radio.m3u8
        nearsong radio 17 --for anna --surprise 0.5
    """
    with read_library(library) as reader:
        starts = [reader.seeds(one) for one in seeds]
        listener = None if user is None else reader.find_listener(user)
    with open_library(library) as lib:
        snapshot = lib.snapshot()
        named = [snapshot.seeds(one) for one in starts]
        resolved = [seed for _, group in named for seed in group]
        found = snapshot.radio(resolved, n=n, filters=filters, listener=listener, surprise=surprise, seed=seed)
    title = f"Radio: {' + '.join(name for name, _ in named)}" + ("" if listener is None else f", for {listener}")
    if out_file is not None and wrote_only(out_file, [one.song for one in found], title):
        return
    if as_json:
        print_json({"title": title, "songs": _rows(found)})
        return
    _print_songs(title, found, "nearest to" if len(resolved) > 1 else None)  # one seed is in the title
    print_line(output(), f"{count(len(found), 'song')}, {format_duration(sum(one.song.seconds for one in found))}.")
    if out_file is not None:
        print_line(output(), f"Written: {out_file}")


def _rows(found: "Sequence[Recommendation]") -> list[dict[str, Any]]:
    return [
        {
            **one.song.as_json(),
            "path": one.song.path,
            "score": one.score,
            "because": None if one.because is None else one.because.as_json(),
            "is_near": one.is_near,
        }
        for one in found
    ]


def _print_songs(title: str, found: "Sequence[Recommendation]", heading: str | None) -> None:
    console = output()
    if not found:
        print_line(console, f"{title}: no songs match. Use fewer filters.")
        return
    reasons = [printable(one.because.name) if one.because and one.is_near else "" for one in found]
    last_name = (heading, reasons) if heading and any(reasons) else None
    console.print(song_table(title, [one.song for one in found], width=console.width, last_name=last_name))
