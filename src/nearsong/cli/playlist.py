"""``nearsong playlist``: around seeds, or from one song to another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import (
    DialOption,
    JsonOption,
    LibraryOption,
    dial_position,
    format_duration,
    open_library,
    output,
    print_json,
    print_line,
    read_library,
    song_table,
)
from nearsong.cli.filter_options import with_filters
from nearsong.cli.similar import SEEDS_HELP
from nearsong.errors import InvalidInputError
from nearsong.library import PLAYLIST_DEFAULTS, Filters
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import NamedSongs


@with_filters(without=("one_per_artist", "new_artists"))
def playlist(
    seeds: Annotated[list[str] | None, typer.Argument(help=SEEDS_HELP)] = None,
    *,
    length: Annotated[int, typer.Option(help="How many songs.")] = PLAYLIST_DEFAULTS.length,
    artist_gap: Annotated[
        int, typer.Option(help="Songs in a row in which no artist occurs twice.")
    ] = PLAYLIST_DEFAULTS.artist_gap,
    diversity: Annotated[
        float, typer.Option(help="Share of songs chosen for variety. 0: the most similar songs only.")
    ] = PLAYLIST_DEFAULTS.diversity,
    drift: Annotated[
        float, typer.Option(help="0: stay with the seeds; 1: each song follows the one before.")
    ] = PLAYLIST_DEFAULTS.drift,
    adventurous: DialOption = "neutral",
    start: Annotated[str | None, typer.Option("--from", help="First song of a path; needs --to.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Last song of a path; needs --from.")] = None,
    filters: Filters,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same playlist.")] = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="File to write, such as evening.m3u8.")] = None,
    as_json: JsonOption = False,
    library: LibraryOption = None,
) -> None:
    """Make a playlist around seeds, or from one song to another.

    M3U8 files contain paths relative to the playlist.

    For example:

        nearsong playlist "Wynton Marsalis - Caravan" --length 25 --out evening.m3u8
        nearsong playlist 17 new-release.mp3 --diversity 0.5 --drift 0.3
        nearsong playlist --from 17 --to 42 --length 12
    """
    queries = _queries(seeds or [], start, end)
    from nearsong.library import PlaylistRules

    rules = PlaylistRules(
        length=length,
        artist_gap=artist_gap,
        diversity=diversity,
        drift=drift,
        seed=seed,
        adventurousness=dial_position(adventurous),
    )
    starts, last = _looked_up(library, queries, end)
    with open_library(library) as lib:
        snapshot = lib.snapshot()
        named = [snapshot.seeds(one) for one in starts]
        resolved = [seed for _, group in named for seed in group]
        goal = None if end is None else snapshot.seed(last, in_worker=True)
        songs, notes = snapshot.playlist(resolved, rules, filters, goal)
    title = "From " + " + ".join(name for name, _ in named) + ("" if goal is None else f" to {goal.name}")
    if out_file is not None:
        from nearsong.library import write_playlist

        write_playlist(out_file, songs, title=title)
    if as_json:
        rows = [{"id": song.id, "artist": song.artist, "title": song.title, "path": song.path} for song in songs]
        print_json({"title": title, "songs": rows, "notes": notes})
        return
    console = output()
    console.print(song_table(title, songs, width=console.width))
    for note in notes:
        print_line(console, f"note: {note}")
    print_line(console, f"{count(len(songs), 'song')}, {format_duration(sum(song.seconds for song in songs))}.")
    if out_file is not None:
        print_line(console, f"Written: {out_file}")


def _looked_up(
    library: str | None, queries: list[str], end: str | None
) -> "tuple[list[NamedSongs | str], int | str]":
    """Return what texts name, as far as that is clear without all of the library in memory."""
    with read_library(library) as reader:
        return [reader.seeds(query) for query in queries], "" if end is None else reader.song(end)


def _queries(seeds: list[str], start: str | None, end: str | None) -> list[str]:
    """Return the seeds of a playlist: those given, or the first song of a path."""
    if (start is None) != (end is None):
        raise InvalidInputError("--from and --to go together; give both.")
    if start is not None and seeds:
        raise InvalidInputError("--from and --to take no other seeds; leave out the seeds or the two options.")
    if start is not None:
        return [start]
    if not seeds:
        raise InvalidInputError('No seed given; name a song ("Artist - Title"), an id or a file.')
    return seeds
