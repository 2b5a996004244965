"""``nearsong demo``: a first evening, on music it makes itself or on your own."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearsong.cli import listens as listens_commands
from nearsong.cli.common import choose_library, opened, out, shown
from nearsong.cli.map import map_
from nearsong.cli.playlist import playlist
from nearsong.cli.progress import showing
from nearsong.cli.scan import scan
from nearsong.cli.similar import similar
from nearsong.cli.status import status
from nearsong.cli.train import show_report
from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from nearsong.library import TrainingReport
    from nearsong.library.demo_music import DemoLibrary
    from nearsong.library.records import Song

SHOWN = 3
"""Queries in the last table."""


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo's music and library go.")] = Path("nearsong-demo"),
    music: Annotated[Path | None, typer.Option(help="Your own folder of music.")] = None,
    listens: Annotated[list[Path] | None, typer.Option(help="Your own listening history.")] = None,
    artists: Annotated[int, typer.Option(help="How many artists to make up.")] = 72,
    seed: Annotated[int, typer.Option(help="Another seed makes other music.")] = 0,
) -> None:
    """Spend a first evening with nearsong: scan, import listens, train, ask, make a playlist, draw the map.

    Without music of your own it makes some: invented artists in eight styles as real audio files in several formats,
    and simulated listeners. Nothing outside the folder is written.

    For example:

        nearsong demo
        nearsong demo --music ~/Music --listens lastfm.csv
    """
    if (music is None) != (not listens):
        raise InvalidInputError("--music and --listens go together: a folder of music, and what was listened to.")
    console = out()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"--folder {folder} cannot be made ({error.strerror}); choose another.") from error
    choose_library(str(folder / "library.sqlite"))
    histories, new_song = list(listens or []), None
    if music is None:
        made = _make_music(folder, artists, seed, console)
        music, histories, new_song = made.music, [made.listens, made.playlists], made.new[0]
    _say(console, "scan", music)
    scan([music])
    _say(console, "listens", "import", *histories)
    listens_commands.import_(histories)
    _say(console, "train")
    report = _train(console)
    with opened(None) as lib:
        songs = lib.songs()
        first = _a_song(songs, report)
    if new_song is not None:
        console.print("\nA new release: the library has never heard it, and nobody has played it.", style="dim")
    query = str(new_song) if new_song is not None else first
    _say(console, "similar", query, "--artist-once", "--why")
    similar([query], n=5, artist_once=True, why=True)
    evening = folder / "evening.m3u8"
    _say(console, "playlist", first, "--length", "10", "--out", evening)
    playlist([first], length=10, out_file=evening)
    _say(console, "map", "--out", folder / "map.html")
    map_(folder / "map.html")
    _say(console, "status")
    status()
    _show_examples(report, {song.id: song for song in songs}, console)
    console.print("\nSee and hear all of it in a browser:", style="dim")
    _say(console, "serve", "--library", folder / "library.sqlite", "--open", gap="")


def _make_music(folder: Path, artists: int, seed: int, console: Console) -> "DemoLibrary":
    """Make music and listeners, or take those of an earlier demo with the same numbers."""
    from nearsong.library.demo_music import DemoLibrary, make_demo_library

    target, finished = folder / f"made-{artists}-{seed}", folder / f"made-{artists}-{seed}.json"
    if finished.exists():
        styles = json.loads(finished.read_text())
        new = sorted((target / "new").iterdir())
        return DemoLibrary(target / "music", target / "listens.csv", target / "playlists", new, styles)
    shutil.rmtree(target, ignore_errors=True)  # of a demo that was interrupted
    console.print(f"Making up {artists} artists, their songs and their listeners ...", style="dim")
    with showing("songs") as show:
        made = make_demo_library(target, n_artists=artists, seed=seed, progress=show)
    finished.write_text(json.dumps(made.styles))
    styles = len(set(made.styles.values()))
    console.print(f"{artists} artists in {styles} styles; real audio files in {made.music}.", style="dim")
    return made


def _train(console: Console) -> "TrainingReport":
    with opened(None) as lib, showing() as show:
        report: TrainingReport = lib.train(progress=show)
        active = next(row for row in lib.models() if row.id == lib.active_model)
    show_report(report, console)
    console.print(f"Model {active.id} ({active.kind}) answers.")
    return report


def _a_song(songs: "list[Song]", report: "TrainingReport") -> str:
    """Choose a song to ask about: the first held-out example, or else the first with an artist and a title."""
    by_id = {song.id: song for song in songs}
    for example in report.examples:
        if example.query in by_id:
            return by_id[example.query].name
    return next((song.name for song in songs if song.artist and song.title), str(songs[0].id))


def _say(console: Console, *words: object, gap: str = "\n") -> None:
    """Show the command that a user would type."""
    console.print(
        f"{gap}[bold cyan]$[/] [bold]nearsong {escape(shlex.join(str(word) for word in words))}[/]", soft_wrap=True
    )


def _show_examples(report: "TrainingReport", songs: "dict[int, Song]", console: Console) -> None:
    """Print what learning changed: held-out queries with the native and the learned answers, relevant ones marked."""
    console.print()
    examples = [example for example in report.examples if example.query in songs][:SHOWN]
    if examples:
        title = "What learning changed: songs by artists it was not shown, and what comes nearest"
        table = Table(title=title, title_justify="left", show_lines=True)
        table.add_column("query", overflow="fold", max_width=24)
        for name in ("nearest by sound alone", "nearest as learned from listeners"):
            table.add_column(name, overflow="ellipsis", no_wrap=True)
        for example in examples:
            table.add_row(
                escape(shown(songs[example.query].name)),
                _marked(example.native, example.native_relevant, songs),
                _marked(example.learned, example.learned_relevant, songs),
            )
        console.print(table)
        console.print(f"[green]✓[/] listeners of the one also listen to the other. {_hits(report)}", soft_wrap=True)
    _show_scores(report, console)


def _hits(report: "TrainingReport") -> str:
    """Say how many of the first answers are relevant, over all examples and not only those shown."""
    native = sum(sum(example.native_relevant) for example in report.examples)
    learned = sum(sum(example.learned_relevant) for example in report.examples)
    n = len(report.examples)
    return f"Over {n} such songs: {native / n:.1f} of 5 by sound alone, {learned / n:.1f} of 5 as learned."


def _marked(ids: Any, relevant: Any, songs: "dict[int, Song]") -> str:
    lines = []
    for song, good in zip(ids, relevant, strict=True):
        name = escape(shown(songs[song].name)) if song in songs else f"song {song}"
        lines.append(f"[green]✓ {name}[/]" if good else f"  {name}")
    return "\n".join(lines)


def _show_scores(report: "TrainingReport", console: Console) -> None:
    score: Callable[[str, str], float | None] = report.score
    native, learned = score("native", "known"), score("learned", "known")
    if native is None or learned is None:
        return
    console.print(
        f"Held-out AUC: [bold]{native:.3f}[/] by sound alone, [bold]{learned:.3f}[/] as learned from listeners "
        "(0.5 is chance, 1 perfect).",
        soft_wrap=True,
    )
    cold_native, cold_learned = score("native", "unknown"), score("learned", "unknown")
    if cold_native is not None and cold_learned is not None:
        console.print(f"Among artists it never saw at all: {cold_native:.3f} and {cold_learned:.3f}.", soft_wrap=True)
