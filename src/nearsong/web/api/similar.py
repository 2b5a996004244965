"""Similar songs of one or more seeds, and why two songs are similar."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nearsong.library import Filters, Snapshot
from nearsong.library import Query as SongQuery
from nearsong.web.http.problems import responses
from nearsong.web.json.answers import Json, find_json, why_json
from nearsong.web.json.filters import FILTER_FORM, FilterParameters
from nearsong.web.json.find import FindOut
from nearsong.web.json.reasons import MomentOut
from nearsong.web.json.schemas import DialPosition, FilterOut, Metric, SimilarOut, SongId, WhyOut
from nearsong.web.json.similar import similar_json
from nearsong.web.service.service import Shared

router = APIRouter(tags=["similar"])

MAX_SIMILAR = 200


@router.get(
    "/similar",
    response_model=SimilarOut,
    response_description="Similar songs, nearest first.",
    summary="Find similar songs",
    responses=responses(400, 404, 409, 422),
)
async def similar(
    service: Shared,
    filters: FilterParameters,
    seed: Annotated[
        list[SongId], Query(min_length=1, max_length=100, description="Id of a song; repeat it for several seeds.")
    ],
    without: Annotated[
        list[SongId],
        Query(
            default_factory=list,
            max_length=100,
            description="Id of a song that the answer stays away from; repeat it for several.",
        ),
    ],
    n: Annotated[int, Query(ge=1, le=MAX_SIMILAR, description="Number of songs.")] = 10,
    metric: Annotated[Metric, Query(description="The active model, or sound alone (native).")] = "active",
    adventurousness: DialPosition = 0.0,
) -> Response:
    """Return similar songs with distance and similarity, and whether listeners agree.

    With several seeds, a song's distance is that to the nearest seed. Songs like those of `without` come later, or
    not at all.
    """
    loaded = service.loaded
    snapshot = await run_in_threadpool(lambda: service.snapshot) if loaded is None else loaded
    if len(seed) > 1 or without or not filters.is_batched or not snapshot.is_ready(metric):
        work = partial(_similar_unbatched, adventurousness=adventurousness, without=without)
        return Json(await run_in_threadpool(work, snapshot, seed, n, filters, metric))
    query = SongQuery([snapshot.seed(seed[0], metric)], n, filters, adventurousness)
    return Json(await service.similar_batcher.submit((snapshot, metric), query))


def _similar_unbatched(
    snapshot: Snapshot,
    songs: list[int],
    n: int,
    filters: Filters,
    metric: str,
    *,
    adventurousness: float,
    without: list[int],
) -> bytes:
    """Return similar songs for one request alone, in its own thread: slow queries must not delay a batch."""
    seeds = [snapshot.seed(song, metric) for song in songs]
    found = snapshot.similar(seeds, n, filters, metric, adventurousness, without=without)
    return similar_json(snapshot, metric, seeds, found)


@router.get(
    "/find",
    response_model=FindOut,
    response_description="Songs that the words describe, the best first.",
    summary="Find songs by words",
    responses=responses(400, 404, 409, 422),
)
def find(
    service: Shared,
    filters: FilterParameters,
    words: Annotated[str, Query(min_length=1, max_length=200, description='Such as "mellow acoustic, not rap".')],
    n: Annotated[int, Query(ge=1, le=200, description="Number of songs.")] = 20,
) -> Response:
    """Return songs by the tags that an encoder with words hears in them; words without a tag are reported."""
    snapshot = service.snapshot
    with service.concurrency.slot():
        return Json(find_json(snapshot.find(words, n, filters), snapshot.plays))


@router.get("/filters", response_description="All filters.", summary="List filters, as a form shows them")
async def filters() -> list[FilterOut]:
    """Return the filters of similar songs and playlists; the page draws its controls from them."""
    return FILTER_FORM


@router.get(
    "/why",
    response_model=WhyOut,
    response_description="Similarities and differences.",
    summary="Explain why two songs are similar",
    responses=responses(400, 404, 409, 422),
)
def why(
    service: Shared,
    query: Annotated[SongId, Query(description="Id of the seed.")],
    other: Annotated[SongId, Query(description="Id of the similar song.")],
) -> Any:
    """Return the reasons in one sentence, then sounds, the parts of the distance and shared listeners."""
    snapshot = service.snapshot
    (explanation,) = snapshot.why([query], [other])
    return Json(why_json(explanation, snapshot.plays))


@router.get(
    "/why/moment",
    response_model=MomentOut,
    response_description="Where each song has it.",
    summary="Find where two songs sound most alike",
    responses=responses(404, 409, 422, 503),
)
def shared_moment(
    service: Shared,
    query: Annotated[SongId, Query(description="Id of the seed.")],
    other: Annotated[SongId, Query(description="Id of the similar song.")],
) -> Any:
    """Return the start of the five seconds of each song that sound most alike; finding them may take seconds."""
    snapshot = service.snapshot
    return Json(asdict(service.moments.find(snapshot.song(query), snapshot.song(other))))
