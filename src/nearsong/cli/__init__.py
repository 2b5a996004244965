"""The command line, ``nearsong COMMAND``: one file for each command, registered here."""

import io
import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nearsong import __version__
from nearsong.cli import common
from nearsong.cli.demo import demo
from nearsong.cli.encoders import encoders
from nearsong.cli.experiment import experiment
from nearsong.cli.find import find
from nearsong.cli.for_you import for_, radio
from nearsong.cli.listeners import listeners
from nearsong.cli.listens import listens
from nearsong.cli.map import map_
from nearsong.cli.models import export, import_, models
from nearsong.cli.playlist import playlist
from nearsong.cli.scan import scan
from nearsong.cli.service.automation import automation
from nearsong.cli.service.serve import serve
from nearsong.cli.similar import similar
from nearsong.cli.status import status
from nearsong.cli.train import evaluate, train
from nearsong.errors import NearsongError, disk_words, is_disk_full

app = typer.Typer(
    name="nearsong",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Library": {"scan": scan, "encoders": encoders, "listens": listens, "listeners": listeners, "status": status},
    "Music": {
        "similar": similar,
        "for": for_,
        "radio": radio,
        "find": find,
        "playlist": playlist,
        "map": map_,
        "serve": serve,
    },
    "Models": {
        "train": train,
        "evaluate": evaluate,
        "models": models,
        "export": export,
        "import": import_,
        "automation": automation,
    },
    "Demo and research": {"demo": demo, "experiment": experiment},
}
"""Panel of the help -> name -> command."""

for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(name=_name, rich_help_panel=_panel)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nearsong {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
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
        if verbose:
            traceback.print_exc()
        words = disk_words(error) if isinstance(error, OSError) else str(error)
        text = Text.assemble(("nearsong:", "bold red"), f" {common.printable(words)}")
        Console(stderr=True, highlight=False).print(text, soft_wrap=True)
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
