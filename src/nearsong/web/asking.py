"""Questions of many requests at the same time -> answered together, by one thread.

A thread for each request would spend most of its time waiting for its turn to run Python, and each question alone
reads all places from memory. Here whatever waits when the thread is free is answered at once, with one product of
matrices; nobody waits for company, so that a question that comes alone is answered alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

Topic = TypeVar("Topic")
Question = TypeVar("Question")
Answer = TypeVar("Answer")

MOST_TOGETHER = 64


@dataclass(eq=False, slots=True)
class _Waiting(Generic[Topic, Question, Answer]):
    topic: Topic
    question: Question
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Asking(Generic[Topic, Question, Answer]):
    """Answers questions on the same topic together; to be used from one event loop.

    Parameters
    ----------
    find : callable
        Takes a topic and questions on it, and returns as many answers; is called in a thread, never twice at once. If
        it fails for several questions, they are asked one by one, so that each gets its own answer or error.
    most : int
        How many questions it takes at once.
    """

    def __init__(
        self, find: Callable[[Topic, Sequence[Question]], Sequence[Answer]], most: int = MOST_TOGETHER
    ) -> None:
        self._find, self._most = find, most
        self._waiting: deque[_Waiting[Topic, Question, Answer]] = deque()
        self._busy = False
        self._worker: ThreadPoolExecutor | None = None

    async def ask(self, topic: Topic, question: Question) -> Answer:
        """Return the answer; topics are the same if they are equal."""
        mine: _Waiting[Topic, Question, Answer] = _Waiting(topic, question)
        self._waiting.append(mine)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._go_on)  # after what else has just come
        return await mine.answer

    def close(self) -> None:
        """Wait for the thread and let it go; whoever still waits is told nothing any more."""
        self._waiting.clear()
        self._busy = False
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _go_on(self) -> None:
        batch = self._next()
        self._busy = bool(batch)
        if batch:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, "nearsong-asking")
            work = asyncio.get_running_loop().run_in_executor(self._worker, self._answers, batch)
            work.add_done_callback(partial(self._tell, batch))

    def _next(self) -> list[_Waiting[Topic, Question, Answer]]:
        """Take the questions on the first one's topic; those whose askers have gone are forgotten."""
        batch: list[_Waiting[Topic, Question, Answer]] = []
        others: deque[_Waiting[Topic, Question, Answer]] = deque()
        while self._waiting and len(batch) < self._most:
            one = self._waiting.popleft()
            if one.answer.done():
                continue
            (batch if not batch or one.topic == batch[0].topic else others).append(one)
        self._waiting.extendleft(reversed(others))
        return batch

    def _answers(self, batch: Sequence[_Waiting[Topic, Question, Answer]]) -> Sequence[Answer | Exception]:
        """Return answers or errors; in the thread."""
        try:
            return self._find(batch[0].topic, [one.question for one in batch])
        except Exception as error:
            if len(batch) == 1:
                return [error]
        return [self._answers([one])[0] for one in batch]

    def _tell(self, batch: Sequence[_Waiting[Topic, Question, Answer]], work: "asyncio.Future[Any]") -> None:
        self._go_on()  # first, so that the thread has something to do meanwhile
        for one, answer in zip(batch, work.result(), strict=True):
            if one.answer.done():
                continue
            if isinstance(answer, Exception):
                one.answer.set_exception(answer)
            else:
                one.answer.set_result(answer)
