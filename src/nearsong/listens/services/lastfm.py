"""Answers of Last.fm's API, as programs save them -> blocks.

A file holds one page or a list of pages, each with an array of tracks: ``recenttracks`` are listens, ``lovedtracks``
are hearts. Every page may begin with what was playing at that moment; it has no date and is left out.
"""

import re
from collections.abc import Iterator
from typing import Any

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import (
    NOW_PLAYING,
    FlatRecords,
    LeftOut,
    ListenRow,
    add_records,
    array_items,
    records,
    shape_of,
)
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

RECENT, LOVED = "recenttracks", "lovedtracks"

_TRACKS_START = re.compile(r'"track"\s*:\s*\[')
_LOVED_START = re.compile(r'\s*\{\s*"lovedtracks"')

_Tagged = tuple[bool, Any]
"""Whether a track is loved, and the track."""


def read_lastfm_pages(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read pages of tracks."""
    builder.begin(source.name, user, "track")
    flat = FlatRecords()

    def say(tagged: _Tagged) -> ListenRow | LeftOut:
        is_loved, track = tagged
        if not is_loved and not track.get("date"):
            return NOW_PLAYING
        row = flat(track)
        return row._replace(action=Action.HEART) if is_loved and isinstance(row, ListenRow) else row

    yield from add_records(builder, user, enumerate(_tracks(source, builder), start=1), say)
    builder.end()


def _tracks(source: SourceFile, builder: BlockBuilder) -> Iterator[_Tagged]:
    shape = shape_of(source)
    if shape.name == "object":
        head = next(source.json_pieces(), "")
        is_loved = bool(_LOVED_START.match(head))
        for track in array_items(source, _TRACKS_START):
            yield is_loved, track
        return
    for _, page in records(source, builder, shape):
        yield from _of_page(page)


def _of_page(page: Any) -> Iterator[_Tagged]:
    """Yield the tracks of a page, which may be a track itself."""
    if not isinstance(page, dict):
        yield False, page
        return
    is_loved = LOVED in page
    content = page.get(LOVED) or page.get(RECENT) or page
    tracks = content.get("track", page) if isinstance(content, dict) else content
    for track in tracks if isinstance(tracks, list) else (tracks,):
        yield is_loved, track


def _is_page(beginning: Beginning) -> bool:
    record = beginning.record
    if RECENT in record or LOVED in record:
        return True
    return isinstance(record.get("track"), list) and "@attr" in record


LASTFM_API = ListenFormat(
    name="lastfm-api", kind="events", read=read_lastfm_pages, matches=_is_page, needs=("recenttracks",)
)
