"""A row of the table of songs -> the song."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from nearsong.library.records import Song
from nearsong.library.store.text import text_to_path

_FLAGS = [field.name for field in fields(Song) if field.type is bool]


def song_of_row(row: Mapping[Any, Any]) -> Song:
    """Return the song that a row of its table describes."""
    facts = {**row, **{name: bool(row[name]) for name in _FLAGS}}  # SQLite has numbers
    if facts["bit_rate"] is None and facts["seconds"] > 0:  # damaged files declare none
        facts["bit_rate"] = round(facts["size"] * 8 / facts["seconds"] / 1000)
    return Song(**{**facts, "path": text_to_path(facts["path"])})
