"""The command line, ``nearsong COMMAND``: one file for each command, registered here."""

import io
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from nearsong import __version__
from nearsong.cli import common
from nearsong.cli.operation.config_file import CONFIG_VARIABLE
from nearsong.cli.operation.defaults import load_config
from nearsong.cli.start.command_group import Panels, group_of
from nearsong.errors import NearsongError, disk_words, is_disk_full

_PANELS: Panels = {
    "Library": {
        "scan": "scan:scan",
        "folders": "folders:folders",
        "encoders": "encoders:encoders",
        "listens": "listens.listens:listens",
        "listeners": "service.listeners:listeners",
        "sync": "sync:sync",
        "status": "status:status",
        "backup": "operation.backup:backup",
        "restore": "operation.backup:restore",
        "config": "operation.config:config",
    },
    "Music": {
        "similar": "similar:similar",
        "why": "why:why",
        "for": "for_you:for_",
        "radio": "for_you:radio",
        "find": "find:find",
        "playlist": "playlist:playlist",
        "map": "map:map_",
        "serve": "service.serve:serve",
    },
    "Models": {
        "train": "train:train",
        "evaluate": "train:evaluate",
        "models": "models:models",
        "export": "models:export",
        "import": "models:import_",
        "automation": "service.automation:automation",
    },
    "Demo and research": {"demo": "demo:demo", "experiment": "experiment:experiment"},
}
"""Panel of the help -> name -> module and name of the command, which is imported when it is used."""

app = typer.Typer(
    name="nearsong",
    cls=group_of(_PANELS),
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nearsong {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            envvar=CONFIG_VARIABLE,
            callback=load_config,
            is_eager=True,
            help="Options of all commands, in TOML; see `nearsong config`.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the traceback of an error.")] = False,
    library: common.LibraryOption = None,
) -> None:
    """Find similar music, learned from listeners.

    Getting started:

        nearsong scan ~/Music
        nearsong listens import lastfm.csv spotify/*.json playlists/
        nearsong train
        nearsong similar new-release.mp3
        nearsong playlist "Wynton Marsalis - Caravan" --length 25 --out evening.m3u8
        nearsong for me
        nearsong serve --open

    Exit codes: 0 success, 1 no usable audio file, 2 error, 130 interrupted.
    """
    common.choose_library(library)
    common.choose_verbose(verbose)


def main() -> None:
    """Run the command line; an error of the user is one line on stderr and exit code 2, Ctrl-C is 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names may hold bytes that are not UTF-8
            stream.reconfigure(errors="backslashreplace")
    verbose = "--verbose" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--verbose"]  # allowed anywhere
    try:
        app()
    except (NearsongError, OSError) as error:
        if isinstance(error, OSError) and not is_disk_full(error):
            raise  # not foreseen
        if verbose or common.is_verbose():
            traceback.print_exc()
        words = disk_words(error) if isinstance(error, OSError) else str(error)
        common.print_error(words)
        sys.exit(2)
    except KeyboardInterrupt:
        _print_interrupted()
        sys.exit(130)
    except SystemExit as end:
        if end.code == 130:  # click handles Ctrl-C itself, without a message
            _print_interrupted()
        raise


def _print_interrupted() -> None:
    print("nearsong: interrupted. Nothing is lost; run the same command again to continue.", file=sys.stderr)
