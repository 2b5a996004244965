"""ListenBrainz listens, from its exports, API or dumps -> blocks.

An export is a zip of JSONL files, one per month; formerly one JSON array. ListenBrainz's own match of a listen
(``mbid_mapping``) takes precedence over the MBIDs submitted with it.
"""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.json_records import ListenRow, as_text, read_records
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile


def read_listenbrainz(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read listens; those without a user belong to ``user``."""
    yield from read_records(source, builder, user, listen_row)


def listen_row(record: Any) -> ListenRow | None:
    """Return the row of a listen; None for "now playing".

    >>> listen_row({"listened_at": 1700000000, "track_metadata": {"artist_name": "Ann", "track_name": "Song"}})
    ('', 'Ann', 'Song', '', '', 1, 1700000000)
    """
    if record.get("playing_now"):
        return None
    track = record["track_metadata"]
    sent = track.get("additional_info") or {}
    matched = track.get("mbid_mapping") or {}
    time = record.get("listened_at")
    return (
        as_text(record.get("user_name")),
        as_text(track["artist_name"]),
        as_text(track.get("track_name")),
        as_text(matched.get("recording_mbid") or sent.get("recording_mbid") or sent.get("lastfm_track_mbid")),
        as_text(matched.get("artist_mbids") or sent.get("artist_mbids") or sent.get("lastfm_artist_mbid")),
        1,
        record.get("timestamp") if time is None else time,  # as the dumps call it
    )
