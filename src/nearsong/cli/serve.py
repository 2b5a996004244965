"""``nearsong serve``: the library as a page in the browser, and as an API."""

import os
from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, opened, out, shown


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; one that others can reach needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.")] = 8337,
    token: Annotated[
        str | None, typer.Option(help="What callers must know, 12 or more characters; better in NEARSONG_TOKEN.")
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name it is called by, behind a proxy say."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    upload_megabytes: Annotated[int, typer.Option(help="Largest file that may be dropped on the page.")] = 200,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where files that are dropped may be kept; else none are."),
    ] = None,
    plays: Annotated[
        bool, typer.Option("--plays/--no-plays", help="Keep what is played here, and learn from it at a training.")
    ] = True,
    secure_cookie: Annotated[bool, typer.Option("--secure-cookie", help="Log in over HTTPS alone.")] = False,
    log: Annotated[bool, typer.Option("--log", help="Print a line for each request.")] = False,
    library: LibraryOption = None,
) -> None:
    """Open the library as a page in the browser, and as an API for players and programs.

    It listens on this machine only. On any other address it demands a token: `--token`, or NEARSONG_TOKEN in the
    environment, which others on this machine cannot see.

    For example:

        nearsong serve --open
        NEARSONG_TOKEN=$(openssl rand -hex 16) nearsong serve --host 0.0.0.0
    """
    from nearsong.web.server import serve as run
    from nearsong.web.settings import TOKEN_VARIABLE, ServeSettings

    known = os.environ.pop(TOKEN_VARIABLE, None) or None  # what is started from here has no use for it
    settings = ServeSettings(
        host=host,
        port=port,
        token=token if token is not None else known,
        host_names=tuple(host_name or ()),
        upload_megabytes=upload_megabytes,
        keep=keep,
        plays=plays,
        secure_cookie=secure_cookie,
        verbose=log,
    )
    console = out()
    with opened(library, create=True) as lib:

        def say(text: str) -> None:
            console.print(text, markup=False, soft_wrap=True)

        if lib.is_new:
            say(f"a new, empty library was made at {shown(lib.name)}")
        run(lib, settings, say=say, browser=browser)
