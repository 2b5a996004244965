"""The command line: ``nearsong COMMAND``. One file a command; this one joins them."""

import io
import sys
import traceback
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nearsong import __version__
from nearsong.cli import common
from nearsong.cli.demo import demo
from nearsong.cli.experiment import experiment
from nearsong.cli.listens import listens
from nearsong.cli.map import map_
from nearsong.cli.models import export, import_, models
from nearsong.cli.playlist import playlist
from nearsong.cli.scan import scan
from nearsong.cli.serve import serve
from nearsong.cli.similar import similar
from nearsong.cli.status import status
from nearsong.cli.train import evaluate, train
from nearsong.errors import NearsongError

app = typer.Typer(
    name="nearsong",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(scan)
app.add_typer(listens, name="listens")
app.command()(train)
app.command()(similar)
app.command()(playlist)
app.command(name="map")(map_)
app.command()(serve)
app.command()(status)
app.command()(evaluate)
app.add_typer(models, name="models")
app.command()(export)
app.command(name="import")(import_)
app.command()(demo)
app.add_typer(experiment, name="experiment")


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
    """Learn what listeners find similar and hear it in sound.

    A first evening:

        nearsong scan ~/Music
        nearsong listens import lastfm.csv spotify/*.json playlists/
        nearsong train
        nearsong similar new-release.mp3
        nearsong playlist "Wynton Marsalis - Caravan" --length 25 --out evening.m3u8
        nearsong map --out map.html

    Exit codes: 0 done, 1 nothing could be used, 2 a mistake or an error (one line says which), 130 interrupted.
    """
    common.choose_library(library)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2, Ctrl-C is 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a file's name need not be text; it is shown as well as can be
            stream.reconfigure(errors="backslashreplace")
    verbose = "--verbose" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--verbose"]  # wherever it stands
    try:
        app()
    except NearsongError as error:
        if verbose:
            traceback.print_exc()
        text = Text.assemble(("nearsong:", "bold red"), f" {common.shown(str(error))}")
        Console(stderr=True, highlight=False).print(text, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        _say_interrupted()
        sys.exit(130)
    except SystemExit as end:
        if end.code == 130:  # the toolkit has seen Ctrl-C before us, and says nothing
            _say_interrupted()
        raise


def _say_interrupted() -> None:
    print("nearsong: interrupted; nothing is lost: run the same command again.", file=sys.stderr)
