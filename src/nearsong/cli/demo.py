"""``nearsong demo``: every command once, on synthesised music or your own."""

import json
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearsong.cli.common import cell, choose_library, open_library, output, print_line
from nearsong.cli.listens import listens as listens_commands
from nearsong.cli.map import map_
from nearsong.cli.playlist import playlist
from nearsong.cli.progress import show_progress
from nearsong.cli.scan import scan
from nearsong.cli.similar import similar
from nearsong.cli.status import status
from nearsong.cli.train import active_model, print_report
from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from nearsong.demo.music import DemoLibrary
    from nearsong.library import Song, TrainingReport

N_EXAMPLES = 3
"""Queries in the last table."""


def demo(
    folder: Annotated[Path, typer.Option(help="Folder for the demo's music and library.")] = Path("nearsong-demo"),
    music: Annotated[Path | None, typer.Option(help="Your own folder of music; needs --listens.")] = None,
    listens: Annotated[list[Path] | None, typer.Option(help="Your own listening history; needs --music.")] = None,
    artists: Annotated[int, typer.Option(help="Number of artists to create.")] = 72,
    seed: Annotated[int, typer.Option(help="Random seed for the music.")] = 0,
) -> None:
    """Try every step on synthesised music, or on your own.

    Creates artists in eight styles, as real audio files, and simulates their listeners; then scans, imports listens,
    trains, finds similar songs, makes a playlist and draws the map. Nothing outside the folder is written.

    For example:

        nearsong demo
        nearsong demo --music ~/Music --listens lastfm.csv
    """
    if (music is None) != (not listens):
        raise InvalidInputError("--music and --listens go together; give both.")
    console = output()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"Cannot create --folder {folder}: {error.strerror}. Choose another.") from error
    choose_library(str(folder / "library.sqlite"))
    histories, new_song = list(listens or []), None
    if music is None:
        made = _make_music(folder, artists, seed, console)
        music, histories, new_song = made.music, [made.listens, made.playlists], made.new[0]
    report = _learn(music, histories, console)
    with open_library(None) as lib:
        songs = lib.songs()
    _use(folder, new_song, _example_song(songs, report), console)
    _print_examples(report, {song.id: song for song in songs}, console)
    console.print("\nSee it in a browser:", style="dim")
    _print_command(console, "serve", "--library", folder / "library.sqlite", "--open", gap="")


def _learn(music: Path, histories: list[Path], console: "Console") -> "TrainingReport":
    """Scan, import listens and train."""
    _print_command(console, "scan", music)
    scan([str(music)])
    _print_command(console, "listens", "import", *histories)
    listens_commands.import_(histories)
    _print_command(console, "train")
    with open_library(None) as lib, show_progress() as progress:
        report: TrainingReport = lib.train(progress=progress)
        active = active_model(lib)
    print_report(report, console)
    print_line(console, active)
    return report


def _use(folder: Path, new_song: Path | None, song: str, console: "Console") -> None:
    """Find similar songs, make a playlist, draw the map and show the status."""
    if new_song is not None:
        console.print("\nA new release that is not in the library and that nobody has played:", style="dim")
    query = song if new_song is None else str(new_song)
    _print_command(console, "similar", query, "-n", "5", "--one-per-artist", "--why")
    similar([query], n=5, one_per_artist=True, why=True)
    evening = folder / "evening.m3u8"
    _print_command(console, "playlist", song, "--length", "10", "--out", evening)
    playlist([song], length=10, out_file=evening)
    _print_command(console, "map", "--out", folder / "map.html")
    map_(folder / "map.html")
    _print_command(console, "status")
    status()


