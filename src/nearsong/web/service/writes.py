"""Requests that write to the library -> a few at a time, in threads of their own.

A write may have to wait for a scan or for another program. In the threads that all requests share, some dozens of
waiting writes would leave none for those that only read. So all writes wait here: most of them without a thread, some
in the queue's own threads for the library's lock, and none for longer than some seconds.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from nearsong.web.http.problems import ApiError

MAX_CONCURRENT = 4
"""Writes that have a thread; more than one, so that a change of the model does not hold up plays."""

MAX_WAITING = 64
"""Writes that wait for a thread; further ones are refused at once."""

QUEUE_TIMEOUT_SECONDS = 5.0
"""Longest wait for a thread."""

LOCK_TIMEOUT_SECONDS = 5.0
"""Longest wait, with a thread, for others that write to the library."""

Result = TypeVar("Result")
Route = TypeVar("Route", bound=Callable[..., Any])


class WriteQueue:
    """Runs writes in a few threads of its own; to be used from one event loop.

    Parameters
    ----------
    slots : int
        Writes that run at the same time.
    queue : int
        Writes that may wait for a slot.
    timeout : float
        Longest wait in seconds.
    check : callable
        Called when it is a write's turn; raises if it may no longer run.
    """

    def __init__(
        self,
        slots: int = MAX_CONCURRENT,
        queue: int = MAX_WAITING,
        timeout: float = QUEUE_TIMEOUT_SECONDS,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._check = check
        self._slots = anyio.Semaphore(slots)
        self._threads = anyio.CapacityLimiter(slots)  # as many as there are slots, so that nobody waits for one
        self._queue, self._timeout = queue, timeout
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many writes wait for a slot."""
        return self._waiting

    async def run(self, write: Callable[..., Result], *arguments: Any) -> Result:
        """Return the result of a function that writes.

        Raises
        ------
        ApiError
            503 if too many writes are waiting, or the wait takes too long.
        """
        if self._waiting >= self._queue:
            raise _busy()
        self._waiting += 1
        try:
            with anyio.fail_after(self._timeout):
                await self._slots.acquire()
        except TimeoutError:
            raise _busy() from None
        finally:
            self._waiting -= 1
        try:
            self._check()
            return await anyio.to_thread.run_sync(write, *arguments, limiter=self._threads)
        finally:
            self._slots.release()


def queued(route: Callable[..., Result]) -> Callable[..., Coroutine[Any, Any, Result]]:
    """Make a route run in the write queue of its service, which is its parameter ``service``.

    Every route that writes to the library has this decorator, below that of the router.
    """

    @functools.wraps(route)
    async def run(*, service: Any, **parameters: Any) -> Result:
        writes: WriteQueue = service.writes
        return await writes.run(functools.partial(route, service=service, **parameters))

    return run


def _busy() -> ApiError:
    detail = "too many changes are waiting for the library; try again in a few seconds."
    return ApiError(503, detail, "busy", {"Retry-After": "5"})
