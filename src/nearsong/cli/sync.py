"""``nearsong sync``: songs and listens from the music server people already have, playlists back to it."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import LibraryOption, open_library, output, print_line
from nearsong.errors import InvalidInputError
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import SyncReport

PASSWORD_VARIABLE = "NEARSONG_SUBSONIC_PASSWORD"
KEY_VARIABLE = "NEARSONG_SUBSONIC_API_KEY"
MAX_PASSWORD_BYTES = 4_096

sync = typer.Typer(
    help="Work beside a music server: read its songs and plays, write playlists back.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@sync.callback()
def _sync() -> None:
    """Work beside a music server: read its songs and plays, write playlists back."""


@sync.command()
def subsonic(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server, such as https://music.example.")],
    name: Annotated[str | None, typer.Option("--name", help="User name on the server.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="The listener (default: the user name).")] = None,
    folder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder that the server reads too; scanned first. SERVER_FOLDER=FOLDER if its path differs there.",
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Fetch songs that the library lacks, analyse each, and keep no file.")
    ] = False,
    listens: Annotated[bool, typer.Option(help="Read plays, stars and ratings.")] = True,
    playlists: Annotated[bool, typer.Option(help="Write the saved playlists.")] = True,
    for_you: Annotated[int, typer.Option(min=0, max=250, help="Songs of the playlist For you; 0: none.")] = 50,
    password_file: Annotated[Path | None, typer.Option(help="File with the password in its first line.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that decode (default: one per processor).")] = None,
    nice: Annotated[int, typer.Option(min=0, max=19, help="Run at a lower priority: 0 to 19.")] = 0,
    retry: Annotated[bool, typer.Option("--retry", help="Try songs again that could not be read.")] = False,
    library: LibraryOption = None,
) -> None:
    """Work beside Navidrome, gonic, Ampache, Supysonic or any other Subsonic server.

    Songs that the library has are recognised by path, MBID, or artist and title. The password is asked for, or read
    from --password-file or the environment variable NEARSONG_SUBSONIC_PASSWORD; an API key from
    NEARSONG_SUBSONIC_API_KEY. On the server, only playlists that nearsong made are changed. You can interrupt a sync
    at any time; the next one continues.

    For example:

        nearsong sync subsonic https://music.example --name anna --folder ~/Music
        nearsong sync subsonic https://music.example --name anna --folder /music=/mnt/nas/music
        nearsong sync subsonic https://music.example --name anna --stream --nice 10
    """
    from nearsong.cli.progress import show_progress
    from nearsong.library import SharedFolder, StreamOptions

    password = _password(password_file)
    shared = [SharedFolder.of(text) for text in folder or []]
    with open_library(library, create=True) as lib, show_progress("songs") as progress:
        if shared:
            folders = [one.folder for one in shared]
            lib.scan(*folders, workers=workers, nice=nice, retry=retry, progress=progress, note=progress.note)
        report = lib.sync_subsonic(
            url,
            name,
            password=password,
            listener=user,
            shared=shared,
            stream=stream,
            listens=listens,
            playlists=playlists,
            for_you=for_you,
            streaming=StreamOptions(workers=workers, nice=nice, retry=retry),
            progress=progress,
            note=progress.note,
        )
    _print_report(report, stream)


@sync.command()
def navidrome(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as nearsong.ndp.")],
) -> None:
    """Write the plugin by which Navidrome answers with nearsong's similar songs.

    Copy it to Navidrome's folder of plugins, enable it on Navidrome's page, and give it the address and the token of
    `nearsong serve`. Needs Navidrome 0.62 or newer.

    For example: nearsong sync navidrome nearsong.ndp
    """
    from nearsong.library import write_plugin

    write_plugin(file)
    print_line(output(), f"Written: {file}")


def _password(file: Path | None) -> str | None:
    """Return the password from a file or the terminal; None if it is in the environment, or nobody can be asked."""
    if file is not None:
        try:
            with open(file, encoding="utf-8") as opened:
                password = opened.readline(MAX_PASSWORD_BYTES).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise InvalidInputError(f"{file} cannot be read ({reason}); name a file with the password.") from None
        if not password:
            raise InvalidInputError(f"{file} has no password in its first line; write it there.")
        return password
    if os.environ.get(PASSWORD_VARIABLE) or os.environ.get(KEY_VARIABLE) or not sys.stdin.isatty():
        return None
    import getpass

    return getpass.getpass("Password on the server: ") or None


def _print_report(report: "SyncReport", stream: bool) -> None:
    console, streamed = output(), report.streamed
    words = f"{report.host}: {count(report.songs, 'song')}, {report.matched:,} of them in the library"
    print_line(console, f"{words}, {streamed.analysed:,} newly streamed." if stream else f"{words}.")
    lacking = report.songs - report.matched
    if lacking and not stream:
        songs = count(lacking, "song is", "songs are")
        print_line(console, f"{songs} not in the library: --stream fetches and analyses them, --folder finds files.")
    for n, problem in (
        (streamed.unreadable, "could not be read; see `nearsong status --unreadable`"),
        (streamed.set_aside, "without music set aside; see `nearsong status --set-aside`"),
        (streamed.refused, "not given by the server"),
        (streamed.missing, "no longer on the server, hidden until they are back"),
    ):
        if n:
            print_line(console, f"{count(n, 'song')} {problem}.")
    if report.listens is not None:
        pulled = report.listens
        print_line(
            console,
            f"Listens of {pulled.listener}: {count(pulled.new_rows, 'new row')}, {count(pulled.rows, 'row')} in all.",
        )
    made = report.playlists
    print_line(
        console,
        f"Playlists on the server: {made.written:,} written, {made.removed:,} removed, {made.unchanged:,} unchanged.",
    )
    if report.left_out:
        songs = count(report.left_out, "song")
        print_line(console, f"{songs} of playlists are not on the server and were left out there.")
