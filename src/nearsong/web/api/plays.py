"""That a song was played: kept, so that the library learns from its own listeners."""

import time

from fastapi import APIRouter, Request
from starlette.responses import Response

from nearsong.web import limits
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import PlayIn
from nearsong.web.service import Shared

router = APIRouter(tags=["listens"])


@router.post(
    "/plays",
    status_code=204,
    response_class=Response,
    response_description="It is noted.",
    summary="Note that a song was played",
    responses=responses(400, 403, 404, 422, 429, 503),
)
def note(request: Request, service: Shared, play: PlayIn) -> Response:
    """Note a play; the next training learns from it. The same song told again within half a minute is one play."""
    if not service.settings.plays:
        raise ApiError(403, "this server does not keep what is played.", "plays-not-kept")
    limits.spend(service.play_limit, request, "plays")
    service.library.played.note(play.song_id, play.listener, time.time() - play.seconds)
    return Response(status_code=204)
