"""Spotify's streaming history (account data and extended), playlists and library -> blocks.

A stream shorter than ``MIN_PLAY_MS`` is a skip, not a listen: Spotify itself counts from 30 seconds on. Podcasts,
audiobooks and streams without a name are left out. Spotify tells when a stream ended and how long it played; a listen
has the time when it began.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat, with_names
from nearsong.listens.formats.table_records import read_json_or_table
from nearsong.listens.json_records import (
    NAMELESS,
    NOT_MUSIC,
    LeftOut,
    ListenRow,
    add_records,
    as_text,
    load_document,
    records,
    shape_of,
)
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile
from nearsong.listens.times import start_time

MIN_PLAY_MS = 30_000

_EMPTY_ROW = ListenRow(artist="")
_NOT_SONGS = LeftOut("albums, artists and shows")
_UNKNOWN = ("Unknown Artist", "Unknown Track")  # names of tracks removed from the catalogue


def read_spotify_account(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``StreamingHistory*.json``: endTime, artistName, trackName, msPlayed; all rows belong to ``user``."""
    yield from read_json_or_table(source, builder, user, account_row)


def read_spotify_extended(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``Streaming_History_Audio_*.json``, ``endsong_*.json`` or the same as CSV; recent ones name no user."""
    yield from read_json_or_table(source, builder, user, extended_row)


def read_spotify_playlists(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read many playlists: Spotify's ``Playlist*.json``, or a slice of its Million Playlist Dataset."""
    builder.begin(source.name, user, "track")
    tracks = enumerate(_playlist_tracks(source.stem, records(source, builder, shape_of(source))), start=1)
    yield from add_records(builder, "nameless", tracks, lambda track: track)
    builder.end()


def read_spotify_library(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read ``YourLibrary.json``: liked songs are hearts, without a time; albums, artists and shows are left out."""
    builder.begin(source.name, user, "entry")
    library = load_document(source)
    if not isinstance(library, dict) or not isinstance(library.get("tracks"), list):
        raise ListensError(f"{source.name} is not a library of Spotify: it has no list of tracks.")
    entries = ((name, entry) for name, entries in library.items() if isinstance(entries, list) for entry in entries)
    yield from add_records(builder, user, enumerate(entries, start=1), _library_row)
    builder.end()


def account_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of a stream, or why it is not music.

    >>> stream = {"endTime": "2023-01-31 12:34", "artistName": "Ann", "trackName": "Song", "msPlayed": 60000}
    >>> account_row(stream).action.name, account_row(stream | {"msPlayed": 29999}).action.name
    ('LISTEN', 'SKIP')
    """
    artist, title = as_text(record.get("artistName")), as_text(record.get("trackName"))
    action = action_of(record["msPlayed"])
    if not artist or (artist, title) == _UNKNOWN:
        return NAMELESS
    time = start_time(record["endTime"], record["msPlayed"])
    return ListenRow(artist=artist, title=title, time=time, action=action)


def extended_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of a stream, or why it is not music."""
    artist = as_text(record.get("master_metadata_album_artist_name"))
    title = as_text(record.get("master_metadata_track_name"))
    user, action = as_text(record.get("username")), action_of(record["ms_played"])
    if record.get("episode_name") or record.get("audiobook_title"):
        return NOT_MUSIC
    if not artist or not title:
        return NAMELESS
    time = start_time(record["ts"], record["ms_played"])
    return ListenRow(user=user, artist=artist, title=title, time=time, action=action)


def action_of(played_ms: Any) -> Action:
    """Return what it means that a stream was played for so long."""
    return Action.SKIP if float(played_ms) < MIN_PLAY_MS else Action.LISTEN


def _library_row(named: tuple[str, Any]) -> ListenRow | LeftOut:
    name, entry = named
    if name != "tracks":
        return _NOT_SONGS
    return ListenRow(artist=as_text(entry["artist"]), title=as_text(entry["track"]), action=Action.HEART)


def _playlist_tracks(stem: str, playlists: Iterable[tuple[int, Any]]) -> Iterator[ListenRow | LeftOut]:
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
            if not isinstance(track, dict):  # an episode or a local file
                yield NOT_MUSIC
                continue
            artist = as_text(track.get("artist_name") or track.get("artistName"))
            title = as_text(track.get("track_name") or track.get("trackName"))
            yield ListenRow(user=name, artist=artist, title=title)


def _is_playlists(beginning: Beginning) -> bool:
    return beginning.shape is not None and beginning.shape.under == "playlists"


def _is_library(beginning: Beginning) -> bool:
    tracks = beginning.record.get("tracks")
    return beginning.has_names(("tracks", "albums", "artists")) and isinstance(tracks, list)


def _refused_podcasts(beginning: Beginning) -> str:
    return "is a history of podcasts; there is no music in it." if "podcastName" in beginning.record else ""


SPOTIFY_ACCOUNT = ListenFormat(
    name="spotify-account",
    kind="events",
    read=read_spotify_account,
    matches=with_names("endTime", "artistName", "trackName", "msPlayed"),
    needs=("endTime", "artistName", "trackName", "msPlayed"),
    refusal=_refused_podcasts,
)
SPOTIFY_EXTENDED = ListenFormat(
    name="spotify-extended",
    kind="events",
    read=read_spotify_extended,
    matches=with_names("ts", "ms_played", "master_metadata_track_name"),
    needs=("ts", "ms_played", "master_metadata_track_name", "master_metadata_album_artist_name"),
)
SPOTIFY_PLAYLISTS = ListenFormat(
    name="spotify-playlists", kind="playlists", read=read_spotify_playlists, matches=_is_playlists
)
SPOTIFY_LIBRARY = ListenFormat(
    name="spotify-library",
    kind="events",
    read=read_spotify_library,
    matches=_is_library,
    needs=("tracks", "albums", "artists"),
)
