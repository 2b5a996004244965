"""``nearsong train`` and ``nearsong evaluate``: learn from listeners, and measure the result."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import (
    LibraryOption,
    check_library,
    open_library,
    output,
    plain_table,
    print_json,
    print_line,
)
from nearsong.cli.progress import show_progress
from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.library import Library, ListenerChoice, TrainingReport, TrainingSettings

Encoders = Annotated[
    str | None, typer.Option(help="Song encoders to learn with, separated by commas (default: all of the library's).")
]
Methods = Annotated[
    str | None,
    typer.Option(
        help="Methods to try: paper,mlr,listener_space,combined (default: all). `listener_space` alone takes seconds."
    ),
]
Unit = Annotated[str, typer.Option(help="Unit to learn from: artist, song, or auto.")]
Listeners = Annotated[str, typer.Option(help="What counts as a listener: users, sessions, playlists, or auto.")]
MinPlays = Annotated[float | None, typer.Option(help="Minimum plays to count as a listener (default: automatic).")]
MinListeners = Annotated[int | None, typer.Option(help="Minimum listeners per artist (default: automatic).")]
Gap = Annotated[float, typer.Option(help="Minutes without a play that end a session.")]
Losses = Annotated[str | None, typer.Option(help="Losses of MLR to try: auc,ndcg,mrr.")]
Splits = Annotated[int | None, typer.Option(help="Splits of held-out artists (default: automatic).")]
Seed = Annotated[int, typer.Option(help="Random seed for the splits.")]
Cluster = Annotated[
    str | None, typer.Option(help="Learn in the splits on the workers of a Dask scheduler, tcp://host:8786.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def train(
    unit: Unit = "auto",
    listeners: Listeners = "auto",
    min_plays: MinPlays = None,
    min_listeners: MinListeners = None,
    gap_minutes: Gap = 30.0,
    methods: Methods = None,
    losses: Losses = None,
    splits: Splits = None,
    encoders: Encoders = None,
    seed: Seed = 0,
    anyway: Annotated[bool, typer.Option("--anyway", help="Train even if nothing has changed.")] = False,
    cluster: Cluster = None,
    as_json: AsJson = False,
    library: LibraryOption = None,
) -> None:
    """Learn from your listening histories.

    Several methods are tried. Methods and their parameters are chosen on validation artists and scored on held-out
    ones; the best then learns from all artists. It becomes active only if it is better than sound alone and than the
    model in use. If nothing has changed since the last training, nothing is done.

    For example:

        nearsong train
        nearsong train --methods listener_space
        nearsong train --listeners sessions --unit song
        nearsong --library postgresql://... train --cluster tcp://host:8786
    """
    check_library(library)
    settings = _settings(unit, min_listeners, splits, seed, encoders)
    if losses is not None:
        settings = replace(settings, losses=_names(losses, "losses"))
    if methods is not None:
        settings = replace(settings, methods=_names(methods, "methods"))
    from nearsong.library import Library  # loads what learns, after the options are checked

    learn = partial(Library.train, even_if_unchanged=anyway, cluster=cluster)
    _run(learn, settings, _listener_choice(listeners, min_plays, gap_minutes), as_json, library)


def evaluate(
    unit: Unit = "auto",
    listeners: Listeners = "auto",
    min_plays: MinPlays = None,
    min_listeners: MinListeners = None,
    gap_minutes: Gap = 30.0,
    splits: Splits = None,
    encoders: Encoders = None,
    seed: Seed = 0,
    cluster: Cluster = None,
    as_json: AsJson = False,
    library: LibraryOption = None,
) -> None:
    """Measure the quality on held-out artists; changes nothing.

    Uses the current songs and listens.

    For example: nearsong evaluate
    """
    check_library(library)
    settings = _settings(unit, min_listeners, splits, seed, encoders)
    from nearsong.library import Library

    measure = partial(Library.evaluate, cluster=cluster)
    _run(measure, settings, _listener_choice(listeners, min_plays, gap_minutes), as_json, library)


def _settings(
    unit: str, min_listeners: int | None, splits: int | None, seed: int, encoders: str | None
) -> "TrainingSettings":
    from nearsong.library import TrainingSettings

    return TrainingSettings(
        encoders=None if encoders is None else _names(encoders, "encoders"),
        unit=unit,
        min_listeners=min_listeners,
        n_splits=splits,
        seed=seed,
    )


def _names(words: str, option: str) -> tuple[str, ...]:
    """Return the names in the value of an option."""
    names = tuple(word.strip() for word in words.split(",") if word.strip())
    if not names:
        raise InvalidInputError(f"--{option} {words!r} is empty; give names separated by commas.")
    return names


def _listener_choice(listeners: str, min_plays: float | None, gap_minutes: float) -> "ListenerChoice":
    from nearsong.library import ListenerChoice

    return ListenerChoice(listeners, min_plays, gap_minutes)


def _run(
    method: Any, settings: "TrainingSettings", choice: "ListenerChoice", as_json: bool, library: str | None
) -> None:
    """Call ``Library.train`` or ``Library.evaluate`` and print its report."""
    with open_library(library) as lib, show_progress() as progress:
        report = method(lib, settings, choice, progress=progress)
        active = active_model(lib)
    if as_json:
        print_json(report.as_json())
        return
    console = output()
    print_report(report, console)
    print_line(console, active)


def active_model(library: "Library") -> str:
    """Return a line that names the active model; empty if there is none."""
    rows = (row for row in library.models() if row.id == library.active_model)
    return next((f"Active model: {row.id} ({row.kind})." for row in rows), "")


def print_report(report: "TrainingReport", console: "Console") -> None:
    """Print the verdict, the table of scores and the report in words."""
    from nearsong.library import sentences, table_rows

    lines = sentences(report)
    if report.decision != "none":
        print_line(console, lines.pop(0))
    if report.reason == "same_data":
        print_line(console, "To train anyway: nearsong train --anyway")
    header, *rows = table_rows(report)
    if rows:
        table = plain_table(*header, right=header[1:], uncut=header[:1])
        table.title, table.title_justify = "On held-out artists", "left"
        for row in rows:
            table.add_row(*row, style="bold" if row[0].startswith("Learned") else None)
        console.print(table)
    for line in lines:
        print_line(console, line)
