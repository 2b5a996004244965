"""The songs of a server for players -> plays, hearts and ratings of a user, as the server counts them."""

from collections.abc import Iterator
from typing import Any

from nearsong.listens.json_records import ListenRow, as_text
from nearsong.listens.records import Action
from nearsong.listens.times import parse_time

FORMAT = "subsonic"
MAX_STARS = 5


def rows_of(song: dict[str, Any]) -> Iterator[ListenRow]:
    """Yield what a server knows about a song: its plays, its heart, its rating."""
    name = ListenRow(
        artist=as_text(song.get("artist")) or as_text(song.get("displayArtist")),
        title=as_text(song.get("title")),
        recording_mbid=as_text(song.get("musicBrainzId")),
    )
    plays, stars = _number(song.get("playCount")), _number(song.get("userRating"))
    if plays > 0:
        yield name._replace(plays=plays, time=_time(song.get("played")))
    if song.get("starred"):
        yield name._replace(action=Action.HEART, time=_time(song["starred"]))
    if 0 < stars <= MAX_STARS:
        yield name._replace(action=Action.RATING, plays=stars)


def _number(value: Any) -> float:
    """Return a count as a number, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0 <= value <= 1e9 else 0.0


def _time(value: Any) -> int:
    return max(0, parse_time(value)) if isinstance(value, str) else 0
