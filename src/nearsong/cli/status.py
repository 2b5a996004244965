"""``nearsong status``: the content of the library, its problems, and the next step."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from nearsong.cli.common import (
    JsonOption,
    LibraryOption,
    format_date,
    format_duration,
    open_library,
    output,
    print_json,
    print_line,
    printable,
)
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import Status


def status(
    unreadable: Annotated[bool, typer.Option("--unreadable", help="List unreadable files and why.")] = False,
    as_json: JsonOption = False,
    library: LibraryOption = None,
) -> None:
    """Show the content of the library and what to do next.

    For example:

        nearsong status
        nearsong status --unreadable
    """
    with open_library(library) as lib:
        current = lib.status()
        unreadable_files = lib.unreadable() if unreadable else []
    if as_json:
        print_json({**current.as_json(), **({"unreadable_files": unreadable_files} if unreadable else {})})
        return
    console = output()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(current):
        table.add_row(name, escape(printable(value)))
    console.print(table)
    for path, reason in unreadable_files:
        print_line(console, f"{path}: {reason}")
    for advice in current.next:
        print_line(console, f"Next: {advice}")


def _rows(status: "Status") -> list[tuple[str, str]]:
    """Return the lines of the table; problems only where there are some."""
    problems = [
        (status.missing, "missing"),
        (status.unreadable, "unreadable"),
        (status.damaged, "damaged, used in part"),
        (status.not_analysed, "not analysed yet"),
    ]
    listens = f"{count(status.listens, 'row')} in {count(status.histories, 'history', 'histories')}"
    songs = f"{count(status.songs, 'song')} by {count(status.artists, 'artist')}, {format_duration(status.seconds)}"
    rows = [
        ("library", status.library),
        ("folders", ", ".join(status.folders) or "none"),
        ("songs", songs),
        ("excerpt", f"the middle {status.excerpt:g} seconds of each song" if status.excerpt else ""),
        ("problems", ", ".join(f"{n:,} {word}" for n, word in problems if n)),
        ("listens", listens if status.histories else "none"),
        ("model", _model(status.model)),
    ]
    return [(name, value) for name, value in rows if value]


def _model(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    encoders = ", ".join(facts["encoders"])
    text = f"{facts['id']}, {facts['kind']}, {format_date(facts['created'])}, from {encoders}"
    if "report" in facts:
        from nearsong.library import TrainingReport

        report = TrainingReport.from_json(facts["report"])
        learned, native = report.score("learned", "known"), report.score("native", "known")
        if learned is not None and native is not None:
            text += f"; held-out AUC {learned:.3f} (sound alone {native:.3f})"
    return text
