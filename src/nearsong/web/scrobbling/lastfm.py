"""Scrobbles of clients of Last.fm: the part of its API 2.0 that they use, at ``/2.0/``.

The password is the app password of a listener, or the token of the service. Signatures (``api_sig``) cannot be
checked, since nobody but the client and Last.fm knows its secret; keys of sessions are what counts.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from nearsong.errors import InvalidInputError, NearsongError
from nearsong.library import checked_time, checked_track
from nearsong.listens.records import TrackName
from nearsong.names import listener_key
from nearsong.web.http.authentication import LASTFM, LASTFM_BARE
from nearsong.web.http.callers import remember_caller
from nearsong.web.http.problems import ApiError
from nearsong.web.http.rate_limits import spend
from nearsong.web.scrobbling.lastfm_answers import (
    BUSY,
    INVALID_METHOD,
    INVALID_PARAMETERS,
    INVALID_SESSION,
    NOT_ALLOWED,
    TOO_MANY,
    WRONG_CREDENTIALS,
    LastfmError,
    answer,
    failed,
)
from nearsong.web.scrobbling.lastfm_sessions import caller_in_session, start_session
from nearsong.web.scrobbling.recording import as_api_error, check_recording, record, song_named
from nearsong.web.service.service import Service, service_of
from nearsong.web.subsonic.envelope import ProtocolError
from nearsong.web.subsonic.parameters import Parameters, read_parameters

MAX_SCROBBLES = 50
"""Scrobbles in one request, as at Last.fm."""

TAKEN, ARTIST_IGNORED, TRACK_IGNORED, TOO_OLD, TOO_NEW = range(5)
"""Why a scrobble is ignored, as Last.fm numbers it."""

_NAMES = ("track", "artist", "album", "albumArtist")
_CODES = {403: NOT_ALLOWED, 429: TOO_MANY, 503: BUSY}

Body = Mapping[str, Any]

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class _Call:
    service: Service
    request: Request
    parameters: Parameters
    listener: str = ""


@router.api_route(LASTFM_BARE, methods=["GET", "POST"])
@router.api_route(LASTFM, methods=["GET", "POST"])
async def lastfm(request: Request) -> Response:
    """Call a method."""
    parameters = Parameters()
    try:
        parameters = await read_parameters(request)
        return answer(parameters.text("format"), await _called(service_of(request), request, parameters))
    except LastfmError as error:
        return failed(parameters.text("format"), error)
    except (ApiError, HTTPException, NearsongError, ProtocolError) as error:
        return failed(parameters.text("format"), _of_error(as_api_error(error)))


def _of_error(error: ApiError) -> LastfmError:
    code = _CODES.get(error.status, INVALID_PARAMETERS)
    return LastfmError(code, error.detail, error.status, error.headers)


async def _called(service: Service, request: Request, parameters: Parameters) -> Body:
    name = parameters.text("method").lower()
    if name not in METHODS and name not in WRITING_METHODS and name != "auth.getmobilesession":
        raise LastfmError(INVALID_METHOD, f"method not supported: {parameters.text('method')[:40]!r}.")
    if name not in METHODS and request.method != "POST":  # a link on a page must not write
        raise LastfmError(INVALID_PARAMETERS, f"{name} needs POST.")
    call = _Call(service, request, parameters)
    if name == "auth.getmobilesession":
        return _log_in(call)
    found = caller_in_session(service.callers, parameters.text("sk"))
    if found is None:
        _count_failure(request)
        raise LastfmError(INVALID_SESSION, "no such session; log in again with your app password.")
    listener, caller = found
    remember_caller(caller)
    call = _Call(service, request, parameters, listener)
    if name in WRITING_METHODS:
        return await service.writes.run(WRITING_METHODS[name], call)
    return await run_in_threadpool(METHODS[name], call)


def _count_failure(request: Request) -> None:
    spend(request.app.state.wrong_tokens, request, "wrong passwords")


def _log_in(call: _Call) -> Body:
    session = start_session(call.service.callers, call.parameters)
    if session is None:
        _count_failure(call.request)
        which = "your app password" if call.service.callers.has_accounts else "the service's token"
        raise LastfmError(WRONG_CREDENTIALS, f"wrong user name or password; the password is {which}.")
    name, key = session
    return {"session": {"name": {"value": name}, "key": {"value": key}, "subscriber": {"value": 0}}}


def user_info(call: _Call) -> Body:
    """Return the listener's name and number of plays."""
    wanted = call.parameters.text("user")
    if wanted and listener_key(wanted) != listener_key(call.listener):
        raise LastfmError(INVALID_PARAMETERS, "only your own name can be looked up here.")
    n_plays = call.service.library.play_log.count_of(call.listener)
    return {"user": {"name": {"value": call.listener}, "playcount": {"value": n_plays}, "subscriber": {"value": 0}}}


