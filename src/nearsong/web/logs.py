"""What the server writes into its log -> the same without tokens, and without the noise of an end that was wanted."""

import asyncio
import logging
from urllib.parse import unquote_plus

SECRETS = frozenset({"token", "p", "t", "s", "apikey"})
"""Parameters that hold the token, or let it be guessed at leisure."""

MASK = "..."


def masked(address: str) -> str:
    """Return an address without the values of secret parameters.

    >>> masked("/?token=abc&x=1"), masked("/rest/ping?u=me&%70=abc"), masked("/api/v1/songs?search=p")
    ('/?token=...&x=1', '/rest/ping?u=me&%70=...', '/api/v1/songs?search=p')
    """
    path, question, query = address.partition("?")
    return path + question + "&".join(map(_masked_part, query.split("&")))


def _masked_part(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={MASK}" if equals and unquote_plus(name).strip().lower() in SECRETS else part


class WithoutSecrets(logging.Filter):
    """Takes secrets out of the lines of ``uvicorn.access``."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask every argument that may be an address; the line itself stays."""
        if isinstance(record.args, tuple):
            record.args = tuple(masked(each) if isinstance(each, str) else each for each in record.args)
        return True


class WithoutCancelled(logging.Filter):
    """Leaves out that an answer was ended because the service ends: nothing went wrong."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a line is worth writing."""
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


_FILTERS = (("uvicorn.access", WithoutSecrets()), ("uvicorn.error", WithoutCancelled()))


def tidy_logs() -> None:
    """Let the server's loggers write no more than they should; again does no harm."""
    for name, each in _FILTERS:
        logging.getLogger(name).addFilter(each)
