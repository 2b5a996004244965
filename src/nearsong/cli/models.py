"""``nearsong models``, ``export`` and ``import``: list, compare, activate and exchange models."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nearsong.cli.common import (
    LibraryOption,
    cell,
    confirmed,
    format_date,
    open_library,
    output,
    plain_table,
    print_line,
    read_library,
)
from nearsong.cli.progress import show_progress
from nearsong.names import count

ModelId = Annotated[int, typer.Argument(help="Id from `nearsong models`.")]

models = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@models.callback()
def _list(context: typer.Context, library: LibraryOption = None) -> None:
    """List, compare and activate models.

    Every model that was trained or imported is stored until you remove it.

    For example:

        nearsong models
        nearsong models use 2
        nearsong models compare 1 2
    """
    if context.invoked_subcommand is None:
        _print_models(library)


def _print_models(library: str | None) -> None:
    with read_library(library) as lib:
        rows, active = lib.models(), lib.active_model
    if not rows:
        print_line(output(), "No models yet. Scan a folder of music: nearsong scan FOLDER")
        return
    scores = ("AUC native", "AUC learned", "unseen artists")
    table = plain_table("", "id", "kind", "encoders", "created", *scores, "learned from", right=("id", *scores))
    table.columns[4].min_width = len("2026-01-31")  # on a narrow terminal a date is not split
    for row in rows:
        mark = "*" if row.id == active else ""
        table.add_row(
            mark, str(row.id), row.label, ", ".join(row.encoders), format_date(row.created), *_scores(row.facts)
        )
    console = output()
    console.print(table)
    print_line(
        console,
        "* active. Scores are for held-out artists, measured when the model was trained; compare only models trained "
        "on the same songs and listens.",
    )


def _scores(facts: dict[str, Any]) -> list[str]:
    from nearsong.library import TrainingReport

    if "report" not in facts:
        return ["", "", "", cell(str(facts.get("file", "")))]
    report = TrainingReport.from_json(facts["report"])
    scores = [report.score("native", "known"), report.score("learned", "known"), report.score("learned", "unknown")]
    return [*("" if score is None else f"{score:.3f}" for score in scores), report.learned_from]


@models.command()
def use(model: ModelId, library: LibraryOption = None) -> None:
    """Make a model active, such as an earlier one.

    For example: nearsong models use 1
    """
    with read_library(library) as reader:
        reader.check_models(model)
    with open_library(library) as lib, show_progress("songs") as progress:
        not_analysed = lib.use_model(model, progress)
    if not_analysed:
        songs = count(not_analysed, "song needs", "songs need")
        print_line(output(), f"Model {model} is pending: {songs} to be analysed for it. Run `nearsong scan`.")
    else:
        print_line(output(), f"Model {model} is active.")


@models.command()
def compare(first: ModelId, second: ModelId, library: LibraryOption = None) -> None:
    """Compare the scores of two models, and how many nearest songs they share.

    For example: nearsong models compare 1 2
    """
    with read_library(library) as reader:
        reader.check_models(*(model for model in (first, second) if model > 0))  # of others it is said what they are
    from nearsong.library import comparison_sentences

    with open_library(library) as lib:
        share = lib.compare_models(first, second)
        rows = {row.id: row for row in lib.models()}
    for sentence in comparison_sentences([rows[first], rows[second]], share):
        print_line(output(), sentence)


@models.command()
def remove(
    model: ModelId,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it without asking.")] = False,
    library: LibraryOption = None,
) -> None:
    """Remove a model that is not active, after asking.

    For example: nearsong models remove 1
    """
    with read_library(library) as reader:
        reader.check_models(model)
    with open_library(library) as lib:
        row = next((row for row in lib.models() if row.id == model and model != lib.active_model), None)
        if row is not None and not yes:  # of any other model, the library says why it cannot be removed
            described = f"model {model} ({row.label}, {format_date(row.created)})"
            if not confirmed(f"Remove {described}? This cannot be undone.", f"nearsong models remove {model} --yes"):
                print_line(output(), f"Model {model} was not removed.")
                return
        lib.remove_model(model)
    print_line(output(), f"Model {model} removed.")


def export(
    path: Annotated[Path, typer.Argument(help="File to write, such as model.npz.")],
    model: Annotated[int | None, typer.Option(help="Id of a model (default: the active one).")] = None,
    library: LibraryOption = None,
) -> None:
    """Write a model to a file, for another library or `nearsong.SimilarityModel.load`.

    For example: nearsong export model.npz
    """
    if model is not None:
        with read_library(library) as reader:
            reader.check_models(model)
    with open_library(library) as lib:
        lib.export_model(path, model)
    print_line(output(), f"Written: {path}")


def import_(
    path: Annotated[Path, typer.Argument(help="Model file.")],
    library: LibraryOption = None,
) -> None:
    """Import a model file.

    If it needs other encoders than the library has, the model becomes active after the next `nearsong scan`; until
    then the current model stays active.

    For example: nearsong import model.npz
    """
    with open_library(library, create=True) as lib, show_progress("songs") as progress:
        model, is_active = lib.import_model(path, progress)
    if is_active:
        print_line(output(), f"Model {model} is active.")
    else:
        print_line(output(), f"Model {model} is pending: all songs need to be analysed for it. Run `nearsong scan`.")
