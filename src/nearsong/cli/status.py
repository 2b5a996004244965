"""``nearsong status``: what the library holds, what is missing, what to do next."""

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from nearsong.cli.common import LibraryOption, day, duration, many, opened, out, print_json, shown


def status(
    unreadable: Annotated[
        bool, typer.Option("--unreadable", help="List the files that could not be read, and why.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For another program.")] = False,
    library: LibraryOption = None,
) -> None:
    """Say what the library holds, what is missing, and what to do next.

    Files that could not be read are counted; with --unreadable they are listed.

    For example:

        nearsong status
        nearsong status --unreadable
    """
    with opened(library) as lib:
        found = lib.status()
        bad = lib.unreadable() if unreadable else []
    if as_json:
        print_json({**found.as_json(), **({"unreadable_files": bad} if unreadable else {})})
        return
    console = out()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("library", escape(shown(found.library)))
    table.add_row("folders", escape(shown(", ".join(found.folders))) or "none")
    songs = f"{many(found.songs, 'song')} by {many(found.artists, 'artist')}, {duration(found.seconds)}"
    table.add_row("songs", songs)
    trouble = [
        (found.missing, "gone"),
        (found.unreadable, "unreadable"),
        (found.damaged, "damaged but used"),
        (found.unheard, "not heard yet"),
    ]
    if any(n for n, _ in trouble):
        table.add_row("trouble", ", ".join(f"{n:,} {word}" for n, word in trouble if n))
    listens = f"{many(found.listens, 'row')} in {many(found.histories, 'history', 'histories')}"
    table.add_row("listens", listens if found.histories else "none")
    table.add_row("model", _model(found.model))
    console.print(table)
    for path, reason in bad:
        console.print(shown(f"{path}: {reason}"), soft_wrap=True, markup=False)
    for advice in found.next:
        console.print(f"Next: {advice}", soft_wrap=True, markup=False)


def _model(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    words = f"{facts['id']}, {facts['kind']}, {day(facts['created'])}"
    if "report" in facts:
        from nearsong.library.training import TrainingReport

        report = TrainingReport.from_json(facts["report"])
        learned, native = report.score("learned", "known"), report.score("native", "known")
        if learned is not None and native is not None:
            words += f"; held-out AUC {learned:.3f} (native {native:.3f})"
    return words
