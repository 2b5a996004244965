"""``nearsong listens``: import, pull, list and remove listening histories."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import (
    LibraryOption,
    PathCell,
    cell,
    check_found,
    confirmed,
    format_date,
    open_library,
    output,
    plain_table,
    print_line,
    read_library,
)
from nearsong.cli.listens.export import export, recorded_words
from nearsong.cli.listens.pull import pull
from nearsong.cli.progress import show_progress
from nearsong.names import count

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.library import ImportedFile, MatchReport

NO_HISTORIES = "No listening histories yet. Import some: nearsong listens import FILES"

STATES = {"imported": "imported", "replaced": "updated", "known": "already imported"}
"""State of a file -> how it is printed."""

listens = typer.Typer(
    help="Import, pull, list and remove listening histories.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
listens.command()(export)
listens.add_typer(pull, name="pull")


@listens.command(name="import")
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders, in any mix of formats.")],
    format: Annotated[str | None, typer.Option(help="Format, if it is not recognised.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Whose listens these are, whatever name a file has.", show_default="me")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Import what --format loses without asking.")] = False,
    library: LibraryOption = None,
) -> None:
    """Import listening histories.

    Reads Last.fm (CSV exports, pages of its API, the 360K, 1K and HetRec collections), Libre.fm, ListenBrainz,
    Maloja, Pano Scrobbler, Spotify (account, extended, library), Apple Music, iTunes, YouTube Music, .scrobbler.log,
    beets, Navidrome, playlists (M3U, M3U8, PLS, JSPF, XSPF), and any CSV, TSV, JSON or Parquet file with columns such
    as user, artist, title, plays or timestamp. A file counts once; a newer version replaces the older one.

    For example:

        nearsong listens import lastfm.csv spotify/*.json playlists/
        nearsong listens import plays.tsv --user anna
    """
    check_found(paths, "File not found: {}. Give a listening history or a folder of them.")
    if format is not None and not yes and not _accepts_losses(paths, format):
        print_line(output(), "Nothing was imported.")
        return
    with open_library(library, create=True) as lib, show_progress() as progress:
        files = lib.import_listens(*paths, format=format, user=user, progress=progress, note=progress.note)
        _, report = lib.match_list([file.source for file in files if file.source is not None])
    console = output()
    _print_files(files, console)
    _print_matches(report, console)


@listens.command(name="list")
def list_(library: LibraryOption = None) -> None:
    """List the listening histories, and how much of them matches the library.

    For example: nearsong listens list
    """
    with read_library(library) as reader:
        if not reader.has_listens():
            print_line(output(), NO_HISTORIES)
            return
        matches = reader.match_list()
    if matches is None:
        with open_library(library) as lib:
            matches, _ = lib.match_list()
    console = output()
    if not matches.histories:
        print_line(console, NO_HISTORIES)
        return
    table = plain_table("id", "rows", "found", "whose", "format", "imported", "file", right=("id", "rows", "found"))
    for history in matches.histories:
        share = matches.shares.get(history.id)
        table.add_row(
            str(history.id),
            f"{history.rows:,}",
            "" if share is None else f"{share:.0%}",
            cell(history.whose),
            history.format,
            format_date(history.imported),
            PathCell(history.name),
        )
    console.print(table)
    _print_matches(matches.report, console)


@listens.command()
def remove(
    ids: Annotated[list[int], typer.Argument(help="Ids from `nearsong listens list`.")],
    library: LibraryOption = None,
) -> None:
    """Remove listening histories.

    Plays, hearts, ratings and skips recorded by the page and by players are one of them; a new one starts with the
    next play. `nearsong listens export` keeps a copy.

    For example: nearsong listens remove 3
    """
    with read_library(library) as reader:
        reader.check_histories(*ids)
    with open_library(library) as lib:
        is_recorded = any(history.id in ids and history.format == "played" for history in lib.listens())
        recorded = f" ({recorded_words(lib.play_log.counts())} recorded by nearsong)" if is_recorded else ""
        lib.remove_listens(*ids)
    removed = count(len(set(ids)), "history", "histories")
    print_line(output(), f"{removed} removed{recorded}. Run `nearsong train` to learn from the rest.")


def _accepts_losses(paths: Sequence[Path], format: str) -> bool:
    """Ask whether to import tables that lack titles or times, since the format was named and not recognised."""
    from nearsong.errors import ListensError
    from nearsong.listens import PartitionedTable, find_histories, open_listens

    losses: Counter[str] = Counter()
    for history in find_histories(paths):
        try:
            parts = history.open(format) if isinstance(history, PartitionedTable) else [open_listens(history, format)]
            losses.update(parts[0].losses)
        except ListensError:
            continue  # the import says why
    if not losses:
        return True
    names = " ".join(str(path) for path in paths)
    what = "; ".join(f"{count(n, 'file')}: {loss}" for loss, n in losses.items())
    return confirmed(
        f"As {format}, {what}. Import anyway?", f"nearsong listens import {names} --format {format} --yes"
    )


def _print_files(files: "Sequence[ImportedFile]", console: "Console") -> None:
    """Print one line for each state of files, and one for each file that could not be read."""
    for state, label in STATES.items():
        group = [file for file in files if file.state == state]
        if group:
            formats = ", ".join(sorted({file.format for file in group}))
            rows = count(sum(file.rows for file in group), "row")
            files_done = count(len({file.path or file.name for file in group}), "file")
            print_line(console, f"{files_done} {label} ({formats}): {rows}.")
    left_out = sum((Counter(file.left_out) for file in files), Counter())
    if left_out:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in left_out.most_common())
        print_line(console, f"Left out: {reasons}.")
    for file in files:
        if file.state == "failed":
            console.print(f"[yellow]skipped:[/] {cell(file.reason)}", soft_wrap=True)


def _print_matches(report: "MatchReport", console: "Console") -> None:
    """Print how much was found in the library, the most played names that were not, and what to do about little."""
    from nearsong.library import match_sentences

    for sentence in match_sentences(report):
        print_line(console, sentence)
