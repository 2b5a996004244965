"""An uploaded file -> the songs similar to it; the file is removed unless saving is requested."""

import base64
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from nearsong.errors import AudioError
from nearsong.library import AnalysedUpload, Snapshot
from nearsong.web.http import rate_limits as limits
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.jobs.scan import Scan
from nearsong.web.json.answers import Json, model_json, neighbours_json, why_json
from nearsong.web.json.schemas import DialPosition, QueryOut
from nearsong.web.media.receiving import FIELD, Received
from nearsong.web.service.service import Service, Shared

router = APIRouter(tags=["query"])

FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FIELD],
                    "properties": {FIELD: {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}
"""OpenAPI for a form with one file; FastAPI does not see it, since the body is parsed as it arrives."""


@router.post(
    "/query",
    response_model=QueryOut,
    response_description="Similar songs, and why.",
    summary="Find songs similar to an audio file",
    responses=responses(400, 403, 408, 409, 413, 415, 422, 429, 503, 507),
    openapi_extra=FORM,
)
async def query(
    request: Request,
    service: Shared,
    caller: CurrentCaller,
    n: Annotated[int, Query(ge=1, le=50, description="Number of songs.")] = 10,
    adventurousness: DialPosition = 0.0,
    save: Annotated[bool, Query(description="Save the file, if the service allows it; for admins.")] = False,
) -> Json:
    """Analyse an audio file and return similar songs, by the active model and by sound alone.

    Only the beginning of a very long file is analysed, as `damage` then says. The file is removed afterwards.
    """
    limits.spend(service.uploads.limit, request, "files")
    if save:
        caller.check_admin()
    if save and service.settings.save_uploads is None:
        raise ApiError(
            403, "this service does not save uploads; start it with --save-uploads FOLDER.", "uploads-not-saved"
        )
    snapshot = await run_in_threadpool(lambda: service.snapshot)  # before the upload: the library may be empty
    results = service.metrics.uploads
    try:
        async with service.uploads.received(request) as file:
            analysed = await service.uploads.analyse(file, snapshot.space.model.encoder)
            saved = save and await run_in_threadpool(_save, service, file, analysed)
    except (ApiError, AudioError):
        results.labels(result="refused").inc()
        raise
    results.labels(result="analysed").inc()
    work = partial(answer, adventurousness=adventurousness)
    return Json(await run_in_threadpool(work, snapshot, file, analysed, n, saved))


def _save(service: Service, file: Received, analysed: AnalysedUpload) -> bool:
    """Save a file and start a scan that adds it to the library."""
    path = service.uploads.save(file, analysed.tags)
    with suppress(ApiError):  # the queue is full: the next scan finds it
        service.jobs.add(Scan(folders=[str(path.parent)]), reuse_running=False)
    return True


def answer(
    snapshot: Snapshot,
    file: Received,
    analysed: AnalysedUpload,
    n: int,
    saved: bool,
    *,
    adventurousness: float = 0.0,
) -> dict[str, Any]:
    """Return the songs similar to an analysed file as `QueryOut`."""
    tags, sound = analysed.tags, analysed.sound
    name = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else file.name
    seed = snapshot.seed_of_vector(sound.vector, tags, name)
    neighbours = snapshot.similar([seed], n, adventurousness=adventurousness)
    explanations = snapshot.why([seed], [neighbour.song for neighbour in neighbours])
    embedding = np.asarray(seed.embedding, dtype="<f4").tobytes()
    return {
        "name": file.name,
        "artist": tags.artist,
        "title": tags.title,
        "seconds": round(sound.seconds, 2),
        "damage": sound.damage,
        "model": model_json(snapshot),
        "songs": neighbours_json(snapshot, [seed], neighbours),
        "native": neighbours_json(snapshot, [seed], snapshot.similar([seed], n, metric="native")),
        "why": [why_json(explanation, snapshot.plays) for explanation in explanations],
        "seed": {"model": snapshot.model.id, "embedding": base64.b64encode(embedding).decode()},
        "saved": saved,
    }
