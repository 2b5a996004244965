"""Spaces -> graphs in the cache, built by a process of its own, while searches stay exact.

Each machine has a cache of its own, and a model that was in use before may have no graph any more. So whoever keeps a
space for long, a service, looks after its graph: where one is missing, or many songs are outside, a process builds or
extends it. Processes with one cache take turns: the second finds what the first has built.
"""

import json
import logging
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from nearsong.library.neighbours.shared_rows import file_of

if TYPE_CHECKING:
    from nearsong.library.neighbours.space import Space

log = logging.getLogger("nearsong.library")

COMMAND = [sys.executable, "-m", "nearsong.library.neighbours.graph_process"]

RETRY_SECONDS = 3_600.0
"""After a process that brought no graph: it may take minutes of a processor, and end the same way."""

NOT_BUILT = "the graph of similar songs could not be built, so that searches stay exact: %s"


class GraphBuilder:
    """Keeps the graphs of spaces up to date, one at a time; to be used from one thread.

    Attributes
    ----------
    n_added : int
        Songs that its processes have added to graphs.
    """

    def __init__(self) -> None:
        self.n_added = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._space: Space | None = None
        self._not_before = 0.0

    def look_after(self, space: "Space") -> None:
        """Start to build a graph that is missing or old, or use one that is ready; returns at once.

        Parameters
        ----------
        space : Space
            The one that is searched now; another one may have been when the process started.
        """
        if self._process is not None:
            if self._process.poll() is None:
                return
            is_built = self._end(self._process)
            if is_built and space.needs_graph:
                space.reopen_graph()
            if not is_built or (space is self._space and space.needs_graph):
                self._not_before = time.monotonic() + RETRY_SECONDS
            self._process = self._space = None
        if time.monotonic() >= self._not_before and space.needs_graph:
            self._start(space)

    def close(self) -> None:
        """End the process; what it has built so far is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = self._space = None

    def _start(self, space: "Space") -> None:
        request = {
            "embeddings": str(file_of(space.embeddings, space.cache)),
            "shape": space.embeddings.shape,
            "cache": str(space.cache),
        }
        try:
            process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the service, which ends it
            )
        except OSError as error:
            self._not_before = time.monotonic() + RETRY_SECONDS
            log.warning(NOT_BUILT, error)
            return
        self._space, self._process = space, process
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it ended at once
            process.stdin.write(json.dumps(request).encode() + b"\n" + space.ids.tobytes())
            process.stdin.flush()  # stays open: when it closes, the process ends

    def _end(self, process: "subprocess.Popen[bytes]") -> bool:
        """Say whether a process that has ended has built a graph."""
        output = process.communicate()[0].decode("utf-8", "replace")
        words = [line for line in output.splitlines() if line.strip()]
        if process.returncode or not words:
            why = words[-1] if words else f"the process ended with {process.returncode}"
            log.warning(NOT_BUILT, why)
            return False
        self.n_added += int(words[-1])
        return True
