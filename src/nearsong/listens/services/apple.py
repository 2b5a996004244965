"""Apple Music's tables, from a copy of one's data -> blocks.

``Apple Music Play Activity.csv`` has each play, but names the artist only in some years. ``Apple Music - Play History
Daily Tracks.csv`` has how often a song was played on a day, always with its artist.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.formats.table_records import read_table_records
from nearsong.listens.json_records import NAMELESS, NOT_MUSIC, NOT_PLAYED, LeftOut, ListenRow
from nearsong.listens.playlists.playlist_format import DASH
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.services.spotify import MIN_PLAY_MS
from nearsong.listens.sources import SourceFile
from nearsong.listens.times import start_time

_OTHER_EVENTS = LeftOut("events other than the end of a play")
_NOT_BY_ONE_ARTIST = frozenset({"PLAYLIST", "RADIO", "STATION", "MIX"})


def read_apple(source: SourceFile, builder: BlockBuilder, user: str, *, daily: bool = False) -> Iterator[ListenBlock]:
    """Read the table of plays, or that of days."""
    yield from read_table_records(source, builder, user, daily_rows if daily else activity_row)


def activity_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of an event; only the end of a play counts.

    >>> play = {"eventtype": "PLAY_END", "artistname": "Ann", "songname": "Song", "playdurationmilliseconds": "9000",
    ...         "endreasontype": "TRACK_SKIPPED_FORWARDS", "eventstarttimestamp": "2023-01-31T12:34:00Z"}
    >>> activity_row(play).action.name, activity_row(play | {"endreasontype": "NATURAL_END_OF_TRACK"}).action.name
    ('SKIP', 'LISTEN')
    """
    title, reason = record["songname"], record.get("endreasontype", "").upper()
    if record.get("eventtype", "").upper() not in ("", "PLAY_END"):
        return _OTHER_EVENTS
    if "VIDEO" in record.get("mediatype", "").upper():
        return NOT_MUSIC
    if reason == "FAILED_TO_LOAD":
        return NOT_PLAYED
    artist = _artist(record)
    if not artist or not title.strip():
        return NAMELESS
    played_ms = record.get("playdurationmilliseconds", "").strip()
    is_short = float(played_ms) < MIN_PLAY_MS if played_ms else "SKIPPED" in reason
    ended = record.get("eventendtimestamp")
    return ListenRow(
        artist=artist,
        title=title,
        time=record.get("eventstarttimestamp") or (start_time(ended, played_ms) if ended and played_ms else ended),
        action=Action.SKIP if is_short and reason != "NATURAL_END_OF_TRACK" else Action.LISTEN,
    )


def daily_rows(record: Any) -> LeftOut | list[ListenRow | LeftOut]:
    """Return how often a song was played and skipped on a day."""
    artist, *rest = DASH.split(record["trackdescription"], maxsplit=1)
    plays, skips = (float(record.get(name, "").strip() or 0) for name in ("playcount", "skipcount"))
    if "VIDEO" in record.get("mediatype", "").upper():
        return NOT_MUSIC
    if not rest or not artist.strip():
        return NAMELESS
    row = ListenRow(artist=artist, title=rest[0], time=record["dateplayed"])
    rows: list[ListenRow | LeftOut] = []
    if plays:
        rows.append(row._replace(plays=plays))
    if skips:
        rows.append(row._replace(plays=skips, action=Action.SKIP))
    return rows or NOT_PLAYED


def _artist(record: Any) -> str:
    """Return the artist of the song, or that of the album it was played from."""
    if artist := record.get("artistname", "").strip():
        return str(artist)
    artist = record.get("containerartistname", "").strip()
    is_shared = record.get("containertype", "").upper() in _NOT_BY_ONE_ARTIST or artist == "Various Artists"
    return "" if is_shared else str(artist)


def _is_activity(beginning: Beginning) -> bool:
    names = ("Song Name", "Play Duration Milliseconds")
    times = ("Event Start Timestamp", "Event End Timestamp")
    return beginning.has_names(names) and any(beginning.has_names([time]) for time in times)


APPLE_ACTIVITY = ListenFormat(
    name="apple-activity",
    kind="events",
    read=read_apple,
    matches=_is_activity,
    instead_of=("apple-daily",),
    needs=("Song Name", "Play Duration Milliseconds", "Event Start Timestamp", "Event Type", "End Reason Type"),
)
APPLE_DAILY = ListenFormat(
    name="apple-daily",
    kind="counts",
    read=partial(read_apple, daily=True),
    matches=lambda beginning: beginning.has_names(("Track Description", "Date Played", "Play Count")),
    needs=("Track Description", "Date Played", "Play Count", "Skip Count"),
)
