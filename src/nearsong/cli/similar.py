"""``nearsong similar``: the songs nearest to a song, a file or a name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from nearsong.cli.common import LibraryOption, opened, out, print_json, shown, song_table

if TYPE_CHECKING:
    from nearsong.library import Filters
    from nearsong.library.why import Why

EXPLAINED = 3
"""Answers that --why explains."""

ArtistOnce = Annotated[bool, typer.Option("--artist-once", help="Only the nearest song of every artist.")]
NewArtists = Annotated[bool, typer.Option("--new-artists", help="No songs by the seeds' own artists.")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude-artist", help="An artist that is not wanted.")]
Genre = Annotated[list[str] | None, typer.Option(help="Only songs whose genre contains this.")]
Years = Annotated[str | None, typer.Option(help="Only songs of these years: 1970-1979, 1990- or -1969.")]
FewerPlays = Annotated[float | None, typer.Option(help="Only songs with fewer plays than this.")]


def filters_of(
    artist_once: bool,
    new_artists: bool,
    exclude: list[str] | None,
    genre: list[str] | None,
    years: str | None,
    fewer_plays: float | None,
) -> "Filters":
    """Return the filters that options ask for."""
    from nearsong.library import Filters

    first, last = _years(years)
    return Filters(artist_once, new_artists, tuple(exclude or ()), tuple(genre or ()), first, last, fewer_plays)


def _years(text: str | None) -> tuple[int | None, int | None]:
    from nearsong.errors import InvalidInputError

    if text is None:
        return None, None
    first, dash, last = text.partition("-")
    try:
        start = int(first) if first.strip() else None
        return start, (int(last) if last.strip() else None) if dash else start
    except ValueError as error:
        raise InvalidInputError(f"--years {text!r} is no range of years; write 1970-1979, 1990- or -1969.") from error


def similar(
    seeds: Annotated[list[str], typer.Argument(help='Files, ids, or names such as "Artist - Title".')],
    n: Annotated[int, typer.Option("--number", "-n", help="How many songs.")] = 10,
    artist_once: ArtistOnce = False,
    new_artists: NewArtists = False,
    exclude_artist: Exclude = None,
    genre: Genre = None,
    years: Years = None,
    fewer_plays: FewerPlays = None,
    why: Annotated[bool, typer.Option("--why", help=f"Explain the first {EXPLAINED}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For another program.")] = False,
    m3u: Annotated[Path | None, typer.Option(help="Also write a playlist; - for standard output alone.")] = None,
    library: LibraryOption = None,
) -> None:
    """Find the songs nearest to one or more seeds; a file the library has never heard will do.

    Similarity is the share of all pairs of songs that are farther apart: 1 is the same sound, 0.5 two songs taken at
    random.

    For example:

        nearsong similar new-release.mp3
        nearsong similar "Wynton Marsalis - Caravan" --artist-once --why
        nearsong similar 17 42 --genre jazz --years 1950-1969 --fewer-plays 3 --json
    """
    filters = filters_of(artist_once, new_artists, exclude_artist, genre, years, fewer_plays)
    with opened(library) as lib:
        found = lib.resolve(*seeds)
        near = lib.similar(*found, n=n, filters=filters)
        reasons = lib.why_near(found, near[:EXPLAINED]) if why else []
        kind = next(row.kind for row in lib.models() if row.id == lib.active_model)
    songs = [one.song for one in near]
    if m3u is not None:
        from nearsong.library.playlist_files import m3u8_text, write_playlist

        if str(m3u) == "-":
            print(m3u8_text(songs, Path.cwd()), end="")
            return
        write_playlist(m3u, songs, title=f"Near {found[0].name}")
    if as_json:
        answer = {"seeds": [seed.name for seed in found], "metric": kind, "songs": [one.as_json() for one in near]}
        print_json({**answer, "why": [reason.as_json() for reason in reasons]} if why else answer)
        return
    console = out()
    names = " + ".join(seed.name for seed in found)
    if not near:
        console.print("No song of the library fits; ask with fewer filters.")
        return
    decimals = 3 if near[-1].distance < 10 else 1
    numbers = [
        ("similarity", [_similarity(one.similarity) for one in near]),
        ("distance", [f"{one.distance:.{decimals}f}" for one in near]),
    ]
    console.print(song_table(f"Nearest to {names} ({kind} metric)", songs, numbers, console.width))
    if len(near) < n:
        console.print(f"{len(near)} of {n}: no more songs fit.")
    for reason in reasons:
        _explain(reason, console)


def _similarity(value: float) -> str:
    """Return a similarity; only the same sound shows as 1.

    >>> _similarity(0.98765), _similarity(0.99987), _similarity(1.0)
    ('0.988', '>0.999', '1.000')
    """
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def _explain(reason: "Why", console: Console) -> None:
    name = escape(shown(reason.other))
    console.print(f"\n[bold]{name}[/] ({_similarity(reason.similarity)}), because:", soft_wrap=True)
    for line in reason.sentences():
        console.print(f"  {shown(line)}", soft_wrap=True, markup=False)
