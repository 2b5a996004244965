"""Questions that take a while -> a few of them at a time, so that they leave threads and cores to the quick ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nearsong.web.problems import ApiError

AT_ONCE = 4
WAITING = 8
PATIENCE = 30.0
"""Seconds that a question waits for its turn; the threads in which they wait are few."""


class Heavy:
    """Lets a few through at a time; some more wait, and the rest is asked to come back.

    Parameters
    ----------
    at_once, waiting : int
    patience : float
        Seconds that one waits at most.

    Examples
    --------
    >>> heavy = Heavy(at_once=1, waiting=0)
    >>> with heavy.turn():
    ...     print("now")
    now
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING, patience: float = PATIENCE) -> None:
        self._turns = threading.Semaphore(at_once)
        self._places = threading.Semaphore(at_once + waiting)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn and have it.

        Raises
        ------
        ApiError
            503 if too many wait already, or it takes too long.
        """
        if not self._places.acquire(blocking=False):
            raise _busy()
        try:
            if not self._turns.acquire(timeout=self._patience):
                raise _busy()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._places.release()


def _busy() -> ApiError:
    detail = "too many playlists and the like are being made already; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})
