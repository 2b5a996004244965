"""Authentication by one token, without a service."""

from nearsong.web.http.authentication import Authentication
from nearsong.web.http.callers import Callers
from nearsong.web.http.rate_limits import RateLimit


def token_authentication(token, *, wrong_tokens=10, accounts=(), sessions=None) -> Authentication:
    """Return the authentication of a service with a token; with None, one that is open to this machine."""
    callers = Callers(token, accounts, can_be_open=token is None)
    return Authentication(lambda: callers, RateLimit(wrong_tokens, per=60), sessions=sessions)
