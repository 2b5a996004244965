"""``nearsong serve``: the library as a web page and an API."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import LibraryOption, open_library, output, print_line


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; all but 127.0.0.1 need a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 picks a free one.")] = 8337,
    token: Annotated[
        str | None,
        typer.Option(envvar="NEARSONG_TOKEN", help="Access token of 32 or more characters; safer in NEARSONG_TOKEN."),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name of the service, such as a proxy's; repeatable."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address or network of a proxy whose X-Forwarded headers count; default with --host-name: this "
            "computer. Repeatable.",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    upload_megabytes: Annotated[int, typer.Option(help="Largest upload, in MB.")] = 200,
    save_uploads: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Let users save uploads in this folder."),
    ] = None,
    allow_folder: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Let admins choose folders to scan within this one, on the page; default on this computer alone: "
            "the home folder and connected drives. Repeatable.",
        ),
    ] = None,
    plays: Annotated[
        bool, typer.Option("--plays/--no-plays", help="Record what is played as a listening history.")
    ] = True,
    automatic: Annotated[
        bool,
        typer.Option(
            "--automatic/--no-automatic",
            help="Scan new music and learn from new plays by itself, at night; see `nearsong automation`.",
        ),
    ] = True,
    plain_client: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A player that cannot read OpenSubsonic's additions, by the name it sends; default: Clementine. "
            "Repeatable.",
        ),
    ] = None,
    secure_cookie: Annotated[bool, typer.Option("--secure-cookie", help="Allow login over HTTPS only.")] = False,
    log: Annotated[bool, typer.Option("--log", help="Log every request.")] = False,
    library: LibraryOption = None,
) -> None:
    """Serve the library as a web page, an API and a server for music players.

    By default only this computer can reach it. Any other address needs listeners who log in (`nearsong listeners
    add`), or a token: `--token`, or better NEARSONG_TOKEN in the environment, which other users of this computer
    cannot see.

    For example:

        nearsong serve --open
        NEARSONG_TOKEN=$(openssl rand -hex 32) nearsong serve --host 0.0.0.0
    """
    from nearsong.web.settings import PLAIN_CLIENTS, TOKEN_VARIABLE, ServeSettings

    os.environ.pop(TOKEN_VARIABLE, None)  # so that child processes do not get it
    settings = ServeSettings(
        host=host,
        port=port,
        token=token,
        host_names=tuple(host_name or ()),
        upload_megabytes=upload_megabytes,
        save_uploads=save_uploads,
        plays=plays,
        automatic=automatic,
        secure_cookie=secure_cookie,
        verbose=log,
        trusted_proxies=tuple(trusted_proxy or ()),
        plain_clients=PLAIN_CLIENTS if plain_client is None else tuple(plain_client),
        has_accounts=True,  # to be seen in the library
        allowed_folders=tuple(allow_folder or ()),
    )
    from nearsong.web.server import serve as run  # loads what serves, after the options are checked

    console = output()
    with open_library(library, create=True) as lib:
        settings = replace(settings, has_accounts=bool(lib.accounts.list()))
        if lib.is_new:
            print_line(console, f"Created an empty library: {lib.name}")
        run(lib, settings, say=lambda text: print_line(console, text), browser=browser)
