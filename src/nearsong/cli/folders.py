"""``nearsong folders``: list the folders that are scanned, and remove one."""

import os
from typing import Annotated

import typer

from nearsong.cli.common import (
    LibraryOption,
    cell,
    confirmed,
    format_date,
    open_library,
    output,
    plain_table,
    print_line,
    printable,
)

folders = typer.Typer(
    help="List the scanned folders, and remove some from the library.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
)


@folders.callback()
def _list(context: typer.Context, library: LibraryOption = None) -> None:
    """List the folders that are scanned, and remove some. `nearsong scan FOLDER` adds one.

    For example:

        nearsong folders
        nearsong folders remove ~/Music/old
    """
    if context.invoked_subcommand is not None:
        return
    with open_library(library) as lib:
        found = lib.scanned_folders()
    console = output()
    if not found:
        print_line(console, "No folders yet. Scan one: nearsong scan FOLDER")
        return
    table = plain_table(
        "songs", "missing", "unreadable", "scanned", "folder", right=("songs", "missing", "unreadable")
    )
    for folder in found:
        missing, unreadable = (f"{n:,}" if n else "" for n in (folder.missing, folder.unreadable))
        path = cell(folder.path) + ("" if folder.exists else " [yellow](not there now)[/]")
        table.add_row(f"{folder.songs:,}", missing, unreadable, format_date(folder.scanned), path)
    console.print(table)


@folders.command()
def remove(
    folder: Annotated[str, typer.Argument(help="A folder that is scanned.")],
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete all that is known about its songs, too; this cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it without asking.")] = False,
    library: LibraryOption = None,
) -> None:
    """Scan a folder no longer, and hide its songs until it is scanned again. No file is deleted.

    For example: nearsong folders remove ~/Music/old
    """
    with open_library(library) as lib:
        known = next((one for one in lib.scanned_folders() if one.path == _real(folder)), None)
        if known is not None and not yes:  # of any other folder, the library says which there are
            what = known.removal_words if not forget else "All that is known about its songs is deleted for good."
            question = f"Remove {printable(known.path)}? {what}"
            command = f"nearsong folders remove {folder}{' --forget' if forget else ''} --yes"
            if not confirmed(question, command):
                print_line(output(), "It was not removed.")
                return
        words = lib.remove_folder(folder, forget=forget)
    print_line(output(), words)


def _real(folder: str) -> str:
    return os.path.realpath(os.path.expanduser(folder))
