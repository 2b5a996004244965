"""``nearsong models``, ``export`` and ``import``: what was learned, kept and exchanged."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from nearsong.cli.common import LibraryOption, day, many, opened, out, shown
from nearsong.cli.progress import showing

models = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@models.callback()
def _list(context: typer.Context, library: LibraryOption = None) -> None:
    """See, compare and choose among the models that were learned.

    Every training that was taken, every import and the native metric are kept until they are removed.

    For example:

        nearsong models
        nearsong models use 2
        nearsong models compare 1 2
    """
    if context.invoked_subcommand is None:
        _show(library)


def _show(library: str | None) -> None:
    with opened(library) as lib:
        rows, active = lib.models(), lib.active_model
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "id", "kind", "made", "AUC native", "AUC learned", "never-seen artists", "learned from"):
        table.add_column(name, justify="right" if name.startswith(("id", "AUC", "never")) else "left")
    for row in rows:
        table.add_row("*" if row.id == active else "", str(row.id), row.kind, day(row.created), *_scores(row.facts))
    console = out()
    console.print(table)
    console.print(
        "* answers. Scores are those of its training, on artists held out then; models trained on other songs or "
        "listens are not strictly comparable.",
        soft_wrap=True,
    )


def _scores(facts: dict[str, Any]) -> list[str]:
    from nearsong.library.training import TrainingReport

    if "report" not in facts:
        return ["", "", "", escape(shown(str(facts.get("file", ""))))]
    report = TrainingReport.from_json(facts["report"])
    return [
        _number(report.score("native", "known")),
        _number(report.score("learned", "known")),
        _number(report.score("learned", "unknown")),
        report.learned_from,
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


@models.command()
def use(model: Annotated[int, typer.Argument(help="Its id.")], library: LibraryOption = None) -> None:
    """Let another model answer: back to an older one, say.

    For example: nearsong models use 1
    """
    with opened(library) as lib, showing("songs") as show:
        unheard = lib.use_model(model, show)
    if unheard:
        out().print(
            f"{many(unheard, 'song')} of the library have not been heard with its codebook: run `nearsong scan`, and "
            f"model {model} will answer.",
            soft_wrap=True,
        )
    else:
        out().print(f"Model {model} answers from now on.")


@models.command()
def compare(
    first: Annotated[int, typer.Argument(help="Id of a model.")],
    second: Annotated[int, typer.Argument(help="Id of another.")],
    library: LibraryOption = None,
) -> None:
    """Say how much two models agree about what is near.

    For example: nearsong models compare 1 2
    """
    with opened(library) as lib:
        share = lib.compare_models(first, second)
    out().print(
        f"Of the 10 songs nearest to a song, models {first} and {second} have {10 * share:.1f} in common on average.",
        soft_wrap=True,
    )


@models.command()
def remove(model: Annotated[int, typer.Argument(help="Its id.")], library: LibraryOption = None) -> None:
    """Forget a model that is not in use.

    For example: nearsong models remove 1
    """
    with opened(library) as lib:
        lib.remove_model(model)
    out().print(f"Model {model} is forgotten.")


def export(
    path: Annotated[Path, typer.Argument(help="File to write, such as model.npz.")],
    model: Annotated[int | None, typer.Option(help="Another model than the one that answers.")] = None,
    library: LibraryOption = None,
) -> None:
    """Write a model to a file: for another library, or for `nearsong.SimilarityModel.load`.

    For example: nearsong export model.npz
    """
    with opened(library) as lib:
        lib.export_model(path, model)
    out().print(f"Written: {path}", markup=False)


def import_(
    path: Annotated[Path, typer.Argument(help="A model file.")],
    library: LibraryOption = None,
) -> None:
    """Take a model that was learned elsewhere.

    If it hears with another codebook, `nearsong scan` hears all songs again, and then it answers; until then the old
    model does.

    For example: nearsong import model.npz
    """
    with opened(library, create=True) as lib, showing("songs") as show:
        model, answers = lib.import_model(path, show)
    console = out()
    if answers:
        console.print(f"Model {model} answers from now on.")
    else:
        console.print(
            f"Model {model} is kept. It hears with another codebook: run `nearsong scan`, and it will answer.",
            soft_wrap=True,
        )
