"""``nearsong scan``: hear what is new or changed."""

from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, duration, many, opened, out
from nearsong.cli.progress import showing


def scan(
    folders: Annotated[list[Path] | None, typer.Argument(help="Folders of music; by default those known.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that decode (default: one a processor).")] = None,
    nice: Annotated[int, typer.Option(help="How far to stand back for other programs, 0 to 19.")] = 0,
    prune: Annotated[bool, typer.Option("--prune", help="Forget songs whose file is gone.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try files again that could not be read.")] = False,
    codebook: Annotated[
        Path | None, typer.Option(help="Hear with the codebook of a model file, not one of your own.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds a file may take.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Of the sample the codebook is learned from.")] = 0,
    library: LibraryOption = None,
) -> None:
    """Hear the songs of a folder: sound, tags, and where they belong.

    Only what is new or changed is read; a file that was moved is recognised. It can be interrupted or killed at any
    time, and goes on where it was. The first scan also learns the library's codebook from a sample of its songs.

    For example:

        nearsong scan ~/Music
        nearsong scan                 # all folders that were scanned before
        nearsong scan --nice 10       # in the background
    """
    with opened(library, create=True) as lib, showing("songs") as show:
        report = lib.scan(
            *(folders or []),
            codebook=codebook,
            workers=workers,
            nice=nice,
            prune=prune,
            retry=retry,
            timeout=timeout,
            seed=seed,
            progress=show,
            note=show.note,
        )
        status = lib.status()
    console = out()
    parts = [
        (report.added, "new"),
        (report.changed, "changed"),
        (report.moved, "moved"),
        (report.copied, "copies"),
        (report.reheard, "heard again"),
        (report.unchanged, "as they were"),
    ]
    said = ", ".join(f"{n:,} {word}" for n, word in parts if n) or "none"
    console.print(f"{many(report.found, 'audio file')} in {duration(report.seconds)}: {said}.", soft_wrap=True)
    if report.missing:
        console.print(
            f"{many(report.missing, 'song known from here is', 'songs known from here are')} gone: kept, but not "
            "offered (`nearsong scan --prune` forgets what is gone).",
            soft_wrap=True,
        )
    if report.removed:
        console.print(
            f"{many(report.removed, 'song whose file is gone was', 'songs whose files are gone were')} forgotten."
        )
    if report.damaged:
        console.print(f"{many(len(report.damaged), 'file')} broke off or skipped; what could be read was used.")
    bad = len(report.unreadable) + report.known_unreadable
    if bad:
        console.print(f"{many(bad, 'file')} could not be read: `nearsong status --unreadable` says why.")
    console.print(
        f"The library has {many(status.songs, 'song')} by {many(status.artists, 'artist')}, "
        f"{duration(status.seconds)} of music. Next: {status.next[0]}",
        soft_wrap=True,
    )
    if report.found and not status.songs:
        raise typer.Exit(1)
