"""JSON that a ListenBrainz client submits -> the listens in it, all of them or an error; and listens -> JSON."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.library import MAX_PLAYS_PER_REQUEST, checked_time, checked_track
from nearsong.listens.records import TrackName
from nearsong.web.http.problems import ApiError

LISTEN_TYPES = ("single", "playing_now", "import")
MAX_LISTEN_BYTES = 10_240
"""Bytes of a listen, on average over a request, as on listenbrainz.org."""


@dataclass(frozen=True)
class Listen:
    """A listen as a client submits it.

    Attributes
    ----------
    track : TrackName
    time : int or None
        When it began, in seconds since 1970; None if it plays now.
    seconds : float or None
        Duration of the track.
    player : str
        The program that played or submitted it; may be empty.
    """

    track: TrackName
    time: int | None
    seconds: float | None
    player: str


def parse_listens(body: bytes) -> tuple[str, list[Listen]]:
    """Return the type and the listens of a request, all of them valid.

    Raises
    ------
    ApiError
        400 if anything is not as it should be; 413 if there is too much of it.
    """
    document = _parsed(body)
    listen_type, payload = document.get("listen_type"), document.get("payload")
    if listen_type not in LISTEN_TYPES:
        raise ApiError(400, f"listen_type is not one of {', '.join(LISTEN_TYPES)}.")
    if not isinstance(payload, list) or not payload:
        raise ApiError(400, "payload is not a list of listens, or is empty.")
    if len(payload) > 1 and listen_type != "import":
        raise ApiError(400, f"{len(payload):,} listens of type {listen_type}; send one, or the type import.")
    if len(payload) > MAX_PLAYS_PER_REQUEST:
        raise ApiError(400, f"{len(payload):,} listens in one request; send at most {MAX_PLAYS_PER_REQUEST:,}.")
    if len(body) > len(payload) * MAX_LISTEN_BYTES:
        raise ApiError(413, f"a listen has more than {MAX_LISTEN_BYTES:,} bytes; send less about it.")
    now = None if listen_type == "playing_now" else time.time()
    return listen_type, [_listen(item, number, now) for number, item in enumerate(payload)]


def listen_json(track: TrackName, listener: str, at: int | None) -> dict[str, Any]:
    """Return a listen as ListenBrainz does; one without a time plays now."""
    info: dict[str, Any] = {"submission_client": "nearsong"}
    if track.recording_mbid:
        info["recording_mbid"] = track.recording_mbid
    if track.artist_mbid:
        info["artist_mbids"] = [track.artist_mbid]
    metadata = {"artist_name": track.artist, "track_name": track.title, "additional_info": info}
    times: dict[str, Any] = {"playing_now": True} if at is None else {"listened_at": at}
    return {**times, "user_name": listener, "track_metadata": metadata}


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise ApiError(400, "the JSON is nested too deeply; send listens as listenbrainz.org takes them.") from None
    except ValueError:
        raise ApiError(400, "the body is not valid JSON in UTF-8.") from None
    if not isinstance(document, dict):
        raise ApiError(400, "the body is not a JSON object with listen_type and payload.")
    return document


def _no_number(_word: str) -> float:
    raise ValueError


def _listen(item: Any, number: int, now: float | None) -> Listen:
    where = f"payload[{number}]"
    metadata = _mapping(_mapping(item).get("track_metadata"))
    info = _mapping(metadata.get("additional_info"))
    artist, title = metadata.get("artist_name"), metadata.get("track_name")
    if not isinstance(artist, str) or not isinstance(title, str):
        raise ApiError(400, f"{where}: track_metadata has no artist_name or no track_name, which must be texts.")
    named = TrackName(artist, title, _text(info.get("recording_mbid")), _first(info.get("artist_mbids")))
    try:
        track = checked_track(named)
        start = None if now is None else checked_time(_seconds(_mapping(item).get("listened_at"), where), now)
    except InvalidInputError as error:
        raise ApiError(400, f"{where}: {error}") from None
    milliseconds = _number(info.get("duration_ms"))
    seconds = _number(info.get("duration")) if milliseconds is None else milliseconds / 1000
    player = _text(info.get("media_player")) or _text(info.get("submission_client"))
    return Listen(track, start, seconds, player[:100])


def _seconds(value: Any, where: str) -> float:
    """Return a time; some clients send it as a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    number = _number(value)
    if number is None:
        raise ApiError(400, f"{where}: listened_at is not a number of seconds since 1970.")
    return number


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first(value: Any) -> str:
    """Return the first of several MBIDs; some clients send one text."""
    return _text(value[0]) if isinstance(value, list) and value else _text(value).partition(",")[0]
