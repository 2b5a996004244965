"""The files of Pano Scrobbler, JSONL or CSV -> blocks: scrobbles, and songs that were loved."""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import ListenFormat, with_names
from nearsong.listens.formats.table_records import read_json_or_table
from nearsong.listens.json_records import NAMELESS, NOW_PLAYING, LeftOut, ListenRow, as_text
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

_HEARTS = frozenset({"love", "loved"})
_HEARTS_TAKEN_BACK = frozenset({"unlove", "unloved"})
_NO_LONGER_LOVED = LeftOut("no longer loved")


def read_pano(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read events, one per line."""
    yield from read_json_or_table(source, builder, user, event_row)


def event_row(record: Any) -> ListenRow | LeftOut:
    """Return the row of an event; one without a name is a scrobble.

    >>> event_row({"timeMs": 1675168440000, "artist": "Ann", "track": "Song", "event": "love"}).action.name
    'HEART'
    """
    event = as_text(record.get("event")).lower().replace("_", "")
    artist, title, time = as_text(record["artist"]), as_text(record.get("track")), record["timeMs"]
    if event in _HEARTS_TAKEN_BACK:
        return _NO_LONGER_LOVED
    if event == "nowplaying":
        return NOW_PLAYING
    if not artist.strip():
        return NAMELESS
    return ListenRow(
        artist=artist, title=title, time=time, action=Action.HEART if event in _HEARTS else Action.LISTEN
    )


PANO = ListenFormat(
    name="pano",
    kind="events",
    read=read_pano,
    matches=with_names("timeMs", "artist", "track"),
    needs=("timeMs", "artist", "track"),
)
