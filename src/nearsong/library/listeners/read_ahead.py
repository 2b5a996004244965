"""An iterator -> the same items, made in a thread while the caller uses those before."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_ITEMS_AHEAD = 2
_WAIT_SECONDS = 0.1


class _Stopped(Exception):  # noqa: N818
    """The caller needs no more items."""


class ReadAhead(Generic[T]):
    """Makes items in a thread; use it as a context manager, which ends the thread.

    Parameters
    ----------
    make : callable
        Returns the iterator; called with a function that it calls from time to time, which ends it if nobody waits
        for its items any more.
    while_waiting : callable
        Called several times a second while the next item is not ready, in the thread of the caller.
    """

    def __init__(self, make: Callable[[Callable[[], None]], Iterator[T]], while_waiting: Callable[[], None]) -> None:
        self._make, self._while_waiting = make, while_waiting
        self._items: queue.Queue[T | BaseException | None] = queue.Queue(_ITEMS_AHEAD)
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nearsong-read-ahead", daemon=True)

    def __enter__(self) -> "ReadAhead[T]":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_stopped.set()
        self._thread.join(timeout=_WAIT_SECONDS * 5)

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self._items.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                self._while_waiting()
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _run(self) -> None:
        try:
            for item in self._make(self._check):
                self._put(item)
            self._put(None)
        except _Stopped:
            pass
        except BaseException as error:  # raised where the items are used
            self._put(error)

    def _check(self) -> None:
        if self._is_stopped.is_set():
            raise _Stopped

    def _put(self, item: T | BaseException | None) -> None:
        while not self._is_stopped.is_set():
            try:
                self._items.put(item, timeout=_WAIT_SECONDS)
                return
            except queue.Full:
                continue
        if not isinstance(item, BaseException):
            raise _Stopped
