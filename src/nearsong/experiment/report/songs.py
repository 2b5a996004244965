"""Song embeddings -> the sections of the report that show songs: maps with close-ups, and example playlists."""

import math
from typing import Protocol

from nearsong.experiment.report import drawing, figures, html
from nearsong.experiment.report import map as report_map
from nearsong.experiment.report import wording as words
from nearsong.experiment.report.html import Html
from nearsong.experiment.report.playlists import LENGTH, ExamplePlaylist, example_playlists, playlist_table
from nearsong.experiment.report.reading import Row, Showcase
from nearsong.experiment.report.style import CLOSE_UP_INCHES, GROUP_COLOURS


class ReportWriter(Protocol):
    """The report under construction, as sections see it."""

    def add(self, *parts: Html) -> None:
        """Append to the page."""

    def section(self, title: str, anchor: str) -> None:
        """Begin a section."""

    def figure(self, drawn: drawing.Figure, name: str, caption: str) -> None:
        """Write a figure and append it to the page."""

    def csv(self, name: str, table: list[Row]) -> None:
        """Write a table as CSV."""


def map_section(report: ReportWriter, showcase: Showcase) -> None:
    """Show maps of the native and the learned space, and close-ups of dense regions of the learned one."""
    shown = report_map.songs_on_map(len(showcase.title))
    learned = report_map.tsne_map(showcase.learned[shown])
    if learned is None:
        return
    native = report_map.tsne_map(showcase.native[shown])
    every_group, order, kind = report_map.song_groups(showcase, len(GROUP_COLOURS))
    groups = [every_group[song] for song in shown]
    order = [group for group in order if group in groups]
    artists = [showcase.artist[song] for song in shown]
    regions = report_map.dense_regions(learned, groups, artists, CLOSE_UP_INCHES[0] / CLOSE_UP_INCHES[1])

    report.section("Map", "map")
    report.add(html.paragraph(_map_words(showcase, kind, len(shown))))
    layouts = [("Native (sound alone)", native)] if native is not None else []
    drawn = figures.map_figure([*layouts, ("Learned from listeners", learned)], groups, order, regions)
    caption = (
        f"Every point is a song, coloured by {kind}; similar songs are close together (t-SNE, which preserves "
        "neighbours but not distances). The numbered frames are enlarged below."
    )
    report.figure(drawn, "map", caption)
    songs = [int(song) for song in shown]
    for number, region in enumerate(regions, start=1):
        share = f": {region.n_of_group} of {len(region.songs)} songs are {region.group}" if kind == "genre" else ""
        drawn = figures.close_up_figure(showcase, songs, learned, region, groups, order)
        report.figure(drawn, f"close_up_{number}", f"Close-up {number}{share}.")


def _map_words(showcase: Showcase, kind: str, n_shown: int) -> str:
    total = len(showcase.title)
    text = "" if n_shown == total else f"The map shows a random sample of {n_shown:,} of {total:,} songs. "
    if kind != "genre":
        return text + "The data set has no genres; colours show the most frequent artists."
    shares = [
        report_map.neighbours_of_the_same_genre(showcase, space) for space in (showcase.native, showcase.learned)
    ]
    if any(math.isnan(share) for share in shares):
        return text + "Colours show genres, which were not used in training."
    return (
        f"{text}Of a song's ten nearest songs by other artists, {100 * shares[0]:.0f} % share its genre before and "
        f"{100 * shares[1]:.0f} % after learning. Genres were not used in training."
    )


def playlist_section(report: ReportWriter, showcase: Showcase) -> None:
    """Show the nearest songs of a few queries before and after learning."""
    playlists = example_playlists(showcase)
    if playlists is None:
        return
    report.section("Example playlists", "playlists")
    report.add(html.paragraph(words.playlist_words(playlists)))
    report.csv("playlists", playlist_table(showcase, playlists))
    header = ["Query", "Native", "Learned"]
    rows = []
    for playlist in playlists.chosen:
        for rank in range(LENGTH):
            row = [_query_cell(showcase, playlist)] if rank == 0 else []
            row += [_song_cell(showcase, playlist, songs[rank]) for songs in (playlist.native, playlist.learned)]
            rows.append(row)
    report.add(html.table(header, rows))
    legend = Html(
        'The five nearest songs. <span class="dot">●</span> Relevant: by an artist that shares many listeners with '
        "the query's."
    )
    report.add(html.paragraph(legend, "note"))


def _query_cell(showcase: Showcase, playlist: ExamplePlaylist) -> Html:
    name = html.safe(showcase.label(playlist.query))
    hits = playlist.hits(playlist.native), playlist.hits(playlist.learned)
    detail = html.safe(f"{playlist.kind.capitalize()}: {hits[0]} → {hits[1]} relevant; "
                       f"AUC {playlist.native_auc:.3f} → {playlist.learned_auc:.3f}")  # fmt: skip
    return Html(f'<td class="song" rowspan="{LENGTH}">{name}<span class="detail">{detail}</span></td>')


def _song_cell(showcase: Showcase, playlist: ExamplePlaylist, song: int) -> Html:
    name = html.safe(showcase.label(song))
    if playlist.relevant[song]:
        dot = '<span class="dot" role="img" aria-label="relevant">●</span>'
        return Html(f'<td class="song item">{dot}<b>{name}</b></td>')
    return Html(f'<td class="song item">{name}</td>')
