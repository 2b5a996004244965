"""``nearsong playlist``: from seeds, or from one song to another."""

from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, duration, many, opened, out, print_json, shown, song_table
from nearsong.cli.similar import Exclude, FewerPlays, Genre, Years, filters_of
from nearsong.errors import InvalidInputError


def playlist(
    seeds: Annotated[list[str] | None, typer.Argument(help='Files, ids, or names such as "Artist - Title".')] = None,
    length: Annotated[int, typer.Option(help="How many songs.")] = 25,
    artist_gap: Annotated[int, typer.Option(help="No artist twice within this many songs.")] = 5,
    diversity: Annotated[float, typer.Option(help="0: the nearest songs; 1: as unlike each other as can be.")] = 0.0,
    drift: Annotated[float, typer.Option(help="0: stay with the seeds; 1: each song follows the one before.")] = 0.0,
    start: Annotated[str | None, typer.Option("--from", help="Walk from this song ...")] = None,
    end: Annotated[str | None, typer.Option("--to", help="... to this one.")] = None,
    exclude_artist: Exclude = None,
    genre: Genre = None,
    years: Years = None,
    fewer_plays: FewerPlays = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same playlist.")] = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="File to write: .m3u8, .m3u or .jspf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For another program.")] = False,
    library: LibraryOption = None,
) -> None:
    """Make a playlist that stays with its seeds, drifts away from them, or walks from one song to another.

    Files are written as M3U8 with paths relative to the list, or as JSPF; the same seed gives the same playlist.

    For example:

        nearsong playlist "Wynton Marsalis - Caravan" --length 25 --out evening.m3u8
        nearsong playlist 17 new-release.mp3 --diversity 0.5 --drift 0.3
        nearsong playlist --from 17 --to 42 --length 12
    """
    from nearsong.library import PlaylistRules

    given = list(seeds or [])
    if (start is None) != (end is None):
        raise InvalidInputError("--from and --to go together: give both ends of the walk.")
    if start is not None and given:
        raise InvalidInputError("a walk has its two ends and no other seeds; leave out the songs before --from.")
    if start is not None:
        given = [start]
    if not given:
        raise InvalidInputError('no seed came; give a song, a file or its name, such as "Artist - Title".')
    rules = PlaylistRules(length=length, artist_gap=artist_gap, diversity=diversity, drift=drift, seed=seed)
    filters = filters_of(False, False, exclude_artist, genre, years, fewer_plays)
    with opened(library) as lib:
        found = lib.resolve(*given)
        goal = None if end is None else lib.resolve(end)[0]
        songs, notes = lib.playlist(*found, rules=rules, filters=filters, to=goal)
    names = " + ".join(one.name for one in found)
    title = f"From {names}" if goal is None else f"From {names} to {goal.name}"
    if out_file is not None:
        from nearsong.library.playlist_files import write_playlist

        write_playlist(out_file, songs, title=title)
    if as_json:
        rows = [{"id": one.id, "artist": one.artist, "title": one.title, "path": one.path} for one in songs]
        print_json({"title": title, "songs": rows, "notes": notes})
        return
    console = out()
    console.print(song_table(title, songs, width=console.width))
    for note in notes:
        console.print(f"note: {shown(note)}", soft_wrap=True, markup=False)
    console.print(f"{many(len(songs), 'song')}, {duration(sum(song.seconds for song in songs))}.")
    if out_file is not None:
        console.print(f"Written: {out_file}", markup=False, soft_wrap=True)
