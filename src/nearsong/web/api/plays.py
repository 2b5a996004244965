"""Plays of songs, recorded so that the library can learn from its own listeners."""

import time

from fastapi import APIRouter, Request
from starlette.responses import Response

from nearsong.web.http import rate_limits as limits
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.schemas import PlayIn
from nearsong.web.service.service import Shared
from nearsong.web.service.writes import queued

router = APIRouter(tags=["listens"])


@router.post(
    "/plays",
    status_code=204,
    response_class=Response,
    response_description="Recorded.",
    summary="Record a play",
    responses=responses(400, 403, 404, 422, 429, 503),
)
@queued
def note(request: Request, service: Shared, caller: CurrentCaller, play: PlayIn) -> Response:
    """Record a play; the next training uses it. The same song again within half a minute is one play."""
    if not service.settings.plays:
        raise ApiError(403, "this service does not record plays.", "plays-not-recorded")
    limits.spend(service.play_limit, request, "plays")
    service.library.play_log.record(play.song_id, caller.acts_as(play.listener), time.time() - play.seconds)
    return Response(status_code=204)
