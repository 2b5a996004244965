"""A request's credentials -> the name of who asks, or a failure.

The password is the service's token; it is also the API key. There is one library, so any user name will do. Without a
token only this machine can ask, and any password is right; but a page of another site, which could make the user's
browser ask, is refused.
"""

import hashlib
import hmac

from fastapi import Request

from nearsong.web.limits import RateLimit, too_many
from nearsong.web.origins import is_foreign
from nearsong.web.security import counted_as
from nearsong.web.subsonic.envelope import (
    MISSING_PARAMETER,
    NOT_ALLOWED,
    TWO_CREDENTIALS,
    WRONG_CREDENTIALS,
    WRONG_KEY,
    ProtocolError,
)
from nearsong.web.subsonic.parameters import Parameters

USER = "nearsong"
"""Who asks with an API key alone."""


def check_credentials(token: str | None, failures: RateLimit, request: Request, asked: Parameters) -> str:
    """Return the name of who asks.

    Parameters
    ----------
    token : str or None
        The password; None if none is needed.
    failures : RateLimit
        How often an address may be wrong.
    request : Request
    asked : Parameters

    Raises
    ------
    ProtocolError
        If the credentials are missing, contradict each other or are wrong; HTTP 429 if they were so too often.
    """
    user, key = asked.text("u"), asked.text("apiKey")
    if key and (user or "p" in asked or "t" in asked):
        raise ProtocolError(TWO_CREDENTIALS, "both an API key and a user came; give one of them.")
    if "p" in asked and "t" in asked:
        raise ProtocolError(TWO_CREDENTIALS, "both a password (p) and its hash (t) came; give one of them.")
    if not key and not user:
        raise ProtocolError(
            MISSING_PARAMETER, "the parameter u is missing: give a user name and a password, or an apiKey."
        )
    if token is None:
        refuse_other_pages(request)
        return user or USER
    if not key and "p" not in asked and not ("t" in asked and "s" in asked):
        raise ProtocolError(MISSING_PARAMETER, "the password is missing: give t and s, or p.")
    client = counted_as(request)
    wait = failures.wait(client)
    if wait > 0:
        error = too_many(wait, "wrong passwords")
        raise ProtocolError(WRONG_CREDENTIALS, error.detail, error.status, error.headers)
    if not knows(token, asked):
        failures.take(client)
        if key:
            raise ProtocolError(WRONG_KEY, "this API key is not the token of the service.")
        raise ProtocolError(
            WRONG_CREDENTIALS, "wrong user name or password; the password is the token of the service."
        )
    return user or USER


def knows(token: str, asked: Parameters) -> bool:
    """Say whether the credentials are right, in the same time for all that are wrong.

    Examples
    --------
    >>> knows("sesame", Parameters([("t", "26719a1196d2a940705a59634eb18eab"), ("s", "c19b2d")]))
    True
    >>> [knows("sesame", Parameters([("p", said)])) for said in ("sesame", "enc:736573616d65", "open", "enc:7365")]
    [True, True, False, False]
    """
    if "t" in asked:
        salted = hashlib.md5((token + asked.text("s")).encode(), usedforsecurity=False)  # as the protocol has it
        return _same(asked.text("t").lower(), salted.hexdigest())
    if "apiKey" in asked:
        return _same(asked.text("apiKey"), token)
    said = asked.text("p")
    if said.startswith("enc:"):
        try:
            said = bytes.fromhex(said.removeprefix("enc:")).decode()
        except ValueError:
            return False
    return _same(said, token)


def refuse_other_pages(request: Request) -> None:
    """Refuse what a page of another site asks: without a token, only where it comes from tells it from the user."""
    if is_foreign(request.headers):
        raise ProtocolError(NOT_ALLOWED, "a page of another site may not ask here; start the service with --token.")


def _same(said: str, right: str) -> bool:
    return hmac.compare_digest(said.encode("utf-8", "surrogatepass"), right.encode())
