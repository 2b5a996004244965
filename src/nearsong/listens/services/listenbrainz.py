"""ListenBrainz listens, from its exports, API or dumps -> blocks.

An export is a zip of JSONL files, one per month; formerly one JSON array. ListenBrainz's own match of a listen
(``mbid_mapping``) takes precedence over the MBIDs submitted with it.
"""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import ListenFormat, with_names
from nearsong.listens.json_records import NOW_PLAYING, LeftOut, ListenRow, as_text, read_records
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile


def read_listenbrainz(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read listens; those without a user belong to ``user``."""
    yield from read_records(source, builder, user, listen_row)


def listen_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of a listen, unless it is "now playing".

    >>> listen_row({"listened_at": 1700000000, "track_metadata": {"artist_name": "Ann", "track_name": "Song"}})[:2]
    ('Ann', 'Song')
    """
    if record.get("playing_now"):
        return NOW_PLAYING
    track = record["track_metadata"]
    sent = track.get("additional_info") or {}
    matched = track.get("mbid_mapping") or {}
    time = record.get("listened_at")
    recording_mbid = matched.get("recording_mbid") or sent.get("recording_mbid") or sent.get("lastfm_track_mbid")
    artist_mbid = matched.get("artist_mbids") or sent.get("artist_mbids") or sent.get("lastfm_artist_mbid")
    return ListenRow(
        user=as_text(record.get("user_name")),
        artist=as_text(track["artist_name"]),
        title=as_text(track.get("track_name")),
        recording_mbid=as_text(recording_mbid),
        artist_mbid=as_text(artist_mbid),
        time=record.get("timestamp") if time is None else time,  # as the dumps call it
    )


LISTENBRAINZ = ListenFormat(
    name="listenbrainz",
    kind="events",
    read=read_listenbrainz,
    matches=with_names("track_metadata"),
    needs=("track_metadata", "listened_at"),
)
