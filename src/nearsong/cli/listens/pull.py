"""``nearsong listens pull``: fetch listens from a service, once or again and again."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import (
    LibraryOption,
    format_date,
    format_duration,
    notices,
    open_library,
    output,
    print_error,
    print_line,
)
from nearsong.errors import InvalidInputError, NearsongError, disk_words, is_disk_full
from nearsong.names import count

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.library import PullReport

LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""

MIN_EVERY_SECONDS = 60
MAX_EVERY_SECONDS = 366 * 86_400

_EVERY = re.compile(r"(\d{1,9})\s*([mhd])")
_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}

pull = typer.Typer(
    help="Fetch listens from a service; each pull continues where the last one ended.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

ListenerOption = Annotated[
    str | None, typer.Option("--user", help="The listener; one name for several services makes them one listener.")
]
EveryOption = Annotated[
    str | None, typer.Option("--every", help="Pull again at this interval until stopped: 30m, 6h, 1d.")
]
UrlOption = Annotated[str | None, typer.Option("--url", help="Another server with the same API.")]


@pull.command()
def listenbrainz(
    name: Annotated[str, typer.Argument(metavar="USER", help="User name on ListenBrainz.")],
    url: UrlOption = None,
    user: ListenerOption = None,
    every: EveryOption = None,
    library: LibraryOption = None,
) -> None:
    """Fetch listens and loved recordings from ListenBrainz.

    A token is needed only for private listens: environment variable NEARSONG_LISTENBRAINZ_TOKEN.

    For example: nearsong listens pull listenbrainz anna --every 6h
    """
    _run(library, every, service="listenbrainz", name=name, url=url, user=user)


@pull.command()
def lastfm(
    name: Annotated[str, typer.Argument(metavar="USER", help="User name on Last.fm.")],
    url: UrlOption = None,
    user: ListenerOption = None,
    every: EveryOption = None,
    library: LibraryOption = None,
) -> None:
    """Fetch listens and loved tracks from Last.fm.

    Needs an API key (https://www.last.fm/api/account/create): environment variable NEARSONG_LASTFM_KEY.

    For example: nearsong listens pull lastfm anna --user me
    """
    _run(library, every, service="lastfm", name=name, url=url, user=user)


@pull.command()
def subsonic(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server, such as https://music.example.")],
    name: Annotated[str | None, typer.Option("--name", help="User name on the server.")] = None,
    user: ListenerOption = None,
    every: EveryOption = None,
    library: LibraryOption = None,
) -> None:
    """Fetch play counts, stars and ratings from a server for players: Navidrome, Supysonic, Gonic ...

    The password is in the environment variable NEARSONG_SUBSONIC_PASSWORD. Each pull replaces the one before.

    For example: nearsong listens pull subsonic https://music.example --name anna --user me
    """
    _run(library, every, service="subsonic", name=name, url=url, user=user)


def interval_seconds(text: str) -> int:
    """Return the seconds of an interval.

    >>> interval_seconds("30m"), interval_seconds("6h"), interval_seconds("1d")
    (1800, 21600, 86400)
    """
    found = _EVERY.fullmatch(text.strip().lower())
    seconds = int(found[1]) * _UNIT_SECONDS[found[2]] if found else 0
    if not MIN_EVERY_SECONDS <= seconds <= MAX_EVERY_SECONDS:
        raise InvalidInputError(f"--every {text}: give an interval such as 30m, 6h or 1d, of a minute to a year.")
    return seconds


def _run(library: str | None, every: str | None, **wanted: Any) -> None:
    """Pull once, or at an interval until stopped; then errors are printed and the next pull tries again."""
    if every is None:
        _pull(library, wanted)
        return
    seconds = interval_seconds(every)
    while True:
        started = time.monotonic()
        try:
            _pull(library, wanted)
        except InvalidInputError:
            raise  # the next pull would fail the same way
        except (NearsongError, OSError) as error:
            if isinstance(error, OSError) and not is_disk_full(error):
                raise
            words = disk_words(error) if isinstance(error, OSError) else str(error)
            print_error(words)
        wait = max(0.0, started + seconds - time.monotonic())
        print_line(output(), f"Next pull in {format_duration(wait)}.")
        sys.stdout.flush()
        time.sleep(wait)


def _pull(library: str | None, wanted: dict[str, Any]) -> None:
    with open_library(library, create=True) as lib, _pull_progress() as progress:
        report = lib.pull_listens(**wanted, reached=progress.reached, note=progress.note)
    _print_report(report)


def _print_report(report: "PullReport") -> None:
    console = output()
    if report.source is None:
        print_line(console, f"{report.name}: no listens yet.")
        return
    hearts = f", {count(report.hearts, 'heart')} among them" if report.hearts else ""
    print_line(
        console,
        f"{report.name}: {count(report.new_rows, 'new row')}, {count(report.rows, 'row')} in all{hearts}; "
        f"listener {report.listener}.",
    )
    left_out = dict(report.left_out)
    if report.bad_rows:
        left_out["unreadable"] = report.bad_rows
    if left_out:
        print_line(console, "Left out: " + ", ".join(f"{n:,} {reason}" for reason, n in left_out.items()) + ".")


class PullProgress:
    """Shows how many rows a pull has stored and the time that it has come to."""

    def __init__(self, console: "Console", status: Any) -> None:
        self._console, self._status = console, status
        self._printed = time.monotonic()

    def reached(self, new_rows: int, seconds: int) -> None:
        """Show the state after a page; a time of 0 is not known."""
        text = f"pulling listens: {count(new_rows, 'new row')}"
        if seconds:
            text += f", back to {format_date(seconds)}"
        if self._status is not None:
            self._status.update(text)
        elif time.monotonic() - self._printed >= LINE_SECONDS:
            self._printed = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print a line for the user."""
        print_line(self._console, f"note: {text}")


@contextmanager
def _pull_progress() -> Iterator[PullProgress]:
    console = notices()
    if not console.is_terminal:
        print("pulling listens ...", file=sys.stderr, flush=True)
        yield PullProgress(console, None)
        return
    with console.status("pulling listens ...") as status:
        yield PullProgress(console, status)