def scrobble(call: _Call) -> Body:
    """Record plays; those that cannot be right are ignored, each with the reason."""
    suffixes = _suffixes(call.parameters)
    for suffix in suffixes:
        for name in ("artist", "track", "timestamp"):
            if name + suffix not in call.parameters:
                raise LastfmError(INVALID_PARAMETERS, f"the parameter {name}{suffix} is missing.")
    check_recording(call.service, call.request, len(suffixes))
    now = time.time()
    checked = [_checked(call.parameters, suffix, now) for suffix in suffixes]
    taken = [item for item in checked if isinstance(item, tuple)]
    if taken:
        record(call.service, taken, call.listener)
    answers = [
        {
            **_named(call.parameters, suffix, TAKEN if isinstance(item, tuple) else item),
            "timestamp": {"value": call.parameters.text("timestamp" + suffix)[:20]},
        }
        for suffix, item in zip(suffixes, checked, strict=True)
    ]
    counts = {"accepted": len(taken), "ignored": len(checked) - len(taken)}
    return {"scrobbles": {**counts, "scrobble": answers}}


def update_now_playing(call: _Call) -> Body:
    """Note what the listener plays now."""
    track = _track(call.parameters)
    check_recording(call.service, call.request, 1)
    if isinstance(track, TrackName):
        text = call.parameters.text("duration")
        seconds = float(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
        call.service.now_playing.put(call.listener, track, seconds=seconds)
    return {"nowplaying": _named(call.parameters, "", TAKEN if isinstance(track, TrackName) else track)}


def love(call: _Call) -> Body:
    """Give a song a heart; of a track that the library does not have, nothing is stored."""
    return _react(call, call.service.library.reactions.heart)


def unlove(call: _Call) -> Body:
    """Remove the heart of a song."""
    return _react(call, call.service.library.reactions.remove_heart)


def _react(call: _Call, change: Callable[[list[int | str], str], None]) -> Body:
    track = _track(call.parameters)
    if not isinstance(track, TrackName):
        raise LastfmError(INVALID_PARAMETERS, "the name of the artist or of the track is empty.")
    check_recording(call.service, call.request, 1)
    song = song_named(call.service, track)
    if song is not None:
        change([song.id], call.listener)
    return {}


def _suffixes(parameters: Parameters) -> list[str]:
    """Return what follows the names of parameters: an index for each scrobble, or nothing for a single one."""
    indices = [
        index
        for index in range(MAX_SCROBBLES + 1)
        if any(f"{name}[{index}]" in parameters for name in ("artist", "track", "timestamp"))
    ]
    if MAX_SCROBBLES in indices:
        raise LastfmError(INVALID_PARAMETERS, f"more than {MAX_SCROBBLES} scrobbles; send less at a time.")
    return [f"[{index}]" for index in indices] or [""]


def _checked(parameters: Parameters, suffix: str, now: float) -> tuple[TrackName, int] | int:
    """Return a scrobble, or why it is ignored."""
    track = _track(parameters, suffix)
    if not isinstance(track, TrackName):
        return track
    text = parameters.text("timestamp" + suffix).strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        return TOO_OLD
    try:
        return track, checked_time(int(text), now)
    except InvalidInputError:
        return TOO_NEW if int(text) > now else TOO_OLD


def _track(parameters: Parameters, suffix: str = "") -> TrackName | int:
    """Return the track of a call, or why it is ignored."""
    artist, title = parameters.text("artist" + suffix), parameters.text("track" + suffix)
    for text, reason in ((artist, ARTIST_IGNORED), (title, TRACK_IGNORED)):
        try:
            checked_track(TrackName(text, text))
        except InvalidInputError:
            return reason
    return checked_track(TrackName(artist, title, parameters.text("mbid" + suffix)))


def _named(parameters: Parameters, suffix: str, ignored: int) -> dict[str, Any]:
    """Return what was sent, as Last.fm does: nothing is ever corrected here."""
    names = {name: {"corrected": 0, "value": parameters.text(name + suffix)[:500]} for name in _NAMES}
    return {**names, "ignoredMessage": {"code": ignored, "value": _REASONS[ignored]}}


_REASONS = ("", "no artist", "no title", "the time is too old, or none", "the time is in the future")

METHODS: dict[str, Callable[[_Call], Body]] = {"user.getinfo": user_info}

WRITING_METHODS: dict[str, Callable[[_Call], Body]] = {
    "track.scrobble": scrobble,
    "track.updatenowplaying": update_now_playing,
    "track.love": love,
    "track.unlove": unlove,
}
"""Methods that write, and so go through the write queue of the service."""
