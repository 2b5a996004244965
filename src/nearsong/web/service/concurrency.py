"""Expensive requests -> a few at a time, so that threads and cores stay free for quick ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nearsong.web.http.problems import ApiError

MAX_CONCURRENT = 4
MAX_QUEUED = 8
QUEUE_TIMEOUT_SECONDS = 30.0
"""Longest wait for a slot; a waiting request holds a thread."""


class ConcurrencyLimit:
    """Lets a few requests run at a time, queues some more and refuses the rest.

    Parameters
    ----------
    slots : int
        Requests that run at the same time.
    queue : int
        Requests that may wait for a slot.
    timeout : float
        Longest wait in seconds.
    what : str
        What the requests ask for, for the message.

    Examples
    --------
    >>> limit = ConcurrencyLimit(slots=1, queue=0)
    >>> with limit.slot():
    ...     print("running")
    running
    """

    def __init__(
        self,
        slots: int = MAX_CONCURRENT,
        queue: int = MAX_QUEUED,
        timeout: float = QUEUE_TIMEOUT_SECONDS,
        what: str = "playlists and similar requests",
    ) -> None:
        self._running = threading.Semaphore(slots)
        self._admitted = threading.Semaphore(slots + queue)
        self._timeout = timeout
        self._what = what

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot and hold it.

        Raises
        ------
        ApiError
            503 if the queue is full or the wait takes too long.
        """
        if not self._admitted.acquire(blocking=False):
            raise busy(self._what)
        try:
            if not self._running.acquire(timeout=self._timeout):
                raise busy(self._what)
            try:
                yield
            finally:
                self._running.release()
        finally:
            self._admitted.release()


def busy(what: str) -> ApiError:
    """Return the error of a request that has to come again."""
    detail = f"too many {what} are in progress; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})
