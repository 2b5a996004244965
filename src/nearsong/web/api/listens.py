"""Listening histories: which there are, a further one, and one less."""

from functools import partial
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from nearsong.errors import LibraryError
from nearsong.library.importing import ME
from nearsong.library.listens.detection import ENDINGS
from nearsong.names import readable
from nearsong.web import limits
from nearsong.web.api.jobs import told
from nearsong.web.api.query import FORM
from nearsong.web.problems import ApiError, responses
from nearsong.web.receiving import display_name
from nearsong.web.schemas import JobOut
from nearsong.web.service import Shared

router = APIRouter(tags=["listens"])


class HistoryOut(BaseModel):
    """A listening history that was imported."""

    id: int
    name: str = Field(description="The name of the file.")
    format: str = Field(description="What it was read as: csv, spotify-extended, m3u ...")
    kind: str = Field(description="events, counts or playlists")
    rows: int
    imported: float = Field(description="Seconds since 1970.")


@router.get("/listens", summary="The listening histories")
def histories(service: Shared) -> list[HistoryOut]:
    """Return the listening histories that were imported, the oldest first."""
    return [
        HistoryOut(
            id=source.id,
            name=readable(PurePath(source.name).name),
            format=source.format,
            kind=source.kind,
            rows=source.rows,
            imported=source.imported,
        )
        for source in service.library.listens()
    ]


@router.post(
    "/listens",
    status_code=202,
    summary="Import a listening history",
    responses=responses(400, 408, 413, 415, 422, 429, 503, 507),
    openapi_extra=FORM,
)
async def add(
    request: Request,
    response: Response,
    service: Shared,
    user: Annotated[str, Query(max_length=100, description="Whose it is, where the file does not say.")] = "",
) -> JobOut:
    """Take a listening history: Last.fm, ListenBrainz, Spotify, playlists, CSV, TSV, JSON, Parquet; packed or not.

    It is read in the background. The result of the job says how much of it the library has. The same file twice
    counts once; a file of the same name takes the place of the earlier one, unless another user is named.
    """
    limits.spend(service.job_limit, request, "histories")
    if service.jobs.is_full:
        raise ApiError(
            503, "too many jobs wait already; try again when some are done.", "busy", {"Retry-After": "60"}
        )
    whose = display_name(user) if user.strip() else ME
    file = await service.uploads.hold(request, ENDINGS)
    spec = {"path": str(file.path), "name": file.name, "user": whose}
    forget = partial(service.uploads.release, file)
    try:
        job, is_new = await run_in_threadpool(service.jobs.add, "listens", spec, tidy=forget)
    except BaseException:
        forget()
        raise
    return told(response, job, is_new)


@router.delete("/listens/{history}", status_code=204, summary="Forget a listening history", responses=responses(404))
def remove(service: Shared, history: Annotated[int, Path(ge=1, le=2**62)]) -> None:
    """Forget a listening history; the next training learns from the rest."""
    try:
        service.library.remove_listens(history)
    except LibraryError as error:
        if "there is no listening history" not in str(error):
            raise
        raise ApiError(404, f"there is no listening history {history}.", "no-such-history") from None
