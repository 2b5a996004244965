"""The command line: ``nearsong COMMAND``. One file a command; this one joins them."""

import sys
import traceback
from typing import Annotated

import typer
from rich.console import Console

from nearsong import __version__
from nearsong.cli.demo import demo
from nearsong.cli.experiment import experiment
from nearsong.errors import NearsongError

app = typer.Typer(
    name="nearsong",
    help="Learns what listeners find similar and hears it in sound.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
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
) -> None:
    """Learn what listeners find similar and hear it in sound."""


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2, Ctrl-C is 130."""
    try:
        app()
    except NearsongError as error:
        if "--verbose" in sys.argv:
            traceback.print_exc()
        Console(stderr=True, highlight=False).print(f"[bold red]nearsong:[/] {error}", soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        print("nearsong: interrupted", file=sys.stderr)
        sys.exit(130)
