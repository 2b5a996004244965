"""Questions of many threads -> answered together: those that wait at the same time share one matrix product.

One question reads all places from memory to multiply them once; thirty-two read them once for all. Nobody waits for
company: as many threads as there are processors for answer at the same time, each takes along what waits by then, and
a question that comes alone is answered alone, at once. More threads would be in each other's way: where BLAS has
threads of its own, questions that multiply at the same time cost several times what they cost in turn.
"""

import threading
from collections import deque
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info

from nearsong.executor import available_processors

Mask = npt.NDArray[np.bool_]
Answer = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]

MOST_TOGETHER = 32
"""Questions answered by one product; with 100,000 songs it takes 13 MB."""

FEWEST_TOGETHER = 6
"""With fewer, BLAS is quicker one by one."""


class FindNearest(Protocol):
    """What answers: :meth:`nearsong.library.index.PlaceIndex.nearest`, or the like."""

    def __call__(self, queries: npt.ArrayLike, k: int, *, allowed: Mask | None = None) -> Answer:
        """Return ids and distances, (m, k) each for places (m, r), (k,) for one place (r,)."""


class _Question:
    """A question, and its answer when there is one."""

    __slots__ = ("allowed", "answer", "error", "k", "leads", "place", "told")

    def __init__(self, place: npt.NDArray[Any], k: int, allowed: Mask | None) -> None:
        self.place, self.k, self.allowed = place, k, allowed
        self.answer: Answer | None = None
        self.error: Exception | None = None
        self.leads = False
        self.told = threading.Lock()
        self.told.acquire()


class Together:
    """Answers the questions of many threads together.

    Parameters
    ----------
    find : callable
        Answers; a row of its answer must not depend on other rows.
    leaders : int, optional
        Threads that answer at the same time; by default one for each processor that BLAS leaves to it.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.index import PlaceIndex
    >>> index = PlaceIndex.build(np.array([[0.0], [1.0], [4.0]]), ids=[10, 11, 12])
    >>> ids, distances = Together(index.nearest).nearest(np.array([3.0]), k=2)
    >>> ids.tolist(), distances.tolist()
    ([12, 11], [1.0, 2.0])
    """

    def __init__(self, find: FindNearest, leaders: int | None = None) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._waiting: deque[_Question] = deque()
        self._free = _leaders() if leaders is None else leaders

    def nearest(self, place: npt.NDArray[Any], k: int, allowed: Mask | None = None) -> Answer:
        """Return the ids and distances of the ``k`` songs nearest to a place (r,).

        With ``allowed``, only those; such a question takes its turn, but shares no product.
        """
        question = _Question(place, k, allowed)
        with self._lock:
            if self._free:
                self._free -= 1
                question.leads = True
            else:
                self._waiting.append(question)
        if not question.leads:
            try:
                question.told.acquire()
            except BaseException:  # Ctrl-C: nobody may be made a leader who has gone
                self._withdraw(question)
                raise
        if question.leads:
            self._lead(question)
        if question.error is not None:
            raise question.error
        assert question.answer is not None
        return question.answer

    def _lead(self, mine: _Question) -> None:
        """Answer one's own question and those that wait beside it, then let the next one lead."""
        batch = [mine]
        try:
            if mine.allowed is None:
                batch += self._taken_along(mine.k)
            self._answer(batch)
        finally:
            others = batch[1:]
            with self._lock:
                self._waiting.extendleft(one for one in reversed(others) if one.answer is None and one.error is None)
                self._pass_on()
            for one in others:
                if one.answer is not None or one.error is not None:
                    one.told.release()

    def _taken_along(self, k: int) -> list[_Question]:
        """Return questions that wait and ask for as many; none if they are too few to be worth it."""
        with self._lock:
            same = [one for one in self._waiting if one.k == k and one.allowed is None][: MOST_TOGETHER - 1]
            if len(same) < FEWEST_TOGETHER - 1:
                return []
            taken = set(map(id, same))
            self._waiting = deque(one for one in self._waiting if id(one) not in taken)
            return same

    def _answer(self, batch: list[_Question]) -> None:
        if len(batch) > 1:
            try:
                ids, distances = self._find(np.stack([one.place for one in batch]), batch[0].k)
            except Exception:  # one of them cannot be answered; which one, they find out one by one
                pass
            else:
                for row, one in enumerate(batch):
                    one.answer = ids[row], distances[row]
                return
        for one in batch:
            try:
                one.answer = self._find(one.place, one.k, allowed=one.allowed)
            except Exception as error:
                one.error = error

    def _pass_on(self) -> None:
        """Let the one that waits longest lead; the lock is held."""
        if self._waiting:
            following = self._waiting.popleft()
            following.leads = True
            following.told.release()
        else:
            self._free += 1

    def _withdraw(self, question: _Question) -> None:
        with self._lock:
            if question in self._waiting:
                self._waiting.remove(question)
            elif question.leads:
                self._pass_on()


def _leaders() -> int:
    """Return how many threads may multiply at once, so that with those of BLAS there is one for each processor."""
    threads = [int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"]
    return max(1, available_processors() // max(threads, default=1))