def _make_music(folder: Path, artists: int, seed: int, console: "Console") -> "DemoLibrary":
    """Make music and listeners, or use those of an earlier demo with the same options."""
    from nearsong.demo.music import DemoLibrary, make_demo_library

    target, finished = folder / f"made-{artists}-{seed}", folder / f"made-{artists}-{seed}.json"
    if finished.exists():
        styles = json.loads(finished.read_text())
        new = sorted((target / "new").iterdir())
        return DemoLibrary(target / "music", target / "listens.csv", target / "playlists", new, styles)
    shutil.rmtree(target, ignore_errors=True)  # of a demo that was interrupted
    console.print(f"Creating {artists} artists, their songs and their listeners ...", style="dim")
    with show_progress("songs") as progress:
        made = make_demo_library(target, n_artists=artists, seed=seed, progress=progress)
    finished.write_text(json.dumps(made.styles))
    styles = len(set(made.styles.values()))
    console.print(f"{artists} artists in {styles} styles; real audio files in {made.music}.", style="dim")
    return made


def _example_song(songs: "list[Song]", report: "TrainingReport") -> str:
    """Choose a query: the first held-out example, or else the first song with an artist and a title."""
    by_id = {song.id: song for song in songs}
    for example in report.examples:
        if example.query in by_id:
            return by_id[example.query].name
    return next((song.name for song in songs if song.artist and song.title), str(songs[0].id))


def _print_command(console: "Console", *words: object, gap: str = "\n") -> None:
    """Print the command that a user would type."""
    command = shlex.join(str(word) for word in words)
    console.print(f"{gap}[bold cyan]$[/] [bold]nearsong {cell(command)}[/]", soft_wrap=True)


def _print_examples(report: "TrainingReport", songs: "dict[int, Song]", console: "Console") -> None:
    """Print held-out queries with their native and learned neighbours, relevant ones marked."""
    console.print()
    examples = [example for example in report.examples if example.query in songs][:N_EXAMPLES]
    if examples:
        title = "What learning changed, for songs by held-out artists"
        from rich.table import Table

        table = Table(title=title, title_justify="left", show_lines=True)
        table.add_column("query", overflow="fold", max_width=24)
        for name in ("similar sound", "similar, learned from listeners"):
            table.add_column(name, overflow="ellipsis", no_wrap=True)
        for example in examples:
            table.add_row(
                cell(songs[example.query].name),
                _marked_names(example.native, example.native_relevant, songs),
                _marked_names(example.learned, example.learned_relevant, songs),
            )
        console.print(table)
        console.print(f"[green]✓[/] The two artists share listeners. {_mean_hits(report)}", soft_wrap=True)
    _print_scores(report, console)


def _mean_hits(report: "TrainingReport") -> str:
    """Return how many of the first neighbours are relevant, over all examples and not only those printed."""
    native = sum(sum(example.native_relevant) for example in report.examples)
    learned = sum(sum(example.learned_relevant) for example in report.examples)
    n = len(report.examples)
    return f"Average of {n} such songs: {native / n:.1f} of 5 by sound, {learned / n:.1f} of 5 learned."


def _marked_names(ids: Any, relevant: Any, songs: "dict[int, Song]") -> str:
    lines = []
    for song, is_relevant in zip(ids, relevant, strict=True):
        name = cell(songs[song].name) if song in songs else f"song {song}"
        lines.append(f"[green]✓ {name}[/]" if is_relevant else f"  {name}")
    return "\n".join(lines)


def _print_scores(report: "TrainingReport", console: "Console") -> None:
    native, learned = report.score("native", "known"), report.score("learned", "known")
    if native is None or learned is None:
        return
    console.print(
        f"Held-out AUC: [bold]{native:.3f}[/] by sound, [bold]{learned:.3f}[/] learned from listeners "
        "(0.5 is chance, 1 is perfect).",
        soft_wrap=True,
    )
    unseen_native, unseen_learned = report.score("native", "unknown"), report.score("learned", "unknown")
    if unseen_native is not None and unseen_learned is not None:
        console.print(f"Among unseen artists: {unseen_native:.3f} and {unseen_learned:.3f}.", soft_wrap=True)
