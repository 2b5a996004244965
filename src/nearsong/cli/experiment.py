"""``nearsong experiment``: the paper's experiment on a data-set folder, and its report."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from nearsong.cli.progress import Stages, progress_bars
from nearsong.errors import InvalidInputError

experiment = typer.Typer(help="Run the paper's experiment on your data, and see what it shows.", no_args_is_help=True)

QUICK = {
    "codebooks": (256,),
    "taus": (1,),
    "losses": ("auc",),
    "Cs": tuple(10.0**p for p in range(0, 7)),
    "n_splits": 3,
}
"""What --quick sets unless it is given: a first look in minutes."""


@experiment.command()
def run(
    dataset: Annotated[Path, typer.Argument(help="Folder with songs.csv, listens.csv and sound or vectors.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; started again, it goes on where it was.")],
    codebooks: Annotated[str | None, typer.Option(help="Codebook sizes, such as 256,512,1024,2048.")] = None,
    tau: Annotated[str | None, typer.Option(help="Codewords a frame counts for, such as 1,2,4,8.")] = None,
    losses: Annotated[str | None, typer.Option(help="Losses to train with: auc,ndcg,mrr.")] = None,
    C: Annotated[str | None, typer.Option("--C", help="Values of C: 1e-2:1e9 for decades, or a list.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits of the artists (default: 10).")] = None,
    min_listeners: Annotated[int, typer.Option(help="Listeners that put an artist in the experiment set.")] = 100,
    min_plays: Annotated[float, typer.Option(help="Plays that make a listener.")] = 10,
    relevant: Annotated[int, typer.Option(help="Relevant artists of each artist.")] = 10,
    methods: Annotated[str | None, typer.Option(help="What to compare; all by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: small grid, three splits.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes (default: one a processor).")] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://host:8786.")] = None,
    seed: Annotated[int, typer.Option(help="Of splits, codebooks and samples.")] = 0,
) -> None:
    """Run the grid: splits, codebooks, losses, C, and every method it is compared with."""
    from nearsong.experiment.grid import run_experiment
    from nearsong.experiment.settings import Settings

    given: dict[str, Any] = {
        "codebooks": _numbers(codebooks, "--codebooks", int),
        "taus": _numbers(tau, "--tau", int),
        "losses": _words(losses),
        "Cs": _decades(C),
        "n_splits": splits,
        "methods": _words(methods),
    }
    chosen = {**(QUICK if quick else {}), **{name: value for name, value in given.items() if value is not None}}
    settings = Settings(**chosen, min_listeners=min_listeners, min_plays=min_plays, n_relevant=relevant, seed=seed)
    console = Console(stderr=True)
    with progress_bars(console) as bars:
        run_experiment(
            dataset,
            out,
            settings,
            jobs=jobs,
            cluster=cluster,
            progress=Stages(bars),
            note=lambda text: _note(console, text),
        )
    console.print(
        f"Done. See what it shows: [bold]nearsong experiment report {out}[/]", soft_wrap=True, highlight=False
    )


@experiment.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path | None, typer.Option(help="Where to write (default: RUN/report).")] = None,
) -> None:
    """Write tables, figures and a page that tells what a run found."""
    from nearsong.experiment.report import write_report

    page = write_report(run, out)
    print(page)


def _note(console: Console, text: str) -> None:
    console.print(f"note: {text}", soft_wrap=True, highlight=False, markup=False)


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str | None, name: str, kind: type[Any]) -> tuple[Any, ...] | None:
    words = _words(text)
    try:
        return None if words is None else tuple(kind(word) for word in words)
    except ValueError as error:
        raise InvalidInputError(f"{name} {text!r} is not a list of numbers such as 256,512.") from error


def _decades(text: str | None) -> tuple[float, ...] | None:
    """Read ``1e-2:1e9`` as all powers of ten between, or a list."""
    if text is None or ":" not in text:
        return _numbers(text, "--C", float)
    from math import log10

    try:
        low, high = (round(log10(float(end))) for end in text.split(":"))
    except ValueError as error:
        raise InvalidInputError(f"--C {text!r} is not a range such as 1e-2:1e9.") from error
    if low > high:
        raise InvalidInputError(f"--C {text!r} runs backwards; write the smaller end first.")
    return tuple(10.0**power for power in range(low, high + 1))
