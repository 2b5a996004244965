"""Jobs: start, list, follow and cancel tasks that take minutes."""

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any, Union

import anyio
from fastapi import APIRouter, Path, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from nearsong.web.http import rate_limits as limits
from nearsong.web.http.callers import Caller
from nearsong.web.http.dependencies import ADMIN, CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.jobs.registry import JOBS
from nearsong.web.json.schemas import JobOut
from nearsong.web.service.service import Shared

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The id of a job.")]

if TYPE_CHECKING:
    JobIn = JobSpec
else:
    JobIn = Annotated[
        Union[tuple(job for job in JOBS.values() if job.by_request)],  # noqa: UP007 (of a registry)
        Field(discriminator="kind"),
    ]

POLL_SECONDS = 0.25
"""How often followers look for changes; they hold no thread."""

HEARTBEAT_SECONDS = 15.0
"""A comment is sent this often, so that proxies do not close an idle connection."""


_PROBLEMS = responses(400, 403, 422, 429, 503)
_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}


@router.post(
    "/jobs",
    status_code=202,
    summary="Start a job",
    responses={200: {"model": JobOut, "description": "The same job is pending or running already."}, **_PROBLEMS},
)
def start(job: JobIn, request: Request, response: Response, service: Shared, caller: CurrentCaller) -> JobOut:
    """Start a job in the background. One runs at a time; others wait. `Location` has the job's address.

    Only an admin may start other jobs than drawing the map. Folders can be added only from the machine that runs the
    service.
    """
    if job.for_admins:
        caller.check_admin()
    spec = job.checked(service.settings)
    limits.spend(service.job_limit, request, "jobs")
    return with_location(response, *service.jobs.add(spec))


def with_location(response: Response, job: JobOut, is_new: bool) -> JobOut:
    """Return a job that was added, or existed, with its address in the headers."""
    response.status_code = 202 if is_new else 200
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


@router.get("/jobs", summary="List jobs, newest first")
def jobs(service: Shared, caller: CurrentCaller) -> list[JobOut]:
    """Return pending, running and recently ended jobs; imports of listens to admins only."""
    return [job for job in service.jobs.all() if caller.is_admin or not JOBS[job.kind].is_private]


@router.get("/jobs/{job_id}", summary="Get a job", responses=responses(404))
def job(job_id: JobId, service: Shared, caller: CurrentCaller) -> JobOut:
    """Return a job and its progress."""
    _check_visible(service.jobs, job_id, caller)
    return service.jobs.get(job_id)


def _check_visible(jobs: JobQueue, job_id: str, caller: Caller) -> None:
    """Raise 404 for a job that tells what another listener plays."""
    spec = jobs.spec(job_id)
    if spec.is_private and not caller.is_admin and spec.owner != caller.listener:
        raise ApiError(404, "job not found; only recent jobs are listed.", "no-such-job")


@router.delete("/jobs/{job_id}", summary="Cancel a job", dependencies=[ADMIN], responses=responses(403, 404))
def cancel(job_id: JobId, service: Shared) -> JobOut:
    """Cancel a pending or running job; what it has stored stays. It may take seconds to stop."""
    service.jobs.cancel(job_id)
    return service.jobs.wait(job_id, 2.0)


@router.get(
    "/jobs/{job_id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses=_STREAM | responses(404),
)
async def events(job_id: JobId, service: Shared, caller: CurrentCaller) -> StreamingResponse:
    """Follow a job as server-sent events: `progress` with the job as JSON, until it has ended."""
    await run_in_threadpool(_check_visible, service.jobs, job_id, caller)  # 404 before the response starts
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_job_events(service.jobs, job_id), media_type="text/event-stream", headers=headers)


async def _job_events(jobs: JobQueue, job_id: str) -> AsyncIterator[str]:
    sent_version, sent_at = -1, time.monotonic()
    while not jobs.is_closing:
        try:
            job, version = jobs.get_versioned(job_id)
        except ApiError:  # so many have ended since that it is no longer listed
            return
        if version != sent_version:
            sent_version, sent_at = version, time.monotonic()
            yield f"event: progress\ndata: {job.model_dump_json()}\n\n"
        if job.ended is not None:
            return
        if time.monotonic() - sent_at >= HEARTBEAT_SECONDS:
            sent_at = time.monotonic()
            yield ": still running\n\n"
        await anyio.sleep(POLL_SECONDS)
