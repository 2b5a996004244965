"""ListenBrainz' records of listens, from its exports, its API or its dumps -> blocks.

An export is a zip of JSONL files, one a month; it used to be one JSON array. What ListenBrainz matched a listen to
(``mbid_mapping``) is preferred to the MBIDs that were sent with it.
"""

from collections.abc import Iterator
from typing import Any

from nearsong.library.listens.blocks import BlockBuilder
from nearsong.library.listens.json_records import Said, as_text, read_records
from nearsong.library.listens.sources import Source
from nearsong.library.records import ListenBlock


def read_listenbrainz(source: Source, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read listens; those that name no user are ``user``'s."""
    yield from read_records(source, builder, user, listenbrainz_says)


def listenbrainz_says(record: Any) -> Said | None:
    """Return what a listen says, or None if it has only begun.

    >>> listenbrainz_says({"listened_at": 1700000000, "track_metadata": {"artist_name": "Ann", "track_name": "Song"}})
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
        record.get("timestamp") if time is None else time,  # the name the dumps have for it
    )
