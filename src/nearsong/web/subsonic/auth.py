"""A request's credentials -> the name of the user, or a failure.

The password is the service's token, which is also the API key. There is one library, so any user name is accepted.
Without a token only this machine can connect and any password is accepted, but requests from pages of other sites,
which could be sent by the user's browser, are refused.
"""

import hashlib
import hmac

from fastapi import Request

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
"""The user of requests with an API key alone."""


def check_credentials(token: str | None, failures: RateLimit, request: Request, parameters: Parameters) -> str:
    """Return the name of the user.

    Parameters
    ----------
    token : str or None
        The password; None if none is needed.
    failures : RateLimit
        Limit of wrong passwords per client address.
    request : Request
    parameters : Parameters

    Raises
    ------
    ProtocolError
        If the credentials are missing, contradict each other or are wrong; HTTP 429 after too many wrong ones.
    """
    _check_complete(parameters, needs_password=token is not None)
    if token is None:
        refuse_other_pages(request)
    else:
        _check_password(token, failures, request, parameters)
    return parameters.text("u") or DEFAULT_USER


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


def _check_password(token: str, failures: RateLimit, request: Request, parameters: Parameters) -> None:
    """Refuse wrong credentials; after too many of them with HTTP 429. Right ones always work."""
    if is_right(token, parameters):
        return
    try:
        spend(failures, request, "wrong passwords")
    except ApiError as error:
        raise ProtocolError(WRONG_CREDENTIALS, error.detail, error.status, error.headers) from None
    if parameters.text("apiKey"):
        raise ProtocolError(WRONG_KEY, "wrong API key; use the token of the service.")
    raise ProtocolError(WRONG_CREDENTIALS, "wrong user name or password; the password is the token of the service.")


def is_right(token: str, parameters: Parameters) -> bool:
    """Return whether credentials are correct; compares in constant time.

    Examples
    --------
    >>> is_right("sesame", Parameters([("t", "26719a1196d2a940705a59634eb18eab"), ("s", "c19b2d")]))
    True
    >>> [is_right("sesame", Parameters([("p", p)])) for p in ("sesame", "enc:736573616d65", "open", "enc:7365")]
    [True, True, False, False]
    """
    if "t" in parameters:
        salted = hashlib.md5(
            (token + parameters.text("s")).encode(), usedforsecurity=False
        )  # required by the protocol
        return _is_same(parameters.text("t").lower(), salted.hexdigest())
    if "apiKey" in parameters:
        return _is_same(parameters.text("apiKey"), token)
    password = parameters.text("p")
    if password.startswith("enc:"):
        try:
            password = bytes.fromhex(password.removeprefix("enc:")).decode()
        except ValueError:
            return False
    return _is_same(password, token)


def refuse_other_pages(request: Request) -> None:
    """Refuse requests from pages of other sites; without a token, only the origin identifies them."""
    if is_foreign(request):
        raise ProtocolError(NOT_ALLOWED, "pages of other sites are not allowed; start the service with --token.")


def _is_same(sent: str, right: str) -> bool:
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), right.encode())
