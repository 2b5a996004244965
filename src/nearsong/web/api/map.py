"""The map: all songs where the learned space has them, in columns of packed numbers."""

import gzip
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from nearsong.library.drawn_map import drawn
from nearsong.web.files import kept, takes_gzip
from nearsong.web.limits import spend
from nearsong.web.origins import is_foreign
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import JobOut, MapOut
from nearsong.web.service import Service, Shared

router = APIRouter(tags=["map"])

_ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"description": "It has to be drawn first: this is the work; ask again when it is done.", "model": JobOut},
    304: {"description": "The caller has it already."},
    **responses(403, 409, 429, 503),
}


@router.get(
    "/map", response_model=MapOut, response_description="The map.", summary="All songs on a map", responses=_ANSWERS
)
def map_(request: Request, service: Shared) -> Response:
    """Return where the songs are; near on the map is near in the learned space."""
    snapshot = service.snapshot
    found = drawn(snapshot)
    if found is None:
        return _draw_first(request, service)
    etag, body = service.map_answer.get(snapshot, found)
    answer = kept(request, etag)
    if answer is not None:
        return answer
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if takes_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers, media_type="application/json")
    return Response(gzip.decompress(body), headers=headers, media_type="application/json")


def _draw_first(request: Request, service: Service) -> Response:
    """Start drawing, or tell how far it is."""
    job = next((job for job in service.jobs.all() if job.kind == "map" and job.ended is None), None)
    if job is None:
        if is_foreign(request.headers):
            raise ApiError(
                403, "another site's page may not start work here; open nearsong itself.", "foreign-origin"
            )
        spend(service.job_limit, request, "jobs")
        job, _ = service.jobs.add("map", {})
    headers = {"Location": f"/api/v1/jobs/{job.id}", "Retry-After": "2", "Cache-Control": "no-store"}
    return Response(job.model_dump_json(), 202, headers, "application/json")
