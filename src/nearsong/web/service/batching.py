"""Queries of concurrent requests -> answered in batches by one thread.

With a thread for each request most time would go to waiting for the interpreter lock, and every query would read
all embeddings from memory. Here all queries that are pending when the thread is free are answered with one matrix
product. A query never waits for others to arrive: alone, it is answered alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

Topic = TypeVar("Topic")
Query = TypeVar("Query")
Answer = TypeVar("Answer")

MAX_BATCH = 64


@dataclass(eq=False, slots=True)
class _Pending(Generic[Topic, Query, Answer]):
    topic: Topic
    query: Query
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class QueryBatcher(Generic[Topic, Query, Answer]):
    """Answers queries on the same topic in batches; to be used from one event loop.

    Parameters
    ----------
    answer_batch : callable
        Takes a topic and queries on it, and returns as many answers. Called in one thread, never concurrently. If it
        fails for a batch, its queries are answered one by one, so that each gets its own answer or error.
    max_batch : int
        Queries in a batch.
    """

    def __init__(
        self, answer_batch: Callable[[Topic, Sequence[Query]], Sequence[Answer]], max_batch: int = MAX_BATCH
    ) -> None:
        self._answer_batch, self._max_batch = answer_batch, max_batch
        self._pending: deque[_Pending[Topic, Query, Answer]] = deque()
        self._busy = False
        self._worker: ThreadPoolExecutor | None = None

    async def submit(self, topic: Topic, query: Query) -> Answer:
        """Return the answer to a query; topics are the same if they are equal."""
        pending: _Pending[Topic, Query, Answer] = _Pending(topic, query)
        self._pending.append(pending)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._start_batch)  # after other requests that are ready now
        return await pending.answer

    def close(self) -> None:
        """Stop the thread after its current batch; queries that are still pending get no answer."""
        self._pending.clear()
        self._busy = False
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _start_batch(self) -> None:
        batch = self._next_batch()
        self._busy = bool(batch)
        if batch:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, "nearsong-batch")
            work = asyncio.get_running_loop().run_in_executor(self._worker, self._answers, batch)
            work.add_done_callback(partial(self._deliver, batch))

    def _next_batch(self) -> list[_Pending[Topic, Query, Answer]]:
        """Take the queries on the first one's topic; cancelled ones are dropped."""
        batch: list[_Pending[Topic, Query, Answer]] = []
        others: deque[_Pending[Topic, Query, Answer]] = deque()
        while self._pending and len(batch) < self._max_batch:
            pending = self._pending.popleft()
            if pending.answer.done():
                continue
            (batch if not batch or pending.topic == batch[0].topic else others).append(pending)
        self._pending.extendleft(reversed(others))
        return batch

    def _answers(self, batch: Sequence[_Pending[Topic, Query, Answer]]) -> Sequence[Answer | Exception]:
        """Return answers or errors; in the thread."""
        try:
            return self._answer_batch(batch[0].topic, [pending.query for pending in batch])
        except Exception as error:
            if len(batch) == 1:
                return [error]
        return [self._answers([pending])[0] for pending in batch]

    def _deliver(self, batch: Sequence[_Pending[Topic, Query, Answer]], work: "asyncio.Future[Any]") -> None:
        self._start_batch()  # first, so that the thread is busy meanwhile
        for pending, answer in zip(batch, work.result(), strict=True):
            if pending.answer.done():
                continue
            if isinstance(answer, Exception):
                pending.answer.set_exception(answer)
            else:
                pending.answer.set_result(answer)
