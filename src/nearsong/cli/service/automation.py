"""``nearsong automation``: what the service does by itself."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import (
    JsonOption,
    LibraryOption,
    format_date,
    open_library,
    output,
    plain_table,
    print_json,
    print_line,
)
from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from nearsong.library import AutomationReport, AutomationSettings

automation = typer.Typer(
    help="See and change what `nearsong serve` does by itself: scan, pull listens, train.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
)


@automation.callback()
def _show(context: typer.Context, as_json: JsonOption = False, library: LibraryOption = None) -> None:
    """Show what the service does by itself.

    Without a command: what it did last and what is next.
    """
    if context.invoked_subcommand is None:
        _print(library, as_json)


@automation.command()
def on(library: LibraryOption = None) -> None:
    """Let the service scan, pull and train by itself."""
    _change(library, is_on=True)


@automation.command()
def off(library: LibraryOption = None) -> None:
    """Let the service do nothing by itself."""
    _change(library, is_on=False)


@automation.command(name="set")
def set_(
    watch: Annotated[
        bool | None, typer.Option("--watch/--no-watch", help="Scan new files in the folders soon.")
    ] = None,
    scan_hours: Annotated[float | None, typer.Option(help="Hours between scans; 0 for never.")] = None,
    pull_hours: Annotated[float | None, typer.Option(help="Hours between pulls; 0 for never.")] = None,
    train_hours: Annotated[
        float | None, typer.Option(help="Least hours between trainings; 0 for no training.")
    ] = None,
    new_listens: Annotated[int | None, typer.Option(help="New listens that call for a training.")] = None,
    new_songs: Annotated[int | None, typer.Option(help="New songs that call for a training.")] = None,
    quiet: Annotated[
        str | None,
        typer.Option(
            metavar="FROM-TO", help="When trainings and scans may run: 02:00-06:00, or 00:00-00:00 for any."
        ),
    ] = None,
    library: LibraryOption = None,
) -> None:
    """Change when the service does something by itself.

    For example: nearsong automation set --quiet 01:00-07:00 --new-listens 500
    """
    changes: dict[str, Any] = {
        "watch": watch,
        "scan_hours": scan_hours,
        "pull_hours": pull_hours,
        "train_hours": train_hours,
        "new_listens": new_listens,
        "new_songs": new_songs,
    }
    if quiet is not None:
        begin, separator, end = quiet.partition("-")
        if not separator:
            raise InvalidInputError(f"--quiet {quiet}: give two local times, such as 02:00-06:00.")
        changes |= {"quiet_from": begin.strip(), "quiet_to": end.strip()}
    _change(library, **{name: value for name, value in changes.items() if value is not None})


@automation.command(name="add-pull")
def add_pull(
    service: Annotated[str, typer.Argument(help="listenbrainz, lastfm or subsonic.")],
    name: Annotated[str, typer.Argument(metavar="USER", help="User name on the service.")],
    url: Annotated[str, typer.Option("--url", help="Another server with the same API; needed for subsonic.")] = "",
    user: Annotated[str, typer.Option("--user", help="The listener, if the name is another.")] = "",
    library: LibraryOption = None,
) -> None:
    """Let the service pull listens of a user by itself.

    Keys and passwords are environment variables of the service, as for `nearsong listens pull`.

    For example: nearsong automation add-pull listenbrainz anna
    """
    from nearsong.library import PullSource

    with open_library(library) as lib:
        pulls = lib.automation.settings().pulls
        wanted = PullSource(service=service, name=name, url=url, user=user)
        lib.automation.change(pulls=tuple(dict.fromkeys([*pulls, wanted])))
    _print(library, as_json=False)


@automation.command(name="remove-pull")
def remove_pull(
    number: Annotated[int, typer.Argument(min=1, help="As `nearsong automation` numbers them.")],
    library: LibraryOption = None,
) -> None:
    """Let the service no longer pull from a user of a service."""
    with open_library(library) as lib:
        pulls = lib.automation.settings().pulls
        if number > len(pulls):
            raise InvalidInputError(f"there is no pull {number}; `nearsong automation` lists {len(pulls)}.")
        lib.automation.change(pulls=tuple(pull for i, pull in enumerate(pulls, start=1) if i != number))
    _print(library, as_json=False)


def _change(library: str | None, **changes: Any) -> None:
    with open_library(library) as lib:
        lib.automation.change(**changes)
    _print(library, as_json=False)


def _print(library: str | None, as_json: bool) -> None:
    with open_library(library) as lib:
        report = lib.automation.report()
    if as_json:
        print_json(report.as_json())
        return
    console = output()
    print_line(console, report.sentence)
    for line in _settings_lines(report.settings):
        print_line(console, line)
    if report.state.runs:
        console.print(_runs(report))


def _settings_lines(settings: "AutomationSettings") -> list[str]:
    if not settings.is_on:
        return ["To switch it on: nearsong automation on"]
    quiet = "at any time"
    if settings.quiet_from != settings.quiet_to:
        quiet = f"between {settings.quiet_from} and {settings.quiet_to}"
    lines = ["New files are scanned soon."] if settings.watch else []
    if settings.scan_hours:
        lines.append(f"Scans all folders every {settings.scan_hours:g} hours, {quiet}.")
    if settings.train_hours:
        lines.append(
            f"Trains after {settings.new_listens:,} new listens or {settings.new_songs:,} new songs, at most every "
            f"{settings.train_hours:g} hours, {quiet}."
        )
    for number, pull in enumerate(settings.pulls, start=1):
        lines.append(f"Pull {number}: {pull.service} {pull.name or pull.url}, every {settings.pull_hours:g} hours.")
    return lines


def _runs(report: "AutomationReport") -> Any:
    from nearsong.library import TASK_NAMES

    table = plain_table("when", "what", "result")
    for run in report.state.runs[:10]:
        words = run.words if run.state == "done" else f"{run.state}: {run.words}"
        table.add_row(format_date(run.time), TASK_NAMES[run.task], words)
    return table
