"""Work in several threads, and waiting for what threads and processes do."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")
Input = TypeVar("Input")


def wait_for(is_so: Callable[[], Found], seconds: float = 300.0) -> Found:
    """Ask again and again until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)
    return found


def in_threads(run: Callable[[Input], Found], inputs: Iterable[Input]) -> list[Found]:
    """Return the result for every input, each from a thread of its own; an error in one of them is raised here."""
    inputs = list(inputs)
    with ThreadPoolExecutor(len(inputs)) as threads:
        return list(threads.map(run, inputs))
