"""What is near one or more songs, and why."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nearsong.library import Filters
from nearsong.library.recommend import Question
from nearsong.library.snapshot import Snapshot
from nearsong.web.answers import Json, why_json
from nearsong.web.near_answers import near_json
from nearsong.web.problems import responses
from nearsong.web.schemas import Metric, SimilarOut, SongId, WhyOut
from nearsong.web.service import Shared

router = APIRouter(tags=["similar"])

Names = Annotated[list[str], Query(max_length=100)]
Year = Annotated[int | None, Query(ge=0, le=9999)]


@router.get(
    "/similar",
    response_model=SimilarOut,
    response_description="The nearest first.",
    summary="The songs nearest to one or more songs",
    responses=responses(400, 404, 409, 422),
)
async def similar(
    service: Shared,
    seed: Annotated[list[SongId], Query(min_length=1, max_length=100, description="Repeat it for several songs.")],
    n: Annotated[int, Query(ge=1, le=200, description="How many.")] = 10,
    metric: Annotated[Metric, Query(description="As learned from listeners, or by sound alone.")] = "active",
    artist_once: Annotated[bool, Query(description="Only the nearest song of every artist.")] = False,
    new_artists: Annotated[bool, Query(description="No songs by the seeds' own artists.")] = False,
    exclude_artist: Names = [],  # noqa: B006 (never changed)
    genre: Names = [],  # noqa: B006
    year_from: Year = None,
    year_to: Year = None,
    fewer_plays: Annotated[float | None, Query(gt=0, le=1e12, description="Only songs played less often.")] = None,
) -> Response:
    """Return near songs with distance and similarity, and whether listeners agree.

    With several seeds a song is as near as to the nearest of them.
    """
    filters = Filters(artist_once, new_artists, tuple(exclude_artist), tuple(genre), year_from, year_to, fewer_plays)
    loaded = service.loaded
    snapshot = await run_in_threadpool(lambda: service.snapshot) if loaded is None else loaded
    if len(seed) > 1 or filters.looks_at_songs or not snapshot.is_ready(metric):
        return Whole(await run_in_threadpool(_alone, snapshot, seed, n, filters, metric))
    question = Question([snapshot.seed(seed[0], metric)], n, filters)
    return Whole(await service.asking.ask((snapshot, metric), question))


class Whole(Response):
    """JSON that is written already."""

    media_type = "application/json"


def _alone(snapshot: Snapshot, songs: list[int], n: int, filters: Filters, metric: str) -> bytes:
    seeds = [snapshot.seed(song, metric) for song in songs]
    near = snapshot.similar(seeds, n, filters, metric)
    return near_json(snapshot, metric, seeds, near)


@router.get(
    "/why",
    response_model=WhyOut,
    response_description="What the two share, and what parts them.",
    summary="Why two songs are near, or far apart",
    responses=responses(400, 404, 409, 422),
)
def why(
    service: Shared,
    query: Annotated[SongId, Query(description="The song that was asked about.")],
    other: Annotated[SongId, Query(description="The song that came up.")],
) -> Any:
    """Return the sounds both have, in words and numbers, and who listens to both artists."""
    snapshot = service.snapshot
    found = snapshot.why(snapshot.seed(query), [snapshot.seed(other)])[0]
    return Json(why_json(found, snapshot.plays))
