"""Listening histories: list, import, delete."""

from functools import partial
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from nearsong.errors import NoSuchHistoryError
from nearsong.library import HistoryFacts, match_sentences
from nearsong.listens.formats.registry import ENDINGS
from nearsong.names import readable
from nearsong.web.api.jobs import with_location
from nearsong.web.api.query import FORM
from nearsong.web.http import rate_limits as limits
from nearsong.web.http.callers import Caller
from nearsong.web.http.dependencies import CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.jobs.import_listens import ImportListens
from nearsong.web.json.schemas import JobOut
from nearsong.web.media.receiving import display_name
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(tags=["listens"])


class HistoryOut(BaseModel):
    """An imported listening history."""

    id: int
    name: str = Field(description="Name of the file.")
    format: str = Field(description="Format of the file: csv, spotify-extended, m3u8 ...")
    kind: str = Field(description="events, counts or playlists")
    rows: int
    imported: float = Field(description="Seconds since 1970.")
    users: list[str] = Field(description="Some of the listeners whose rows it has.")
    n_users: int
    whose: str = Field(description="Whose it is, in a few words.")


class MatchOut(BaseModel):
    """How much of a listening history the library has."""

    id: int = Field(description="Of the history.")
    plays: float
    share: float = Field(description="Share of the plays that match songs or artists of the library.")
    names_found: int
    names_not_found: int
    most_played_not_found: list[str]
    words: list[str] = Field(description="The same in sentences; where it is little, what can be done.")


@router.get("/listens", summary="List listening histories", responses=responses(403))
def histories(service: Shared, caller: CurrentCaller) -> list[HistoryOut]:
    """Return the imported listening histories, oldest first; to who is no admin those that are theirs alone."""
    return [
        HistoryOut(
            id=history.id,
            name=readable(PurePath(history.name).name),
            format=history.format,
            kind=history.kind,
            rows=history.rows,
            imported=history.imported,
            users=[readable(user) for user in history.users],
            n_users=history.n_users,
            whose=readable(history.whose),
        )
        for history in _histories_of(service, caller)
    ]


@router.get(
    "/listens/matches",
    response_description="One for each history.",
    summary="Get how much of each listening history the library has",
    responses=responses(403, 503),
)
def matches(service: Shared, caller: CurrentCaller) -> list[MatchOut]:
    """Return how many plays of each history match the library, and the most played names that do not."""
    ids = {history.id for history in _histories_of(service, caller)}
    if not ids:
        return []
    with service.concurrency.slot():
        reports = service.library.history_matches()
    return [
        MatchOut(
            id=history,
            plays=report.plays,
            share=report.share,
            names_found=report.names_matched,
            names_not_found=report.names_unmatched,
            most_played_not_found=[readable(name) for name, _ in report.most_played_unmatched],
            words=[readable(sentence) for sentence in match_sentences(report)],
        )
        for history, report in sorted(reports.items())
        if history in ids
    ]


def _histories_of(service: Service, caller: Caller) -> list[HistoryFacts]:
    """Return the histories that a caller may see and remove."""
    histories = service.library.history_list()
    return histories if caller.is_admin else [one for one in histories if one.is_of(caller.listener or "")]


@router.post(
    "/listens",
    status_code=202,
    summary="Import a listening history",
    responses=responses(400, 403, 408, 413, 415, 422, 429, 503, 507),
    openapi_extra=FORM,
)
async def add(
    request: Request,
    response: Response,
    service: Shared,
    caller: CurrentCaller,
    user: Annotated[str, Query(max_length=100, description="The listener, whatever name the file has.")] = "",
) -> JobOut:
    """Import a listening history of a service or player, playlists, CSV, TSV, JSON or Parquet; packed or not.

    A job reads it in the background; its result says how much of it matches the library. The same file counts once;
    a file of the same name replaces the earlier one, unless the user differs. Listeners who are no admins import
    histories of their own only.
    """
    listener = _listener(caller, display_name(user) if user.strip() else None)
    limits.spend(service.job_limit, request, "histories")
    if service.jobs.is_full:
        raise ApiError(503, "too many jobs are waiting; try again when some are done.", "busy", {"Retry-After": "60"})
    file = await service.uploads.hold(request, ENDINGS)
    spec = ImportListens(path=str(file.path), name=file.name, user=listener)
    release = partial(service.uploads.release, file)
    try:
        service.check_caller()  # the upload may have taken minutes
        job, is_new = await run_in_threadpool(service.jobs.add, spec, on_end=release)
    except BaseException:
        release()
        raise
    return with_location(response, job, is_new)


def _listener(caller: Caller, name: str | None) -> str | None:
    """Return whose listens these are; None for whoever the file says, which only an admin may leave to it."""
    return name if caller.is_admin else caller.acts_as(name or "")


@router.delete(
    "/listens/{history}", status_code=204, summary="Delete a listening history", responses=responses(403, 404)
)
@queued
def remove(service: Shared, caller: CurrentCaller, history: Annotated[int, Path(ge=1, le=2**62)]) -> None:
    """Delete a listening history; the next training uses the rest. Who is no admin deletes their own only."""
    if history not in {one.id for one in _histories_of(service, caller)}:
        raise NoSuchHistoryError(f"listening history not found: {history}; see `nearsong listens list`.")
    service.library.remove_listens(history)
