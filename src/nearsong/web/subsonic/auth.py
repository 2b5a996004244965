"""A request's credentials -> the name of the user and the caller, or a failure.

A listener with an account has an app password of their own for players, and their token is their API key. The token
of the service is a password too, with any user name. Without a token and without accounts only this machine can
connect and any password is accepted, but requests from pages of other sites, which could be sent by the user's
browser, are refused.
"""

import hashlib

from fastapi import Request

from nearsong.names import listener_key
from nearsong.web.http.callers import ANYBODY, Caller, Callers, is_same
from nearsong.web.http.origins import is_foreign
from nearsong.web.http.problems import ApiError
from nearsong.web.http.rate_limits import RateLimit, spend
from nearsong.web.subsonic.envelope import (
    MISSING_PARAMETER,
    NOT_ALLOWED,
    TWO_CREDENTIALS,
    WRONG_CREDENTIALS,
    WRONG_KEY,
    ProtocolError,
)
from nearsong.web.subsonic.parameters import Parameters

DEFAULT_USER = "nearsong"
"""The user of requests with an API key of no listener."""


def check_credentials(
    callers: Callers, failures: RateLimit, request: Request, parameters: Parameters
) -> tuple[str, Caller]:
    """Return the name of the user, and who it is.

    Parameters
    ----------
    callers : Callers
    failures : RateLimit
        Limit of wrong passwords per client address.
    request : Request
    parameters : Parameters

    Raises
    ------
    ProtocolError
        If the credentials are missing, contradict each other or are wrong; HTTP 429 after too many wrong ones.
    """
    _check_complete(parameters, needs_password=not callers.is_open)
    if callers.is_open:
        refuse_other_pages(request)
        caller = ANYBODY
    else:
        caller = _checked(callers, failures, request, parameters)
    return caller.listener or parameters.text("u") or DEFAULT_USER, caller


def _check_complete(parameters: Parameters, *, needs_password: bool) -> None:
    """Refuse credentials that are missing or contradict each other."""
    user, key = parameters.text("u"), parameters.text("apiKey")
    if key and (user or "p" in parameters or "t" in parameters):
        raise ProtocolError(TWO_CREDENTIALS, "both an API key and a user were sent; send one of them.")
    if "p" in parameters and "t" in parameters:
        raise ProtocolError(TWO_CREDENTIALS, "both a password (p) and its hash (t) were sent; send one of them.")
    if not key and not user:
        raise ProtocolError(
            MISSING_PARAMETER, "the parameter u is missing: send a user name and a password, or an apiKey."
        )
    if needs_password and not key and "p" not in parameters and not ("t" in parameters and "s" in parameters):
        raise ProtocolError(MISSING_PARAMETER, "the password is missing: send t and s, or p.")


def _checked(callers: Callers, failures: RateLimit, request: Request, parameters: Parameters) -> Caller:
    """Return the caller; wrong credentials are refused, too many of them with HTTP 429. Right ones always work."""
    caller = _caller(callers, parameters)
    if caller is not None:
        return caller
    try:
        spend(failures, request, "wrong passwords")
    except ApiError as error:
        raise ProtocolError(WRONG_CREDENTIALS, error.detail, error.status, error.headers) from None
    if parameters.text("apiKey"):
        raise ProtocolError(WRONG_KEY, "wrong API key; use your token.")
    which = "your app password, from the account menu of the page" if callers.has_accounts else "the service's token"
    raise ProtocolError(WRONG_CREDENTIALS, f"wrong user name or password; the password is {which}.")


def _caller(callers: Callers, parameters: Parameters) -> Caller | None:
    if "apiKey" in parameters:
        return callers.with_token(parameters.text("apiKey"))
    user = parameters.text("u")
    caller = callers.with_password(user, lambda password: is_right(password, parameters))
    if caller is None and "p" in parameters:  # a token sent as it is can be checked by its hash
        caller = callers.with_token(_password(parameters) or "")
        return caller if caller is not None and listener_key(caller.listener or "") == listener_key(user) else None
    return caller


def is_right(password: str, parameters: Parameters) -> bool:
    """Return whether credentials are those of a password; compares in constant time.

    Examples
    --------
    >>> is_right("sesame", Parameters([("t", "26719a1196d2a940705a59634eb18eab"), ("s", "c19b2d")]))
    True
    >>> [is_right("sesame", Parameters([("p", p)])) for p in ("sesame", "enc:736573616d65", "open", "enc:7365")]
    [True, True, False, False]
    """
    if "t" in parameters:
        salted = hashlib.md5(
            (password + parameters.text("s")).encode(), usedforsecurity=False
        )  # required by the protocol
        return is_same(parameters.text("t").lower(), salted.hexdigest())
    sent = _password(parameters)
    return sent is not None and is_same(sent, password)


def _password(parameters: Parameters) -> str | None:
    """Return the password that was sent as it is or in hexadecimal; None if it is not valid."""
    password = parameters.text("p")
    if not password.startswith("enc:"):
        return password
    try:
        return bytes.fromhex(password.removeprefix("enc:")).decode()
    except ValueError:
        return None


def refuse_other_pages(request: Request) -> None:
    """Refuse requests from pages of other sites; without a token, only the origin identifies them."""
    if is_foreign(request):
        raise ProtocolError(NOT_ALLOWED, "pages of other sites are not allowed; start the service with --token.")
