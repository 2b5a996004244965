"""``nearsong experiment``: the paper's experiment on a data-set folder, and its report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nearsong.cli.common import notices, print_line
from nearsong.cli.progress import StageProgress, progress_bars
from nearsong.errors import InvalidInputError

experiment = typer.Typer(
    help="Run the paper's experiment on your data.", no_args_is_help=True, rich_markup_mode="markdown"
)

QUICK = {
    "codebooks": (256,),
    "taus": (1,),
    "losses": ("auc",),
    "Cs": tuple(10.0**p for p in range(0, 7)),
    "n_splits": 3,
}
"""Settings of --quick, where an option does not say otherwise."""


@experiment.command()
def run(
    dataset: Annotated[Path, typer.Argument(help="Folder with songs.csv, listens.csv and audio or vectors.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; an interrupted run continues.")],
    codebooks: Annotated[str | None, typer.Option(help="Codebook sizes, such as 256,512,1024,2048.")] = None,
    tau: Annotated[str | None, typer.Option(help="Codewords per frame, such as 1,2,4,8.")] = None,
    losses: Annotated[str | None, typer.Option(help="Losses: auc,ndcg,mrr.")] = None,
    C: Annotated[str | None, typer.Option("--C", help="Values of C: 1e-2:1e9 for decades, or a list.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits of the artists (default: 10).")] = None,
    min_listeners: Annotated[int, typer.Option(help="Minimum number of listeners per artist.")] = 100,
    min_plays: Annotated[float, typer.Option(help="Minimum plays to count as a listener.")] = 10,
    relevant: Annotated[int, typer.Option(help="Relevant artists per artist.")] = 10,
    methods: Annotated[
        str | None, typer.Option(help="Methods to compare (default: all; list: experiment methods).")
    ] = None,
    encoders: Annotated[
        str | None, typer.Option(help="Encoders, or names of .npy files of DATASET (default: those that pay).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small grid, three splits: minutes, not hours.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes (default: one per processor).")] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://host:8786.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed for splits, codebooks and samples.")] = 0,
) -> None:
    """Run the grid of splits, codebooks, losses and C, with all baselines.

    For example:

        nearsong experiment run DATA --out RUN --quick
        nearsong experiment run DATA --out RUN --jobs 8
    """
    from nearsong.experiment.run.grid import run_experiment
    from nearsong.experiment.run.settings import Settings

    options: dict[str, Any] = {
        "codebooks": _numbers(codebooks, "--codebooks", int),
        "taus": _numbers(tau, "--tau", int),
        "losses": _words(losses),
        "Cs": _decades(C),
        "n_splits": splits,
        "methods": _words(methods),
        "encoders": _words(encoders),
    }
    grid = {**(QUICK if quick else {}), **{name: value for name, value in options.items() if value is not None}}
    settings = Settings(**grid, min_listeners=min_listeners, min_plays=min_plays, n_relevant=relevant, seed=seed)
    console = notices()
    with progress_bars(console) as bars:
        run_experiment(
            dataset,
            out,
            settings,
            jobs=jobs,
            cluster=cluster,
            progress=StageProgress(bars),
            note=lambda text: print_line(console, f"note: {text}"),
        )
    print_line(console, f"Done. Write the report: nearsong experiment report {out}")


@experiment.command()
def methods() -> None:
    """List the methods that --methods accepts."""
    from nearsong.experiment.methods.registry import METHODS

    for name, method in METHODS.items():
        print(f"{name:<22} {method.label}")


@experiment.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write to (default: RUN/report).")] = None,
) -> None:
    """Write tables, figures and a page on the results of a run.

    For example: nearsong experiment report RUN
    """
    from nearsong.experiment.report.report import write_report

    print(write_report(run, out))


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str | None, name: str, kind: type[Any]) -> tuple[Any, ...] | None:
    words = _words(text)
    try:
        return None if words is None else tuple(kind(word) for word in words)
    except ValueError as error:
        raise InvalidInputError(f"{name} {text!r} is not a list of numbers; write 256,512.") from error


def _decades(text: str | None) -> tuple[float, ...] | None:
    """Read ``1e-2:1e9`` as all powers of ten between, or a list."""
    if text is None or ":" not in text:
        return _numbers(text, "--C", float)
    from math import log10

    try:
        low, high = (round(log10(float(end))) for end in text.split(":"))
    except ValueError as error:
        raise InvalidInputError(f"--C {text!r} is not a range; write 1e-2:1e9.") from error
    if low > high:
        raise InvalidInputError(f"--C {text!r} runs backwards; put the smaller end first.")
    return tuple(10.0**power for power in range(low, high + 1))
