"""Listeners: their accounts, tokens and passwords for players; everything about one, to export or to delete.

A listener changes their own account, an admin any. Where no account exists, the first one is added on the command
line: over the web, whoever comes first could lock out the owner.
"""

import tempfile
from collections.abc import Iterator
from typing import IO, Annotated

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from nearsong.errors import InvalidInputError
from nearsong.library import Account, checked_listener
from nearsong.names import listener_key
from nearsong.web.http.authentication import COOKIE, Authentication
from nearsong.web.http.callers import Caller
from nearsong.web.http.dependencies import ADMIN, CurrentCaller
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.http.rate_limits import spend
from nearsong.web.json.listeners import (
    AppPasswordOut,
    DeletedOut,
    ListenerChangeIn,
    ListenerIn,
    ListenerOut,
    TokenOut,
    listener_out,
)
from nearsong.web.media.files import attachment
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(prefix="/listeners", tags=["listeners"])

Name = Annotated[str, Path(min_length=1, max_length=200, description="Name of a listener; `me` for the caller.")]

PIECE_BYTES = 1 << 16

_PROBLEMS = responses(400, 403, 404, 409, 422, 503)


@router.get(
    "",
    response_description="The oldest first.",
    summary="List the listeners with an account",
    dependencies=[ADMIN],
    responses=responses(403, 503),
)
def listeners(service: Shared) -> list[ListenerOut]:
    """Return all listeners with an account; an admin only may see them."""
    return [listener_out(account) for account in service.library.accounts.list()]


@router.post(
    "",
    status_code=201,
    response_description="The token, which is shown this once.",
    summary="Add a listener",
    dependencies=[ADMIN],
    responses=responses(400, 403, 409, 422, 503),
)
@queued
def add(service: Shared, wanted: ListenerIn) -> TokenOut:
    """Give a listener an account. Plays, hearts and histories of this name are theirs."""
    if service.check_caller().credential == "":
        raise ApiError(409, "add the first listener on the command line: nearsong listeners add NAME --admin", "open")
    token = service.library.accounts.add(wanted.name, is_admin=wanted.is_admin)
    service.accounts.refresh()
    return TokenOut(name=checked_listener(wanted.name), token=token)


@router.get(
    "/{name}", response_description="The account.", summary="Get the account of a listener", responses=_PROBLEMS
)
def listener(service: Shared, caller: CurrentCaller, name: Name) -> ListenerOut:
    """Return the account of the caller; of others to an admin."""
    return listener_out(_account(service, caller, name))


@router.put(
    "/{name}",
    response_description="The account.",
    summary="Change the account of a listener",
    dependencies=[ADMIN],
    responses=_PROBLEMS,
)
@queued
def change(service: Shared, caller: CurrentCaller, name: Name, wanted: ListenerChangeIn) -> ListenerOut:
    """Make a listener an admin, or no longer."""
    account = _account(service, caller, name)
    if not wanted.is_admin:
        _check_not_last_admin(service, account.name)
    service.library.accounts.set_admin(account.name, wanted.is_admin)
    service.accounts.refresh()
    return listener_out(_account(service, caller, name))


@router.post(
    "/{name}/token",
    response_description="The token, which is shown this once.",
    summary="Replace the token of a listener",
    responses=_PROBLEMS,
)
@queued
def renew_token(request: Request, response: Response, service: Shared, caller: CurrentCaller, name: Name) -> TokenOut:
    """Replace a token; sessions that were started with the earlier one end, but for the one that asks."""
    account = _account(service, caller, name)
    token = service.library.accounts.renew_token(account.name)
    service.accounts.refresh()
    authentication: Authentication = request.app.state.authentication
    if account.name == caller.listener and COOKIE in request.cookies:
        authentication.log_in(response, request, token)
    return TokenOut(name=account.name, token=token)


@router.post(
    "/{name}/app-password",
    response_description="The password.",
    summary="Give a listener a new password for players",
    responses=_PROBLEMS,
)
@queued
def renew_app_password(service: Shared, caller: CurrentCaller, name: Name) -> AppPasswordOut:
    """Replace the password by which Subsonic and Last.fm players connect. It is stored as it is."""
    account = _account(service, caller, name)
    password = service.library.accounts.renew_app_password(account.name)
    service.accounts.refresh()
    return AppPasswordOut(name=account.name, app_password=password)


@router.delete(
    "/{name}/app-password",
    status_code=204,
    response_class=Response,
    response_description="Removed.",
    summary="Remove the password for players",
    responses=_PROBLEMS,
)
@queued
def remove_app_password(service: Shared, caller: CurrentCaller, name: Name) -> Response:
    """Remove the password; players cannot connect any more."""
    service.library.accounts.remove_app_password(_account(service, caller, name).name)
    service.accounts.refresh()
    return Response(status_code=204)


@router.get(
    "/{name}/everything",
    response_class=Response,
    summary="Export everything about a listener",
    responses={
        200: {"content": {"application/zip": {"schema": {"type": "string"}}}},
        **responses(403, 422, 429, 503),
    },
)
async def everything(request: Request, service: Shared, caller: CurrentCaller, name: Name) -> Response:
    """Return a zip of all plays, hearts, ratings, skips, histories, playlists and the queue of a listener."""
    listener = caller.acts_as(name)
    spend(service.job_limit, request, "exports")
    await service.writes.run(service.library.play_log.update_history)
    return await run_in_threadpool(_everything, service, listener)


def _everything(service: Service, listener: str) -> Response:
    # without a name, so that nothing of it stays, whatever happens; the response closes it
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        service.library.accounts.write_everything(listener, file)
        headers = {"Content-Disposition": attachment(listener, "zip"), "Cache-Control": "no-store"}
        headers["Content-Length"] = str(file.tell())
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_pieces(file), headers=headers, media_type="application/zip")


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


@router.delete(
    "/{name}",
    response_description="What was deleted.",
    summary="Delete everything about a listener",
    responses=responses(403, 409, 422, 503),
)
@queued
def delete(service: Shared, caller: CurrentCaller, name: Name) -> DeletedOut:
    """Delete a listener's account, plays, hearts, ratings, skips, playlists, queue and rows of all histories."""
    listener = caller.acts_as(name)
    _check_not_last_admin(service, listener)
    service.jobs.forget(listener)
    words = service.library.accounts.delete_everything(listener)
    service.now_playing.forget(listener)
    service.accounts.refresh()
    return DeletedOut(words=words)


def _check_not_last_admin(service: Service, listener: str) -> None:
    """Refuse to leave a service that has no token of its own without an admin; the command line can."""
    admins = [account.name for account in service.library.accounts.list() if account.is_admin]
    if admins == [listener] and service.settings.token is None:
        detail = "this is the only admin; make another one first, or use `nearsong listeners` on the command line."
        raise ApiError(409, detail, "last-admin")


def _account(service: Service, caller: Caller, name: str) -> Account:
    """Return an account that the caller may change."""
    listener = caller.acts_as(name)
    found = next(
        (one for one in service.library.accounts.list() if listener_key(one.name) == listener_key(listener)), None
    )
    if found is None:
        raise InvalidInputError(f"the listener {listener!r} has no account; an admin can add one.")
    return found
