"""Songs for a listener: recommendations from what they play, and a radio that follows what they just did."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from nearsong.library import Heard
from nearsong.web.api.reactions import Listening
from nearsong.web.http.callers import CurrentCaller
from nearsong.web.http.problems import responses
from nearsong.web.json.answers import Json
from nearsong.web.json.filters import FilterParameters
from nearsong.web.json.for_you import ForYouOut, RadioIn, RadioOut, for_you_json, recommendations_json
from nearsong.web.service.service import Shared

router = APIRouter(tags=["for you"])


@router.get(
    "/for-you",
    response_model=ForYouOut,
    response_description="The best first; none for a listener who has played nothing.",
    summary="Recommend songs to a listener",
    responses=responses(400, 403, 404, 409, 422, 503),
)
def for_you(
    service: Shared,
    listener: Listening,
    filters: FilterParameters,
    n: Annotated[int, Query(ge=1, le=500, description="Number of songs.")] = 50,
    include_played: Annotated[bool, Query(description="Also songs that the listener has played.")] = False,
) -> Response:
    """Return songs near what a listener plays, recent plays most, and away from what they skip."""
    snapshot = service.snapshot
    with service.concurrency.slot():
        found = snapshot.for_you(listener, n, filters, include_played=include_played)
    return Json(for_you_json(found, snapshot.plays))


@router.post(
    "/radio",
    response_model=RadioOut,
    response_description="The next songs, in order.",
    summary="Continue a radio",
    responses=responses(400, 403, 404, 409, 422, 503),
)
def radio(service: Shared, caller: CurrentCaller, wanted: RadioIn) -> Response:
    """Return the songs that come next after what was played, liked or skipped so far.

    The service remembers nothing of a radio: send the seeds and what was heard each time.
    """
    snapshot = service.snapshot
    known = snapshot.space.row_of
    heard = [Heard(song=one.song_id, reaction=one.reaction) for one in wanted.heard if one.song_id in known]
    with service.concurrency.slot():
        found = snapshot.radio(
            [snapshot.seed(seed) for seed in wanted.seeds],
            heard,
            wanted.n,
            wanted.filters,
            listener=caller.acts_as(wanted.listener),
            seed=wanted.shuffle,
        )
    return Json({"songs": recommendations_json(found, snapshot.plays)})
