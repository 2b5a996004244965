"""Listens of clients that submit to ListenBrainz: the part of its API that they use, below ``/1``.

A listener is who the token belongs to. Errors are JSON with ``code`` and ``error``, and their HTTP status. A request
is checked completely before anything of it is stored.
"""

import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from nearsong.errors import NearsongError
from nearsong.library import DEFAULT_USER
from nearsong.web.http.callers import ANYBODY, Caller, remember_caller
from nearsong.web.http.problems import ApiError
from nearsong.web.http.rate_limits import spend
from nearsong.web.scrobbling.listen_json import listen_json, parse_listens
from nearsong.web.scrobbling.recording import as_api_error, check_recording, record
from nearsong.web.service.service import service_of

DEFAULT_COUNT, MAX_COUNT = 25, 1_000
"""Listens that are read in one request, as on listenbrainz.org."""

router = APIRouter(include_in_schema=False)

Body = Mapping[str, Any]


def _answered(route: Callable[..., Awaitable[Body]]) -> Callable[..., Awaitable[Response]]:
    """Make a route answer in JSON, errors too."""

    @functools.wraps(route)
    async def run(request: Request) -> Response:
        try:
            return _json(200, await route(request))
        except (ApiError, HTTPException, NearsongError) as error:
            return _failed(as_api_error(error))

    return run


@router.post("/submit-listens")
@_answered
async def submit_listens(request: Request) -> Body:
    """Record listens, or note what plays now."""
    service = service_of(request)
    listener = _listener(_caller(request))
    listen_type, listens = await run_in_threadpool(parse_listens, await request.body())
    check_recording(service, request, len(listens))
    if listen_type == "playing_now":
        (listen,) = listens
        note = partial(service.now_playing.put, seconds=listen.seconds, player=listen.player)
        await run_in_threadpool(note, listener, listen.track)
    else:
        played = [(listen.track, listen.time) for listen in listens if listen.time is not None]
        await service.writes.run(record, service, played, listener)
    return {"status": "ok"}


@router.get("/validate-token")
@_answered
async def validate_token(request: Request) -> Body:
    """Say whether a token is valid, and whose it is; a wrong one is no error."""
    if not _token(request):
        raise ApiError(400, "no token was sent; send it as `Authorization: Token TOKEN`.")
    try:
        caller = _caller(request)
    except ApiError as error:
        if error.status != 401:
            raise
        return {"code": 200, "message": "Token invalid.", "valid": False}
    return {"code": 200, "message": "Token valid.", "valid": True, "user_name": _listener(caller)}


@router.get("/user/{name}/listens")
@_answered
async def listens_of(request: Request) -> Body:
    """Return plays of a listener that nearsong recorded, the latest first."""
    name, listener = _named(request)
    log = service_of(request).library.play_log
    after, before = _number(request, "min_ts"), _number(request, "max_ts")
    count = _number(request, "count")
    n = DEFAULT_COUNT if count is None else min(count, MAX_COUNT)
    read = functools.partial(log.latest, listener, n, after=after, before=before)
    plays, newest = await run_in_threadpool(lambda: (read(), log.latest(listener, 1)))
    return {
        "payload": {
            "user_id": name,
            "count": len(plays),
            "listens": [listen_json(play.track, name, play.time) for play in plays],
            "latest_listen_ts": newest[0].time if newest else 0,
        }
    }


@router.get("/user/{name}/listen-count")
@_answered
async def listen_count_of(request: Request) -> Body:
    """Return how many plays of a listener nearsong recorded."""
    _, listener = _named(request)
    n_plays = await run_in_threadpool(service_of(request).library.play_log.count_of, listener)
    return {"payload": {"count": n_plays}}


@router.get("/user/{name}/playing-now")
@_answered
async def playing_now_of(request: Request) -> Body:
    """Return what a listener plays now."""
    name, listener = _named(request)
    playing = await run_in_threadpool(service_of(request).now_playing.of, listener)
    listens = [] if playing is None else [listen_json(playing.track, name, None)]
    return {"payload": {"user_id": name, "count": len(listens), "playing_now": True, "listens": listens}}


@router.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
@_answered
async def other(request: Request) -> Body:
    """Refuse what is not supported."""
    raise ApiError(404, f"not supported here: {request.method} {request.scope['path'][:60]!r}.")


def _caller(request: Request) -> Caller:
    """Return who sends a request; a wrong token counts as one elsewhere does."""
    callers = service_of(request).callers
    if callers.is_open:
        remember_caller(ANYBODY)
        return ANYBODY
    token = _token(request)
    if not token:
        raise ApiError(401, "no token was sent; send it as `Authorization: Token TOKEN`.")
    caller = callers.with_token(token)
    if caller is None:
        spend(request.app.state.wrong_tokens, request, "wrong tokens")
        raise ApiError(401, "wrong token: it is no listener's, nor that of the service.")
    remember_caller(caller)
    return caller


def _token(request: Request) -> str:
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    token = sent.strip() if scheme.lower() in ("token", "bearer") else ""
    return token or request.query_params.get("token", "")


def _listener(caller: Caller) -> str:
    return caller.listener or DEFAULT_USER


def _named(request: Request) -> tuple[str, str]:
    """Return the name in the address, and the listener, whom the caller may see."""
    name: str = request.path_params["name"]
    return name, _caller(request).acts_as(name)


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise ApiError(400, f"{name}={text[:40]!r} is not an integer from 0 on.")
    return int(text)


def _failed(error: ApiError) -> Response:
    headers = dict(error.headers)
    if error.status == 429 and "Retry-After" in headers:
        headers["X-RateLimit-Reset-In"] = headers["Retry-After"]  # what clients of ListenBrainz wait for
    return _json(error.status, {"code": error.status, "error": error.detail}, headers)


def _json(status: int, body: Body, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, dict(headers or {}), "application/json")
