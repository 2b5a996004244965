"""A service -> what the page asks for first, as JSON that is sent within the page itself.

So no request stands between the page's scripts and what they draw. What cannot be answered is left out: the page then
asks for it, and shows the error.
"""

from collections.abc import Callable
from contextlib import suppress

from nearsong.errors import NearsongError
from nearsong.library import DEFAULT_USER
from nearsong.web.api.browsing.home import N_ITEMS, home
from nearsong.web.api.status import status
from nearsong.web.http.callers import Caller, check_caller
from nearsong.web.http.problems import ApiError
from nearsong.web.json.answers import text_bytes
from nearsong.web.service.service import Service


def first_answers(service: Service) -> bytes:
    """Return a JSON object, path -> answer, for whoever sends the request that is being answered."""
    caller = check_caller(service.callers)
    found = {path: body for path, ask in _ASKED.items() if (body := _answer(ask, service, caller)) is not None}
    return b"{" + b",".join(b'"%s":%s' % (path.encode(), body) for path, body in found.items()) + b"}"


def _answer(ask: Callable[[Service, Caller], bytes], service: Service, caller: Caller) -> bytes | None:
    with suppress(ApiError, NearsongError):
        return ask(service, caller)
    return None


def _status(service: Service, caller: Caller) -> bytes:
    return text_bytes(status(service, caller).model_dump_json(by_alias=True))


def _home(service: Service, caller: Caller) -> bytes:
    return bytes(home(service, caller.acts_as(DEFAULT_USER), N_ITEMS).body)


_ASKED = {"/status": _status, "/home": _home}
