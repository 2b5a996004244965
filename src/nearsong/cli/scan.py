"""``nearsong scan``: analyse new and changed files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import LibraryOption, check_found, format_duration, open_library, output, print_line
from nearsong.cli.progress import StageProgress, show_progress
from nearsong.names import count

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.library import ScanReport


def scan(
    folders: Annotated[
        list[str] | None, typer.Argument(help="Folders of music; by default all scanned before.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that decode (default: one per processor).")] = None,
    nice: Annotated[int, typer.Option(help="Run at a lower priority: 0 (normal) to 19 (lowest).")] = 0,
    prune: Annotated[bool, typer.Option("--prune", help="Remove songs whose file is missing.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try files again that are unreadable or set aside.")] = False,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Set nothing aside, however short or silent.")] = False,
    codebook: Annotated[
        Path | None, typer.Option(help="Use the encoders of a model file instead of fitting them.")
    ] = None,
    encoders: Annotated[
        str | None,
        typer.Option(help="Song encoders to use, separated by commas (default: the current ones); others are freed."),
    ] = None,
    excerpt: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Analyse only the middle of each song; 0 for complete songs (default: as before; at first 0).",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds allowed for each file.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Random seed for the sample that encoders are fitted to.")] = 0,
    cluster: Annotated[
        str | None, typer.Option(help="Analyse on the workers of a Dask scheduler, tcp://host:8786.")
    ] = None,
    library: LibraryOption = None,
) -> None:
    """Scan a folder of music.

    Analyses new and changed files only, and recognises files that were moved. The first scan also fits the
    encoders to a sample of your songs. You can interrupt a scan at any time; the next one continues where it stopped.

    For example:

        nearsong scan ~/Music
        nearsong scan                 # all folders scanned before
        nearsong scan --nice 10       # in the background
        nearsong scan --excerpt 120   # two minutes of each song, on a slow machine
        nearsong --library postgresql://... scan /shared/music --cluster tcp://host:8786
    """
    here = [Path(os.path.abspath(os.path.expanduser(folder))) for folder in folders or [] if "://" not in folder]
    check_found(here, "Folder not found: {}. Check its name and that the drive is connected.")
    with (
        open_library(library, create=True) as lib,
        show_progress("songs") as progress,
        saying_what_is_done(progress),
    ):
        report = lib.scan(
            *(folders or []),
            codebook=codebook,
            encoders=None if encoders is None else tuple(name.strip() for name in encoders.split(",")),
            excerpt=excerpt,
            workers=workers,
            nice=nice,
            prune=prune,
            retry=retry,
            keep_all=keep_all,
            timeout=timeout,
            seed=seed,
            cluster=cluster,
            progress=progress,
            note=progress.note,
        )
        status = lib.status()
    console = output()
    _print_report(report, console)
    size = f"{count(status.songs, 'song')} by {count(status.artists, 'artist')}, {format_duration(status.seconds)}"
    print_line(console, f"The library has {size}.")
    print_line(console, f"Next: {status.next[0]}")
    if report.found and not status.songs:
        raise typer.Exit(1)


@contextmanager
def saying_what_is_done(progress: StageProgress) -> Iterator[None]:
    """Say after Ctrl-C how much of a scan need not be done again."""
    try:
        yield
    except KeyboardInterrupt:
        samples, songs = (progress.reached.get(stage, 0) for stage in ("reading samples", "analysing songs"))
        if songs:
            progress.note(f"{count(songs, 'file')} of this scan analysed; the next scan goes on after them.")
        elif samples:
            read = count(samples, "song")
            progress.note(f"Stopped before songs were analysed; the samples of {read} are stored for the next scan.")
        raise


def _print_report(report: "ScanReport", console: "Console") -> None:
    """Print the counts of a scan, then one line for each kind of problem."""
    counts = [
        (report.added, "new"),
        (report.changed, "changed"),
        (report.moved, "moved"),
        (report.copied, "copies"),
        (report.reanalysed, "analysed again"),
        (report.unchanged, "unchanged"),
    ]
    summary = ", ".join(f"{n:,} {word}" for n, word in counts if n) or "none usable"
    print_line(console, f"{count(report.found, 'audio file')} in {format_duration(report.seconds)}: {summary}.")
    if report.missing:
        missing = count(report.missing, "song has lost its file", "songs have lost their files")
        print_line(console, f"{missing}; hidden until a file is back. `nearsong scan --prune` removes them.")
    if report.removed:
        print_line(console, f"{count(report.removed, 'song')} without a file removed.")
    if report.damaged:
        damaged = count(len(report.damaged), "file is damaged", "files are damaged")
        print_line(console, f"{damaged}; the readable part was used.")
    unreadable = len(report.unreadable) + report.known_unreadable
    if unreadable:
        print_line(console, f"{count(unreadable, 'file')} could not be read; see `nearsong status --unreadable`.")
    set_aside = len(report.set_aside) + report.known_set_aside
    if set_aside:
        print_line(console, f"{count(set_aside, 'file')} without music set aside; see `nearsong status --set-aside`.")
