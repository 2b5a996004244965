"""Work that takes minutes: start it, see how far it is, end it."""

import os
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Path, Request, Response
from starlette.responses import StreamingResponse

from nearsong.web import limits
from nearsong.web.jobs import Jobs
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import JobIn, JobOut
from nearsong.web.service import Service, Shared

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="As a job says it.")]

LOOK_SECONDS = 0.25
"""How often to look whether a job has changed: listeners hold no thread."""

HEARTBEAT_SECONDS = 15.0
"""Something is said this often, so that nothing on the way takes the line for dead."""


_PROBLEMS = responses(400, 403, 422, 429, 503)
_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}


@router.post(
    "/jobs",
    status_code=202,
    summary="Start a scan, a training or a map",
    responses={200: {"model": JobOut, "description": "The same work waits or runs already."}, **_PROBLEMS},
)
def start(job: JobIn, request: Request, response: Response, service: Shared) -> JobOut:
    """Start work in the background; one job runs at a time and others wait. The address of the job is in `Location`.

    New folders can be given only where nobody but the user of this machine can ask.
    """
    folders = checked_folders(job, service)
    limits.spend(service.job_limit, request, "jobs")
    return told(response, *service.jobs.add(job.kind, {"folders": folders} if job.kind == "scan" else {}))


def told(response: Response, job: JobOut, is_new: bool) -> JobOut:
    """Return a job that was started, or found, with its address."""
    response.status_code = 202 if is_new else 200
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


def checked_folders(job: JobIn, service: Service) -> list[str]:
    """Return the folders that a job may look into."""
    if not job.folders:
        return []
    if job.kind != "scan":
        raise ApiError(400, f"a {job.kind} takes no folders; leave them out.", "invalid-input")
    if not service.settings.may_add_folders:
        detail = "folders can be added on the machine itself only: `nearsong scan FOLDER`."
        raise ApiError(403, detail, "no-folders-from-here")
    folders = [os.path.expanduser(folder) for folder in job.folders]  # ~/Music is what people type
    for folder in folders:
        if "\0" in folder or not os.path.isabs(folder):
            raise ApiError(
                400, f"{folder!r} is no whole path; give it from the root on, as in /home/me/Music.", "no-such-folder"
            )
        if not os.path.isdir(folder):
            raise ApiError(400, f"{folder!r} is no folder here; check its name.", "no-such-folder")
    return [os.path.realpath(folder) for folder in folders]


@router.get("/jobs", summary="All jobs, the newest first")
def jobs(service: Shared) -> list[JobOut]:
    """Return what waits, what runs, and the last that have ended."""
    found: list[JobOut] = service.jobs.all()
    return found


@router.get("/jobs/{job_id}", summary="One job", responses=responses(404))
def job(job_id: JobId, service: Shared) -> JobOut:
    """Return how far a job is."""
    found: JobOut = service.jobs.get(job_id)
    return found


@router.delete("/jobs/{job_id}", summary="End a job", responses=responses(404))
def cancel(job_id: JobId, service: Shared) -> JobOut:
    """End a job that waits or runs; what was done is kept. One that takes seconds to end says that it is stopping."""
    service.jobs.cancel(job_id)
    found: JobOut = service.jobs.wait(job_id, 2.0)
    return found


@router.get(
    "/jobs/{job_id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses=_STREAM | responses(404),
)
async def events(job_id: JobId, service: Shared) -> StreamingResponse:
    """Follow a job as server-sent events: `progress` with the job as JSON, until it has ended."""
    service.jobs.get(job_id)  # 404 before the answer begins
    quiet = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_followed(service.jobs, job_id), media_type="text/event-stream", headers=quiet)


async def _followed(jobs: Jobs, job_id: str) -> AsyncIterator[str]:
    seen, spoke = -1, time.monotonic()
    while not jobs.are_closing:
        try:
            job, version = jobs.look(job_id)
        except ApiError:  # so many have ended since that it is forgotten
            return
        if version != seen:
            seen, spoke = version, time.monotonic()
            yield f"event: progress\ndata: {job.model_dump_json()}\n\n"
        if job.ended is not None:
            return
        if time.monotonic() - spoke >= HEARTBEAT_SECONDS:
            spoke = time.monotonic()
            yield ": still at it\n\n"
        await anyio.sleep(LOOK_SECONDS)
