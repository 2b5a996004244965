"""Who sends a request -> a parameter of a route, or a condition for it."""

from typing import Annotated

from fastapi import Depends, Request

from nearsong.web.http.callers import Caller, check_caller


async def caller_of(request: Request) -> Caller:
    """Return who sends a request; the authentication has found it out."""
    return check_caller(request.app.state.service.callers)


async def _admin(request: Request) -> Caller:
    caller = await caller_of(request)
    caller.check_admin()
    return caller


CurrentCaller = Annotated[Caller, Depends(caller_of)]
"""The caller, as a parameter of a route."""

ADMIN = Depends(_admin)
"""What makes a route one for admins."""
