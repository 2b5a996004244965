"""The map: all songs in two dimensions, in columns of packed numbers."""

import gzip
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from nearsong.library import drawn, map_thumbnail
from nearsong.web.http.origins import is_foreign
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.http.rate_limits import spend
from nearsong.web.jobs.draw_map import DrawMap
from nearsong.web.json.answers import Json
from nearsong.web.json.schemas import JobOut, MapOut, MapThumbnailOut
from nearsong.web.media.files import accepts_gzip, not_modified
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["map"])

_ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"description": "The map is being drawn: the job; try again when it is done.", "model": JobOut},
    304: {"description": "Not modified."},
    **responses(403, 409, 429, 503),
}


@router.get(
    "/map",
    response_model=MapOut,
    response_description="The map.",
    summary="Get the map of all songs",
    responses=_ANSWERS,
)
def map_(request: Request, service: Shared) -> Response:
    """Return the positions of the songs; close on the map is similar."""
    snapshot = service.snapshot
    song_map = drawn(snapshot)
    if song_map is None:
        return _draw_first(request, service)
    etag, body = service.map_answer.get(snapshot, song_map)
    unchanged = not_modified(request, etag)
    if unchanged is not None:
        return unchanged
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers, media_type="application/json")
    return Response(gzip.decompress(body), headers=headers, media_type="application/json")


@router.get(
    "/map/thumbnail",
    response_model=MapThumbnailOut,
    response_description="Some songs of the map; none if it is not drawn yet.",
    summary="Get a small picture of the map",
    responses=responses(409),
)
def thumbnail(service: Shared) -> Response:
    """Return positions and genres of up to 2,000 songs of the map. It starts no job."""
    snapshot = service.snapshot
    song_map = drawn(snapshot)
    nothing = {"songs": 0, "positions": {"width": 1, "bytes": ""}, "genre": {"width": 1, "bytes": ""}}
    return Json(nothing if song_map is None else map_thumbnail(snapshot, song_map))


def _draw_first(request: Request, service: Service) -> Response:
    """Return the job that draws the map, started if need be."""
    job = next((job for job in service.jobs.all() if job.kind == "map" and job.ended is None), None)
    if job is None:
        if is_foreign(request):
            raise ApiError(403, "requests from other sites' pages cannot start jobs.", "foreign-origin")
        spend(service.job_limit, request, "jobs")
        job, _ = service.jobs.add(DrawMap())
    headers = {"Location": f"/api/v1/jobs/{job.id}", "Retry-After": "2", "Cache-Control": "no-store"}
    return Response(job.model_dump_json(), 202, headers, "application/json")
