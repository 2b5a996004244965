"""``nearsong status``: the content of the library, its problems, and the next step."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import (
    JsonOption,
    LibraryOption,
    cell,
    format_date,
    format_duration,
    output,
    print_json,
    print_line,
    read_library,
)
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import Status


def status(
    unreadable: Annotated[bool, typer.Option("--unreadable", help="List unreadable files and why.")] = False,
    set_aside: Annotated[bool, typer.Option("--set-aside", help="List files without music and why.")] = False,
    as_json: JsonOption = False,
    library: LibraryOption = None,
) -> None:
    """Show the content of the library and what to do next.

    Its files with problems are counted; each option lists one kind of them.

    For example:

        nearsong status
        nearsong status --unreadable
        nearsong status --set-aside
    """
    with read_library(library) as lib:
        current = lib.status()
        lists = {"unreadable_files": lib.unreadable()} if unreadable else {}
        lists |= {"set_aside_files": lib.set_aside()} if set_aside else {}
    if as_json:
        print_json({**current.as_json(), **lists})
        return
    console = output()
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(current):
        table.add_row(name, cell(value))
    console.print(table)
    for files in lists.values():
        for path, reason in files:
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
        ("folder" if len(status.folders) == 1 else "folders", ", ".join(status.folders) or "none"),
        ("songs", songs),
        ("excerpt", f"the middle {status.excerpt:g} seconds of each song" if status.excerpt else ""),
        ("problems", ", ".join(f"{n:,} {word}" for n, word in problems if n)),
        ("set aside", f"{count(status.set_aside, 'file')} without music" if status.set_aside else ""),
        ("listens", listens if status.histories else "none"),
        ("model", _model(status.model)),
    ]
    return [(name, value) for name, value in rows if value]


def _model(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    encoders = ", ".join(facts["encoders"])
    text = f"{facts['id']}, {facts['label']}, {format_date(facts['created'])}, from {encoders}"
    if "report" in facts:
        from nearsong.library import TrainingReport

        report = TrainingReport.from_json(facts["report"])
        learned, native = report.score("learned", "known"), report.score("native", "known")
        if learned is not None and native is not None:
            text += f"; held-out AUC {learned:.3f} (sound alone {native:.3f})"
    return text
