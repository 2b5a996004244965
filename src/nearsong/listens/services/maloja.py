"""Maloja's export -> blocks: an object with the scrobbles, each with its track, which may have several artists."""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import NAMELESS, LeftOut, ListenRow, as_text, read_records
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile


def read_maloja(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read scrobbles; the first artist of a track counts."""
    yield from read_records(source, builder, user, scrobble_row)


def scrobble_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of a scrobble.

    >>> scrobble_row({"time": 1675168440, "track": {"artists": ["Ann", "Bob"], "title": "Song"}})[:2]
    ('Ann', 'Song')
    """
    track = record["track"]
    artist = as_text(track.get("artists"))
    if not artist.strip():
        return NAMELESS
    return ListenRow(artist=artist, title=as_text(track.get("title")), time=record["time"])


def _is_maloja(beginning: Beginning) -> bool:
    track = beginning.record.get("track")
    return isinstance(track, dict) and "artists" in track and "time" in beginning.record


MALOJA = ListenFormat(
    name="maloja", kind="events", read=read_maloja, matches=_is_maloja, needs=("time", "track", "origin")
)
