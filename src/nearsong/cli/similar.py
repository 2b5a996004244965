"""``nearsong similar``: the songs most similar to a song, a file or a name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nearsong.cli.common import (
    DialOption,
    JsonOption,
    LibraryOption,
    cell,
    dial_position,
    open_library,
    output,
    print_json,
    print_line,
    read_library,
    song_table,
)
from nearsong.cli.filter_options import with_filters
from nearsong.library import Filters

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.library import Neighbour, Seed, Snapshot, Song, Why

N_EXPLAINED = 3
"""Songs that --why explains."""

METRICS = {"learned": "learned from listeners", "native": "sound alone", "imported": "imported model"}
"""Kind of a model -> how a title names it."""

MIN_WIDTH_WITH_SIMILARITY = 75
"""Columns of a terminal from which on the calibrated number is shown beside the word."""

SEEDS_HELP = 'Files, ids, or names such as "Artist - Title".'


@with_filters()
def similar(
    seeds: Annotated[list[str], typer.Argument(help=SEEDS_HELP)],
    *,
    without: Annotated[
        list[str] | None, typer.Option("--not", metavar="SEED", help="Less like this song; may be repeated.")
    ] = None,
    n: Annotated[int, typer.Option("--number", "-n", help="How many songs.")] = 10,
    adventurous: DialOption = "neutral",
    filters: Filters,
    why: Annotated[bool, typer.Option("--why", help=f"Explain the first {N_EXPLAINED}.")] = False,
    as_json: JsonOption = False,
    m3u: Annotated[Path | None, typer.Option(help="Also write a playlist; - prints only the playlist.")] = None,
    library: LibraryOption = None,
) -> None:
    """Find similar songs, for songs of the library or any audio file.

    Closeness separates the songs of a list: 1 is the same sound, and the words mean the same in every list of a
    library. Similarity is the share of all pairs of songs that are farther apart: 0.5 for a random pair.

    For example:

        nearsong similar new-release.mp3
        nearsong similar "Wynton Marsalis - Caravan" --one-per-artist --why
        nearsong similar 17 --adventurous 0.7
        nearsong similar 17 42 --not 99
        nearsong similar 17 42 --genre jazz --year-from 1950 --year-to 1969 --fewer-plays 3 --json
    """
    found = _find(library, seeds, without or [], n, filters, dial_position(adventurous), why)
    songs = [near.song for near in found.neighbours]
    if m3u is not None and wrote_only(m3u, songs, f"Similar to {_names(found.seeds)[0]}"):
        return
    if as_json:
        _print_as_json(found, why)
        return
    console = output()
    _print_neighbours(f"{_title(found.seeds, found.minus)} ({METRICS[found.kind]})", found.neighbours, n, console)
    for reason in found.reasons:
        _print_reason(reason, console)
    if found.reasons:
        print_line(console, "\nMore about two songs: nearsong why SONG SONG --details")


class _Found(NamedTuple):
    """Seeds, the songs that are similar to them, and by which kind of model."""

    seeds: "Sequence[Seed]"
    neighbours: "Sequence[Neighbour]"
    kind: str
    minus: "Sequence[Seed]" = ()
    reasons: "Sequence[Why]" = ()


def _find(
    library: str | None, seeds: list[str], without: list[str], n: int, filters: Filters, dial: float, why: bool
) -> _Found:
    """Find similar songs, with all of the library in memory only if that is needed."""
    with read_library(library) as reader:
        named, others = ([reader.song(one) for one in group] for group in (seeds, without))
        ids = [one for one in named if isinstance(one, int)]
        is_plain = len(ids) == len(named) and not (others or why or dial)
        found = reader.similar(ids, n, filters) if is_plain else None
    if found is not None:
        return _Found(*found)
    with open_library(library) as lib:
        snapshot = lib.snapshot()
        queries, minus = _resolved(snapshot, named), _resolved(snapshot, others)
        neighbours = snapshot.similar(queries, n, filters, adventurousness=dial, without=minus)
        reasons = _explained(snapshot, queries, neighbours) if why else []
        kind = next(row.kind for row in lib.models() if row.id == lib.active_model)
    return _Found(queries, neighbours, kind, minus, reasons)


def _print_as_json(found: _Found, why: bool) -> None:
    answer: dict[str, Any] = {"seeds": _names(found.seeds)}
    if found.minus:
        answer["not"] = _names(found.minus)
    answer |= {"metric": found.kind, "songs": [near.as_json() for near in found.neighbours]}
    if why:
        answer["why"] = [reason.as_json() for reason in found.reasons]
    print_json(answer)


def _title(seeds: "Sequence[Seed]", minus: "Sequence[Seed]") -> str:
    title = f"Similar to {' + '.join(_names(seeds))}"
    return f"{title}, not to {' + '.join(_names(minus))}" if minus else title


def _names(seeds: "Sequence[Seed]") -> list[str]:
    return [seed.name for seed in seeds]


def _explained(snapshot: "Snapshot", seeds: "Sequence[Seed]", neighbours: "Sequence[Neighbour]") -> "list[Why]":
    return snapshot.why(seeds, [near.song for near in neighbours[:N_EXPLAINED]])


def _resolved(snapshot: "Snapshot", seeds: Sequence[int | str]) -> "list[Seed]":
    return [snapshot.seed(seed, in_worker=True) for seed in seeds]


def wrote_only(path: Path, songs: "Sequence[Song]", title: str) -> bool:
    """Write a playlist; return whether it went to standard output, where nothing else may follow."""
    from nearsong.library import playlist_text, write_playlist

    if str(path) == "-":
        print(playlist_text(songs, "m3u8", folder=Path.cwd()), end="")
        return True
    write_playlist(path, songs, title=title)
    return False


def _print_neighbours(title: str, neighbours: "Sequence[Neighbour]", wanted: int, console: "Console") -> None:
    if not neighbours:
        console.print("No songs match. Use fewer filters.")
        return
    scores = [("closeness", [f"{neighbour.closeness_word} {neighbour.closeness:.2f}" for neighbour in neighbours])]
    if console.width >= MIN_WIDTH_WITH_SIMILARITY:
        scores.append(("similarity", [_similarity(neighbour.similarity) for neighbour in neighbours]))
    console.print(song_table(title, [neighbour.song for neighbour in neighbours], scores, console.width))
    if len(neighbours) < wanted:
        console.print(f"{len(neighbours)} of {wanted}: no more songs match.")


def _similarity(value: float) -> str:
    """Return a similarity; only the same sound shows as 1.

    >>> _similarity(0.98765), _similarity(0.99987), _similarity(1.0)
    ('0.988', '>0.999', '1.000')
    """
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def _print_reason(reason: "Why", console: "Console") -> None:
    name = cell(reason.other)
    console.print(f"\nWhy [bold]{name}[/] ({reason.closeness_word} {reason.closeness:.2f}):", soft_wrap=True)
    print_line(console, f"  {reason.lead}")
