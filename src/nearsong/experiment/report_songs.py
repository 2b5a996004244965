"""The report's parts that show songs: the map with its close-ups, and example playlists."""

import math
from typing import Protocol

from nearsong.experiment import figures, report_map
from nearsong.experiment import report_html as html
from nearsong.experiment import report_words as words
from nearsong.experiment.report_html import Html
from nearsong.experiment.report_playlists import LENGTH, Playlist, example_playlists, playlist_table
from nearsong.experiment.report_run import Row, Showcase
from nearsong.experiment.report_style import CLOSE_UP, GROUP_COLOURS


class Pages(Protocol):
    """What a section needs of the report."""

    def add(self, *parts: Html) -> None:
        """Append to the page."""

    def section(self, title: str, anchor: str) -> None:
        """Begin a section."""

    def figure(self, drawn: figures.Figure, name: str, caption: str) -> None:
        """Write a figure and show it."""

    def csv(self, name: str, table: list[Row]) -> None:
        """Write a table."""


def map_section(report: Pages, showcase: Showcase) -> None:
    """Show the native and the learned space as maps, and three dense regions of the learned one enlarged."""
    shown = report_map.songs_on_map(len(showcase.title))
    learned = report_map.tsne_map(showcase.learned[shown])
    if learned is None:
        return
    native = report_map.tsne_map(showcase.native[shown])
    every_group, order, kind = report_map.song_groups(showcase, len(GROUP_COLOURS))
    groups = [every_group[song] for song in shown]
    order = [group for group in order if group in groups]
    artists = [showcase.artist[song] for song in shown]
    wide = CLOSE_UP[0] / CLOSE_UP[1]
    regions = report_map.dense_regions(learned, groups, artists, wide)

    report.section("A map of the music", "map")
    report.add(html.paragraph(_map_words(showcase, kind, len(shown))))
    layouts = [("Native: by sound alone", native)] if native is not None else []
    drawn = figures.map_figure([*layouts, ("Learned from listeners", learned)], groups, order, regions)
    caption = (
        f"Every point is a song, coloured by {kind}; near points sound alike to the method (t-SNE, which keeps "
        "neighbours but not distances). The numbered frames are enlarged below."
    )
    report.figure(drawn, "map", caption)
    songs = [int(song) for song in shown]
    for number, region in enumerate(regions, start=1):
        most = f": {region.share} of {len(region.songs)} songs are {region.group}" if kind == "genre" else ""
        drawn = figures.close_up_figure(showcase, songs, learned, region, groups, order)
        report.figure(drawn, f"close_up_{number}", f"Close-up {number}{most}.")


def _map_words(showcase: Showcase, kind: str, n_shown: int) -> str:
    total = len(showcase.title)
    text = "" if n_shown == total else f"A random {n_shown:,} of {total:,} songs are drawn. "
    if kind != "genre":
        return text + "The data have no genres, so the most frequent artists are coloured."
    shares = [
        report_map.neighbours_of_the_same_genre(showcase, space) for space in (showcase.native, showcase.learned)
    ]
    if any(math.isnan(share) for share in shares):
        return text + "Genres colour the map; the method never saw them."
    return (
        f"{text}The method never saw a genre. Still, of a song's ten nearest songs by other artists, "
        f"{100 * shares[1]:.0f} % share its genre after learning, and {100 * shares[0]:.0f} % before."
    )


def playlist_section(report: Pages, showcase: Showcase) -> None:
    """Show what a listener would get: a few queries, the nearest songs before and after learning."""
    playlists = example_playlists(showcase)
    if playlists is None:
        return
    report.section("Example playlists", "playlists")
    report.add(html.paragraph(words.playlist_words(playlists)))
    report.csv("playlists", playlist_table(showcase, playlists))
    header = ["Query", "Native: five nearest", "Learned: five nearest"]
    rows = []
    for playlist in playlists.chosen:
        for place in range(LENGTH):
            row: list[Html] = []
            if place == 0:
                row.append(_query_cell(showcase, playlist))
            row += [_song_cell(showcase, playlist, songs[place]) for songs in (playlist.native, playlist.learned)]
            rows.append(row)
    report.add(html.table(header, rows))
    report.add(html.paragraph(Html('<span class="dot">●</span>relevant: listeners relate it to the query.'), "note"))


def _query_cell(showcase: Showcase, playlist: Playlist) -> Html:
    name = html.safe(showcase.label(playlist.query))
    hits = playlist.hits(playlist.native), playlist.hits(playlist.learned)
    why = html.safe(f"{playlist.why.capitalize()}: {hits[0]} → {hits[1]} relevant; "
                    f"AUC {playlist.native_auc:.3f} → {playlist.learned_auc:.3f}")  # fmt: skip
    return Html(f'<td class="song" rowspan="{LENGTH}">{name}<span class="why">{why}</span></td>')


def _song_cell(showcase: Showcase, playlist: Playlist, song: int) -> Html:
    name = html.safe(showcase.label(song))
    if playlist.relevant[song]:
        return Html(f'<td class="song"><span class="dot" role="img" aria-label="relevant">●</span><b>{name}</b></td>')
    return Html(f'<td class="song"><span class="dot off" aria-hidden="true">●</span>{name}</td>')
