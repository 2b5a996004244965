"""A file that nobody has heard before -> the songs it is near to; nothing is kept unless that is asked for."""

import base64
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from nearsong.errors import AudioError
from nearsong.library.hearing import HeardUpload
from nearsong.library.snapshot import Snapshot
from nearsong.names import readable
from nearsong.web import limits
from nearsong.web.answers import model_json, neighbours_json, why_json
from nearsong.web.problems import ApiError, responses
from nearsong.web.receiving import FIELD, Received
from nearsong.web.schemas import QueryOut
from nearsong.web.service import Service, Shared

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
"""What OpenAPI says of a form with one file, which is taken apart as it arrives."""


@router.post(
    "/query",
    response_model=QueryOut,
    summary="Find songs by the sound of a file",
    responses=responses(400, 403, 408, 409, 413, 415, 422, 429, 503, 507),
    openapi_extra=FORM,
)
async def query(
    request: Request,
    service: Shared,
    n: Annotated[int, Query(ge=1, le=50, description="How many songs.")] = 10,
    keep: Annotated[bool, Query(description="Whether to keep the file, where the service may.")] = False,
) -> Any:
    """Hear an audio file and return what it is near to, as learned from listeners and by sound alone.

    Of a very long file only the beginning is heard, which `damage` then says. The file is removed afterwards.
    """
    limits.spend(service.uploads.limit, request, "files")
    if keep and service.settings.keep is None:
        raise ApiError(403, "files are not kept here; start the service with a folder for them.", "not-kept")
    snapshot = await run_in_threadpool(lambda: service.snapshot)  # before the file comes: there may be no songs
    results = service.metrics.uploads
    try:
        async with service.uploads.received(request) as file:
            heard = await service.uploads.hear(file, snapshot.space.model.ear)
            kept = keep and await run_in_threadpool(_keep, service, file, heard)
    except (ApiError, AudioError):
        results.labels(result="refused").inc()
        raise
    results.labels(result="heard").inc()
    return await run_in_threadpool(answer, snapshot, file, heard, n, kept)


def _keep(service: Service, file: Received, heard: HeardUpload) -> bool:
    """Keep a file, and let a scan bring it into the library."""
    path = service.uploads.keep(file, heard.tags)
    with suppress(ApiError):  # too much work waits: the next scan finds it all the same
        service.jobs.add("scan", {"folders": [str(path.parent)]}, anew=True)
    return True


def answer(snapshot: Snapshot, file: Received, heard: HeardUpload, n: int, kept: bool) -> dict[str, Any]:
    """Return what a heard file is near to, as :class:`~nearsong.web.schemas.QueryOut` has it."""
    tags, sound, plays = heard.tags, heard.sound, snapshot.plays
    name = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else file.name
    seed = snapshot.seed_of_sound(sound.vector, tags, name)
    near = snapshot.similar([seed], n)
    native = snapshot.similar([snapshot.seed_of_sound(sound.vector, tags, name, "native")], n, metric="native")
    keys = {seed.artist_key}
    why = snapshot.why(seed, [snapshot.seed(one.song.id) for one in near])
    place = np.asarray(seed.place, dtype="<f4").tobytes()
    return {
        "name": readable(file.name),
        "artist": readable(tags.artist),
        "title": readable(tags.title),
        "seconds": round(sound.seconds, 2),
        "damage": sound.damage,
        "model": model_json(snapshot),
        "songs": neighbours_json(near, snapshot.agrees(seed, [one.song for one in near]), keys, plays),
        "native": neighbours_json(native, snapshot.agrees(seed, [one.song for one in native]), keys, plays),
        "why": [why_json(one, plays) for one in why],
        "heard": {"model": snapshot.model.id, "place": base64.b64encode(place).decode()},
        "kept": kept,
    }
