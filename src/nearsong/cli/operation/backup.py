"""``nearsong backup`` and ``nearsong restore``: a library as one file, and back."""

import os
from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, address_of, confirmed, open_library, output, print_line, printable


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the file if it exists.")] = False,
    library: LibraryOption = None,
) -> None:
    """Write everything that the library stores to one file, while it is in use.

    Songs, vectors, models, listens, playlists, plays, hearts, accounts and settings, as of one moment; a service goes
    on serving. The file is complete or absent. Keep it to yourself: it holds the app passwords of listeners. Audio is
    not in it.

    For example: nearsong backup "/backup/nearsong-$(date +%F).sqlite"
    """
    with open_library(library) as lib:
        written = lib.backup(file, replace=replace)
    megabytes = written.stat().st_size / 1e6
    print_line(output(), f"Wrote {written} ({megabytes:,.1f} MB). To restore it: nearsong restore {file}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `nearsong backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the library without asking; what is in it now is lost.")
    ] = False,
    library: LibraryOption = None,
) -> None:
    """Make a library of a backup.

    Nothing may have the library open: stop the service first. Until the end the library that is there stays as it is.
    A PostgreSQL database has to be empty.

    For example: nearsong --library ~/.local/share/nearsong/library.sqlite restore /backup/nearsong.sqlite
    """
    from nearsong.library import check_backup, library_file
    from nearsong.library import restore as run

    address = address_of(library)
    target = library_file(address)
    if target is not None and os.path.lexists(target) and not replace:
        check_backup(file)  # before a question that has no good answer
        question = f"Replace {printable(str(target))}? What is in it now is lost for good."
        if not confirmed(question, f"nearsong restore {file} --replace"):
            print_line(output(), "Nothing was restored.")
            return
        replace = True
    run(file, address, replace=replace)
    with open_library(address) as lib:
        songs = lib.status().songs
        print_line(output(), f"Restored {lib.name} from {file}: {songs:,} songs.")
