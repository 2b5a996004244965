"""``nearsong listens``: what was listened to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearsong.cli.common import LibraryOption, day, many, opened, out, shown
from nearsong.cli.progress import showing

if TYPE_CHECKING:
    from nearsong.library.matching import MatchReport

listens = typer.Typer(
    help="Import listening histories, see what was found, forget them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@listens.command(name="import")
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders, of any mix of formats.")],
    format: Annotated[str | None, typer.Option(help="What they are, if it is not recognised.")] = None,
    user: Annotated[str, typer.Option(help="Whose they are, where a file does not say.")] = "me",
    library: LibraryOption = None,
) -> None:
    """Read listening histories.

    Last.fm (CSV exports, the 360K and 1K collections), ListenBrainz, Spotify (account and extended), playlists
    (M3U, M3U8, JSPF), and any CSV, TSV or Parquet with columns such as user, artist, title, plays or timestamp. The
    same file twice counts once; a newer version of a file takes the place of the old one.

    For example:

        nearsong listens import lastfm.csv spotify/*.json playlists/
        nearsong listens import plays.tsv --user anna
    """
    with opened(library, create=True) as lib, showing() as show:
        files = lib.import_listens(*paths, format=format, user=user, progress=show, note=show.note)
        report = lib.match_report([file.source for file in files if file.source is not None])
    console = out()
    for state, words in (
        ("imported", "imported"),
        ("replaced", "imported in place of an older version"),
        ("known", "known already"),
    ):
        some = [file for file in files if file.state == state]
        if some:
            rows = sum(file.rows for file in some)
            kinds = ", ".join(sorted({file.format for file in some}))
            console.print(f"{many(len(some), 'file')} {words} ({kinds}): {many(rows, 'row')}.", soft_wrap=True)
    for file in files:
        if file.state == "failed":
            console.print(f"[yellow]left out:[/] {escape(shown(file.reason))}", soft_wrap=True)
    _say_what_matched(report, console)


@listens.command(name="list")
def list_(library: LibraryOption = None) -> None:
    """Show the listening histories, and how much of them was found in the library.

    For example: nearsong listens list
    """
    with opened(library) as lib:
        lib.played.gather()  # so that it has a number, by which it can be removed
        sources = lib.listens()
        report = lib.match_report() if sources else None
    console = out()
    if not sources:
        console.print("No listening history was imported yet: nearsong listens import FILES")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "rows", "format", "imported", "file"):
        table.add_column(name, justify="right" if name in ("id", "rows") else "left", overflow="fold")
    for source in sources:
        table.add_row(
            str(source.id), f"{source.rows:,}", source.format, day(source.imported), escape(shown(source.name))
        )
    console.print(table)
    if report is not None:
        _say_what_matched(report, console)


@listens.command()
def remove(
    ids: Annotated[list[int], typer.Argument(help="Ids, as `nearsong listens list` shows them.")],
    library: LibraryOption = None,
) -> None:
    """Forget listening histories.

    What was played through the page and players is one of them; it begins anew with the next song.

    For example: nearsong listens remove 3
    """
    with opened(library) as lib:
        lib.remove_listens(*ids)
    gone = many(len(set(ids)), "history", "histories")
    out().print(f"{gone} forgotten; the next `nearsong train` learns from the rest.")


def _say_what_matched(report: "MatchReport", console: Console) -> None:
    """Say how much was found in the library, how, and what was not."""
    total = report.plays_matched + report.plays_unmatched
    if not total:
        return
    ways = [f"{n:,} by {way}" for way, n in report.names_by_way.items() if n and way != "not found"]
    console.print(
        f"In the library: {report.plays_matched / total:.0%} of {many(total, 'play')} "
        f"({many(report.names_matched, 'name')} found" + (f": {', '.join(ways)})." if ways else ")."),
        soft_wrap=True,
    )
    if report.most_played_unmatched:
        names = "; ".join(f"{name} ({plays:,.0f})" for name, plays in report.most_played_unmatched[:5])
        console.print(
            shown(f"{many(report.names_unmatched, 'name')} not found. Most played of them: {names}."),
            soft_wrap=True,
            markup=False,
        )
