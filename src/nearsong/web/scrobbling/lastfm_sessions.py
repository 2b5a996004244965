"""A user name and a password -> the key of a session, and back to who it is.

Scrobblers log in once and keep the key for years. So a key is computed from the password, not stored: it survives a
restart of the service, and ends when the password is renewed. Where a caller may be anybody, the key also carries the
name of the listener.
"""

import hashlib
import hmac
from collections.abc import Callable

from nearsong.errors import InvalidInputError
from nearsong.library import checked_listener
from nearsong.web.http.callers import ANYBODY, Caller, Callers, is_same
from nearsong.web.scrobbling.lastfm_answers import INVALID_PARAMETERS, LastfmError
from nearsong.web.subsonic.parameters import Parameters

_LABEL = b"nearsong lastfm session"
_OPEN = "open"


def start_session(callers: Callers, parameters: Parameters) -> tuple[str, str] | None:
    """Return the listener and the key of a new session; None if the password is wrong."""
    try:
        user = checked_listener(parameters.text("username"))
    except InvalidInputError as error:
        raise LastfmError(INVALID_PARAMETERS, f"username: {error}") from None
    if callers.is_open:
        return user, _with_name(_OPEN, user)
    is_right = _password_check(parameters)
    found: list[str] = []

    def check(password: str) -> bool:
        if is_right(password):
            found.append(password)
        return bool(found)

    caller = callers.with_password(user, check)
    if caller is None:
        return None
    digest = _digest(found[0])
    return (user, _with_name(digest, user)) if caller.listener is None else (caller.listener, digest)


def caller_in_session(callers: Callers, key: str) -> tuple[str, Caller] | None:
    """Return the listener of a session, and who it is; None if there is no such session."""
    digest, _, coded = key.partition("-")
    found = ANYBODY if callers.is_open and digest == _OPEN else None
    for password, caller in callers.passwords():  # all of them, so that time tells nothing
        if is_same(digest, _digest(password)):
            found = caller
    name = None if found is None else found.listener or _name_in(coded)
    return None if found is None or name is None else (name, found)


def _password_check(parameters: Parameters) -> Callable[[str], bool]:
    """Return what says whether a password is the one that was sent, as it is or as a hash."""
    if "password" in parameters:
        return lambda password: is_same(parameters.text("password"), password)
    if "authToken" not in parameters:
        raise LastfmError(INVALID_PARAMETERS, "the password is missing: send password or authToken.")
    user, sent = parameters.text("username"), parameters.text("authToken").lower()

    def is_right(password: str) -> bool:
        hashed = _md5(password)
        return is_same(sent, _md5(user + hashed)) or is_same(sent, _md5(user.lower() + hashed))

    return is_right


def _md5(text: str) -> str:
    encoded = text.encode("utf-8", "surrogatepass")
    return hashlib.md5(encoded, usedforsecurity=False).hexdigest()  # required by the protocol


def _digest(password: str) -> str:
    return hmac.new(password.encode("utf-8", "surrogatepass"), _LABEL, hashlib.sha256).hexdigest()


def _with_name(digest: str, name: str) -> str:
    return f"{digest}-{name.encode().hex()}"


def _name_in(coded: str) -> str | None:
    try:
        return checked_listener(bytes.fromhex(coded).decode())
    except (ValueError, InvalidInputError):
        return None
