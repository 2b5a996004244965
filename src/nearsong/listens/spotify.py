"""Spotify's streaming history (account data and extended) and playlists -> blocks.

A stream shorter than ``MIN_PLAY_MS`` is not a listen: Spotify itself counts from 30 seconds on, and a song skipped
earlier says little about taste. Podcasts, audiobooks and streams without a name are left out silently.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from nearsong.listens.blocks import BATCH_ROWS, BlockBuilder
from nearsong.listens.json_records import ListenRow, as_text, batch_of, read_records, records, shape_of
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile

MIN_PLAY_MS = 30_000

_EMPTY_ROW: ListenRow = ("", "", "", "", "", 1, None)
_UNKNOWN = ("Unknown Artist", "Unknown Track")  # names of tracks removed from the catalogue


def read_spotify_account(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``StreamingHistory*.json``: endTime, artistName, trackName, msPlayed; all rows belong to ``user``."""
    yield from read_records(source, builder, user, account_row)


def read_spotify_extended(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``Streaming_History_Audio_*.json`` or ``endsong_*.json``; recent ones belong to ``user``."""
    yield from read_records(source, builder, user, extended_row)


def read_spotify_playlists(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read many playlists: Spotify's ``Playlist*.json``, or a slice of its Million Playlist Dataset."""
    builder.begin(source.name, user, "track")
    rows = _playlist_rows(source.stem, records(source, builder, shape_of(source)))
    first = 1
    while batch := list(islice(rows, BATCH_ROWS)):
        yield from builder.add(batch_of(batch, range(first, first + len(batch)), "nameless"))
        first += len(batch)
    builder.end()


def account_row(record: Any) -> ListenRow | None:
    """Return the row of a stream; None if it is not a listen to music.

    >>> stream = {"endTime": "2023-01-31 12:34", "artistName": "Ann", "trackName": "Song", "msPlayed": 60000}
    >>> account_row(stream)
    ('', 'Ann', 'Song', '', '', 1, '2023-01-31 12:34')
    >>> account_row(stream | {"msPlayed": 29999}) is None
    True
    """
    artist, title = as_text(record.get("artistName")), as_text(record.get("trackName"))
    if _too_short(record["msPlayed"]) or not artist or (artist, title) == _UNKNOWN:
        return None
    return "", artist, title, "", "", 1, record["endTime"]


def extended_row(record: Any) -> ListenRow | None:
    """Return the row of a stream; None if it is not a listen to music."""
    artist = as_text(record.get("master_metadata_album_artist_name"))
    title = as_text(record.get("master_metadata_track_name"))
    if _too_short(record["ms_played"]) or not artist or not title or record.get("episode_name"):
        return None
    return as_text(record.get("username")), artist, title, "", "", 1, record["ts"]


def _too_short(played_ms: Any) -> bool:
    return float(played_ms) < MIN_PLAY_MS


def _playlist_rows(stem: str, playlists: Iterable[tuple[int, Any]]) -> Iterator[ListenRow]:
    for number, playlist in playlists:
        if not isinstance(playlist, dict):
            yield _EMPTY_ROW
            continue
        name = as_text(playlist.get("name")) or f"{stem} {number}"
        if "pid" in playlist:
            name = f"{name} #{as_text(playlist['pid'])}"
        items = playlist.get("tracks") or playlist.get("items")
        for item in items if isinstance(items, list) else ():
            track = item.get("track", item) if isinstance(item, dict) else None
            if isinstance(track, dict):  # otherwise an episode or a local file
                artist = as_text(track.get("artist_name") or track.get("artistName"))
                title = as_text(track.get("track_name") or track.get("trackName"))
                yield name, artist, title, "", "", 1, None
