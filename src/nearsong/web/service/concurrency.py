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

    Examples
    --------
    >>> limit = ConcurrencyLimit(slots=1, queue=0)
    >>> with limit.slot():
    ...     print("running")
    running
    """

    def __init__(
        self, slots: int = MAX_CONCURRENT, queue: int = MAX_QUEUED, timeout: float = QUEUE_TIMEOUT_SECONDS
    ) -> None:
        self._running = threading.Semaphore(slots)
        self._admitted = threading.Semaphore(slots + queue)
        self._timeout = timeout

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot and hold it.

        Raises
        ------
        ApiError
            503 if the queue is full or the wait takes too long.
        """
        if not self._admitted.acquire(blocking=False):
            raise _busy()
        try:
            if not self._running.acquire(timeout=self._timeout):
                raise _busy()
            try:
                yield
            finally:
                self._running.release()
        finally:
            self._admitted.release()


def _busy() -> ApiError:
    detail = "too many playlists and similar requests are in progress; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})
