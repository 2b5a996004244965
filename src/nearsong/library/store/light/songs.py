"""A row of the table of songs -> the song."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from nearsong.library.records import Song
from nearsong.library.store.text import text_to_path

_REPEATED = (
    *("artist", "artist_key", "album", "album_artist", "genre", "year"),
    *("artist_mbid", "bit_rate", "sample_rate"),
)
"""Fields of text and whole numbers that many songs have the same value of."""

_FLAGS = [field.name for field in fields(Song) if field.type is bool]


def song_of_row(row: Mapping[Any, Any], shared: dict[Any, Any] | None = None) -> Song:
    """Return the song that a row of its table describes; songs with the same ``shared`` hold each value once."""
    facts = {**row, **{name: bool(row[name]) for name in _FLAGS}}  # SQLite has numbers
    if facts["bit_rate"] is None and facts["seconds"] > 0:  # damaged files declare none
        facts["bit_rate"] = round(facts["size"] * 8 / facts["seconds"] / 1000)
    if shared is not None:
        facts |= {name: shared.setdefault(facts[name], facts[name]) for name in _REPEATED}
    return Song(**{**facts, "path": text_to_path(facts["path"])})
