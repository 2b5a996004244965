"""Log records of the server -> the same without tokens, cancelled requests at shutdown, and floods."""

import asyncio
import logging
import time
from collections.abc import Callable
from urllib.parse import unquote_plus

SECRETS = frozenset({"token", "p", "t", "s", "apikey", "password", "authtoken", "sk"})
"""Parameters that hold a token or password, a hash of it, or the key of a session."""

MASK = "..."

REPEAT_SECONDS = 60.0
"""Shortest time between two records about too many connections; the server writes hundreds a second."""


def masked(address: str) -> str:
    """Return an address without the values of secret parameters.

    >>> masked("/?token=abc&x=1"), masked("/rest/ping?u=me&%70=abc"), masked("/api/v1/songs?search=p")
    ('/?token=...&x=1', '/rest/ping?u=me&%70=...', '/api/v1/songs?search=p')
    """
    path, mark, query = address.partition("?")
    return path + mark + "&".join(map(_masked_part, query.split("&")))


def _masked_part(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={MASK}" if equals and unquote_plus(name).strip().lower() in SECRETS else part


class WithoutSecrets(logging.Filter):
    """Masks secrets in records of ``uvicorn.access``."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask addresses in the arguments; keep the record."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                masked(argument) if isinstance(argument, str) else argument for argument in record.args
            )
        return True


class WithoutCancelled(logging.Filter):
    """Drops records of requests that were cancelled by a shutdown."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether to keep a record."""
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class WithoutRepeats(logging.Filter):
    """Drops records that repeat a message within a time.

    Parameters
    ----------
    message : str
        The beginning of the message.
    clock : callable
        A monotonic clock in seconds.
    """

    def __init__(self, message: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._message, self._clock = message, clock
        self._next = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether to keep a record."""
        if not str(record.msg).startswith(self._message):
            return True
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + REPEAT_SECONDS
        return True


_FILTERS: tuple[tuple[str, logging.Filter], ...] = (
    ("uvicorn.access", WithoutSecrets()),
    ("uvicorn.error", WithoutCancelled()),
    ("uvicorn.error", WithoutRepeats("Exceeded concurrency limit")),
    ("asyncio", WithoutRepeats("socket.accept() out of system resource")),
)


def filter_logs() -> None:
    """Install the filters; installing them again has no effect."""
    for name, log_filter in _FILTERS:
        logging.getLogger(name).addFilter(log_filter)
