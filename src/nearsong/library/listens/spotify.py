"""Spotify's streaming history, of the account data and the extended one -> blocks.

A stream shorter than ``SHORTEST_PLAY_MS`` is no listen: Spotify itself counts from 30 seconds on, and what is skipped
sooner says little about taste. Podcasts, audiobooks and streams without a name are left out silently.
"""

from collections.abc import Iterator
from typing import Any

from nearsong.library.listens.blocks import BlockBuilder
from nearsong.library.listens.json_records import Said, as_text, read_records
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock

SHORTEST_PLAY_MS = 30_000

_UNKNOWN = ("Unknown Artist", "Unknown Track")  # what was taken out of the catalogue


def read_spotify_account(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``StreamingHistory*.json``: endTime, artistName, trackName, msPlayed; all of it is ``user``'s."""
    yield from read_records(source, builder, user, spotify_account_says)


def read_spotify_extended(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``Streaming_History_Audio_*.json`` or ``endsong_*.json``; new ones name no user and are ``user``'s."""
    yield from read_records(source, builder, user, spotify_extended_says)


def spotify_account_says(record: Any) -> Said | None:
    """Return what a stream says, or None if it is no listen to music.

    >>> stream = {"endTime": "2023-01-31 12:34", "artistName": "Ann", "trackName": "Song", "msPlayed": 60000}
    >>> spotify_account_says(stream)
    ('', 'Ann', 'Song', '', '', 1, '2023-01-31 12:34')
    >>> spotify_account_says(stream | {"msPlayed": 29999}) is None
    True
    """
    artist, title = as_text(record.get("artistName")), as_text(record.get("trackName"))
    if _too_short(record["msPlayed"]) or not artist or (artist, title) == _UNKNOWN:
        return None
    return "", artist, title, "", "", 1, record["endTime"]


def spotify_extended_says(record: Any) -> Said | None:
    """Return what a stream says, or None if it is no listen to music."""
    artist = as_text(record.get("master_metadata_album_artist_name"))
    title = as_text(record.get("master_metadata_track_name"))
    if _too_short(record["ms_played"]) or not artist or not title or record.get("episode_name"):
        return None
    return as_text(record.get("username")), artist, title, "", "", 1, record["ts"]


def _too_short(played_ms: Any) -> bool:
    return float(played_ms) < SHORTEST_PLAY_MS
