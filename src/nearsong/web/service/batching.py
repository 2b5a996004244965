"""Queries of concurrent requests -> answered in batches by one thread.

With a thread for each request most time would go to waiting for the interpreter lock, and every query would read
all embeddings from memory. Here all queries that are pending when the thread is free are answered with one matrix
product. When queries come one soon after the other, they are collected for some hundredths of a second first, since a
product for one costs as much of the processor as one for several. A query that comes alone never waits.
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

ENOUGH_QUERIES = 16
"""Queries that are not kept waiting for more: from here on a larger batch saves little."""

COLLECT_SECONDS = 0.04
"""How long a query waits for others at most, the batch before it included."""

BUSY_QUERIES = 4
"""Queries that must have come in the last COLLECT_SECONDS for others to be expected in the next."""

PAUSE_SECONDS = 1.0
"""How long nobody is kept waiting after fewer than BUSY_QUERIES came together, as those of one fast client do."""


@dataclass(eq=False, slots=True)
class _Pending(Generic[Topic, Query, Answer]):
    topic: Topic
    query: Query
    asked: float
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
    collect : float
        How long queries wait for others, in seconds.
    """

    def __init__(
        self,
        answer_batch: Callable[[Topic, Sequence[Query]], Sequence[Answer]],
        max_batch: int = MAX_BATCH,
        collect: float = COLLECT_SECONDS,
    ) -> None:
        self._answer_batch, self._max_batch, self._collect = answer_batch, max_batch, collect
        self._enough = min(ENOUGH_QUERIES, max_batch)
        self._pending: deque[_Pending[Topic, Query, Answer]] = deque()
        self._last_asked: deque[float] = deque(maxlen=BUSY_QUERIES)
        self._collecting: asyncio.TimerHandle | None = None
        self._no_collecting_before = 0.0
        self._busy = False
        self._worker: ThreadPoolExecutor | None = None

    async def submit(self, topic: Topic, query: Query) -> Answer:
        """Return the answer to a query; topics are the same if they are equal."""
        loop = asyncio.get_running_loop()
        pending: _Pending[Topic, Query, Answer] = _Pending(topic, query, loop.time())
        self._pending.append(pending)
        self._last_asked.append(pending.asked)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._collect_or_start)  # after other requests that are ready now
        elif self._collecting is not None and len(self._pending) >= self._enough:
            self._stop_collecting()
            self._start_batch()
        return await pending.answer

    def close(self) -> None:
        """Stop the thread after its current batch; queries that are still pending get no answer."""
        self._pending.clear()
        self._stop_collecting()
        self._busy = False
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _collect_or_start(self) -> None:
        """Start a batch, at once unless others are expected soon."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_busy = len(self._last_asked) == BUSY_QUERIES and now - self._last_asked[0] < self._collect
        if not is_busy or now < self._no_collecting_before or not 0 < len(self._pending) < self._enough:
            self._start_batch()
        else:
            self._collecting = loop.call_at(self._pending[0].asked + self._collect, self._end_collecting)

    def _end_collecting(self) -> None:
        self._collecting = None
        if len(self._pending) < BUSY_QUERIES:
            self._no_collecting_before = asyncio.get_running_loop().time() + PAUSE_SECONDS
        self._start_batch()

    def _stop_collecting(self) -> None:
        if self._collecting is not None:
            self._collecting.cancel()
            self._collecting = None

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
        self._collect_or_start()  # first, so that the thread is busy meanwhile
        for pending, answer in zip(batch, work.result(), strict=True):
            if pending.answer.done():
                continue
            if isinstance(answer, Exception):
                pending.answer.set_exception(answer)
            else:
                pending.answer.set_result(answer)
