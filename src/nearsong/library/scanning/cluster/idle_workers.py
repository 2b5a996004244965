"""Processes that read files, kept for a while: a worker of a cluster gets one batch after the other.

A process takes a second or two to start, as it imports decoders and encoders; a short batch does not take longer.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from nearsong.audio.workers import MEMORY_BYTES, AudioWorkers
from nearsong.errors import AudioError

IDLE_SECONDS = 30.0
"""How long a process is kept that reads nothing."""


class IdleWorkers:
    """Gives each thread a process of its own, one that is idle if there is one of the kind.

    Parameters
    ----------
    idle_seconds : float
        After so long without work, all processes end.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._idle: list[tuple[Hashable, AudioWorkers[Any]]] = []
        self._timer: threading.Timer | None = None

    def map(
        self,
        kind: Hashable,
        function: Callable[..., Any],
        paths: Sequence[str],
        *,
        timeout: float | None,
        nice: int,
    ) -> list[tuple[str, Any]]:
        """Apply a function to files one after the other, with limits; the result of a bad file is an `AudioError`.

        Parameters
        ----------
        kind : hashable
            The same for the same function and limits.
        function : callable
            Takes a path; must be importable, or a `functools.partial` of such a function.
        paths : sequence of str
        timeout, nice
            As for :func:`nearsong.audio.map_audio_files`.
        """
        if not paths:
            return []
        workers = self._taken(kind) or AudioWorkers(function, timeout=timeout, memory=MEMORY_BYTES, nice=nice)
        results: list[tuple[str, Any]] = []
        try:
            for path in paths:
                try:
                    results.append((path, workers.run(path)))
                except AudioError as error:
                    results.append((path, error))
        except BaseException:
            workers.close()
            raise
        self._keep(kind, workers)
        return results

    def close(self) -> None:
        """End the processes that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, workers in idle:
            workers.close()

    def _taken(self, kind: Hashable) -> AudioWorkers[Any] | None:
        with self._lock:
            for position, (other, workers) in enumerate(self._idle):
                if other == kind:
                    del self._idle[position]
                    return workers
        self.close()  # of another kind: of an earlier stage, or of another scan
        return None

    def _keep(self, kind: Hashable, workers: AudioWorkers[Any]) -> None:
        with self._lock:
            self._idle.append((kind, workers))
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._idle_seconds, self.close)
            self._timer.daemon = True
            self._timer.start()
