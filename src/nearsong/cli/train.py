"""``nearsong train`` and ``nearsong evaluate``: learn from listeners, and say how good it is."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from nearsong.cli.common import LibraryOption, opened, out, print_json
from nearsong.cli.progress import showing
from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from nearsong.library.training import TrainingReport

Unit = Annotated[str, typer.Option(help="What listeners choose: artist, song, or auto.")]
Listeners = Annotated[str, typer.Option(help="Who counts as a listener: users, sessions, playlists, or auto.")]
MinPlays = Annotated[float | None, typer.Option(help="Plays that make a listener (default: by the data).")]
MinListeners = Annotated[int | None, typer.Option(help="Listeners an artist needs (default: by the data).")]
Gap = Annotated[float, typer.Option(help="Minutes of silence that end a session.")]
Losses = Annotated[str | None, typer.Option(help="Losses to try: auc,ndcg,mrr.")]
Splits = Annotated[int | None, typer.Option(help="Times that artists are held out (default: by the data).")]
Seed = Annotated[int, typer.Option(help="Of the splits.")]
AsJson = Annotated[bool, typer.Option("--json", help="The report for another program.")]


def train(
    unit: Unit = "auto",
    listeners: Listeners = "auto",
    min_plays: MinPlays = None,
    min_listeners: MinListeners = None,
    gap_minutes: Gap = 30.0,
    losses: Losses = None,
    splits: Splits = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    library: LibraryOption = None,
) -> None:
    """Learn from the listens what sounds similar, and say how good it is on artists it was not shown.

    C and loss are chosen on validation artists, judged on others, and then all artists are learned from. A metric
    that is no better than none is not taken.

    For example:

        nearsong train
        nearsong train --listeners sessions --unit song
    """
    _run("train", unit, listeners, min_plays, min_listeners, gap_minutes, losses, splits, seed, as_json, library)


def evaluate(
    unit: Unit = "auto",
    listeners: Listeners = "auto",
    min_plays: MinPlays = None,
    min_listeners: MinListeners = None,
    gap_minutes: Gap = 30.0,
    splits: Splits = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    library: LibraryOption = None,
) -> None:
    """Measure again on held-out artists, with the songs and listens there are now; changes nothing.

    For example: nearsong evaluate
    """
    _run("evaluate", unit, listeners, min_plays, min_listeners, gap_minutes, None, splits, seed, as_json, library)


def _run(
    what: str,
    unit: str,
    listeners: str,
    min_plays: float | None,
    min_listeners: int | None,
    gap_minutes: float,
    losses: str | None,
    splits: int | None,
    seed: int,
    as_json: bool,
    library: str | None,
) -> None:
    from nearsong.library import ListenerChoice, TrainingSettings

    settings = TrainingSettings(unit=unit, min_listeners=min_listeners, n_splits=splits, seed=seed)
    if losses is not None:
        from dataclasses import replace

        chosen = tuple(word.strip() for word in losses.split(",") if word.strip())
        if not chosen:
            raise InvalidInputError(f"--losses {losses!r} names none; give some of auc,ndcg,mrr.")
        settings = replace(settings, losses=chosen)
    choice = ListenerChoice(listeners, min_plays, gap_minutes)
    with opened(library) as lib, showing() as show:
        report = getattr(lib, what)(settings, choice, progress=show)
        active = lib.active_model
        answers = [f"Model {row.id} ({row.kind}) answers." for row in lib.models() if row.id == active]
    if as_json:
        print_json(report.as_json())
    else:
        show_report(report, out())
        out().print(*answers)


def show_report(report: "TrainingReport", console: Console) -> None:
    """Print a report: what was found in words, and the table."""
    from nearsong.library.training_words import sentences, table_rows

    header, *rows = table_rows(report)
    if rows:
        table = Table(title="On artists held out from learning", title_justify="left", box=None, pad_edge=False)
        for column, name in enumerate(header):
            table.add_column(name, justify="right" if column else "left")
        for row in rows:
            style = "bold" if row[0].startswith("learned") else None
            table.add_row(*row, style=style)
        console.print(table)
    for sentence in sentences(report):
        console.print(sentence, soft_wrap=True, markup=False)
