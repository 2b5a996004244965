"""Questions of many requests: answered together, each its own answer or error, whoever else goes or fails."""

import asyncio
import threading

import pytest

from nearsong.web.service.batching import BUSY_QUERIES, ENOUGH_QUERIES, QueryBatcher

WAIT = 30  # seconds until a test that hangs fails


class Finder:
    """Doubles numbers; the first call waits until it is let through."""

    def __init__(self):
        self.calls, self.opened = [], threading.Event()

    def __call__(self, topic, questions):
        self.calls.append((topic, list(questions)))
        assert self.opened.wait(WAIT)
        if "bad" in questions:
            raise ValueError("bad came")
        return [2 * question for question in questions]


async def while_busy(finder, batcher, *asked):
    """Ask while the first question is being answered; return tasks."""
    tasks = [asyncio.ensure_future(batcher.submit("a", 0))]
    while not finder.calls:
        await asyncio.sleep(0.001)
    tasks += [asyncio.ensure_future(batcher.submit(topic, question)) for topic, question in asked]
    await asyncio.sleep(0)
    return tasks


@pytest.fixture
def finder():
    return Finder()


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, WAIT))


def test_what_waits_is_answered_together_up_to_a_number_and_in_order(finder):
    async def ask():
        batcher = QueryBatcher(finder, max_batch=4)
        tasks = await while_busy(finder, batcher, *(("a", number) for number in range(1, 8)))
        finder.opened.set()
        assert await asyncio.gather(*tasks) == [2 * number for number in range(8)]
        assert await batcher.submit("a", 9) == 18
        batcher.close()

    run(ask())
    assert finder.calls == [("a", [0]), ("a", [1, 2, 3, 4]), ("a", [5, 6, 7]), ("a", [9])]


def test_only_questions_on_one_topic_are_put_together(finder):
    async def ask():
        batcher = QueryBatcher(finder)
        tasks = await while_busy(finder, batcher, ("a", 1), ("b", 2), ("a", 3), ("b", 4))
        finder.opened.set()
        assert await asyncio.gather(*tasks) == [0, 2, 4, 6, 8]
        batcher.close()

    run(ask())
    assert finder.calls == [("a", [0]), ("a", [1, 3]), ("b", [2, 4])]


def test_an_error_reaches_only_the_one_who_asked_for_it(finder):
    async def ask():
        batcher = QueryBatcher(finder)
        tasks = await while_busy(finder, batcher, ("a", 1), ("a", "bad"), ("a", 2))
        finder.opened.set()
        first, second, bad, last = await asyncio.gather(*tasks, return_exceptions=True)
        assert (first, second, last) == (0, 2, 4)
        assert isinstance(bad, ValueError)
        with pytest.raises(ValueError, match="bad came"):
            await batcher.submit("a", "bad")
        assert await batcher.submit("a", 5) == 10
        batcher.close()

    run(ask())


def test_one_who_has_gone_is_not_asked_for_and_holds_up_nobody(finder):
    async def ask():
        batcher = QueryBatcher(finder)
        first, gone, last = await while_busy(finder, batcher, ("a", 1), ("a", 2))
        first.cancel()
        gone.cancel()
        await asyncio.sleep(0)
        finder.opened.set()
        assert await last == 4
        batcher.close()

    run(ask())
    assert finder.calls == [("a", [0]), ("a", [2])]


def test_after_it_was_closed_it_can_be_asked_again_and_leaves_no_thread(finder):
    before = set(threading.enumerate())
    batcher = QueryBatcher(finder)
    finder.opened.set()
    for _ in range(2):
        assert run(batcher.submit("a", 3)) == 6
        batcher.close()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("nearsong-")]


# ---- collecting queries that come one soon after the other


class HandMovedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still until a test moves it."""

    now = 100.0

    def time(self):
        return self.now

    async def move(self, seconds):
        self.now += seconds
        for _ in range(5):
            await asyncio.sleep(0)


async def asked_every(loop, batcher, seconds, questions):
    """Ask one after the other, each some time after the last; return tasks."""
    tasks = []
    for question in questions:
        tasks.append(loop.create_task(batcher.submit("a", question)))
        await loop.move(seconds)
    return tasks


def run_by_hand(coroutine):
    loop = HandMovedLoop()
    try:
        return loop.run_until_complete(coroutine(loop))
    finally:
        loop.close()


def questions_of(finder):
    return [questions for _, questions in finder.calls]


def test_queries_far_apart_are_answered_alone_without_waiting(finder):
    finder.opened.set()

    async def ask(loop):
        batcher = QueryBatcher(finder, collect=1.0)
        for question in range(6):
            assert await batcher.submit("a", question) == 2 * question
            await loop.move(0.4)  # the clock stands still while one is answered
        batcher.close()

    run_by_hand(ask)
    assert questions_of(finder) == [[question] for question in range(6)]


def test_queries_close_together_are_collected_until_time_is_up_or_they_are_enough(finder):
    finder.opened.set()

    async def ask(loop):
        batcher = QueryBatcher(finder, collect=1.0)
        tasks = await asked_every(loop, batcher, 0.0, range(BUSY_QUERIES - 1))
        await asyncio.gather(*tasks)
        before = len(finder.calls)
        tasks = await asked_every(loop, batcher, 0.1, range(10, 16))
        assert len(finder.calls) == before
        await loop.move(0.5)
        await asyncio.gather(*tasks)
        assert questions_of(finder)[before:] == [list(range(10, 16))]
        await asyncio.gather(*await asked_every(loop, batcher, 0.0, range(20, 20 + ENOUGH_QUERIES)))
        assert questions_of(finder)[before + 1 :] == [list(range(20, 20 + ENOUGH_QUERIES))]
        batcher.close()

    run_by_hand(ask)


def test_a_fast_client_that_asks_alone_waits_once_and_then_for_a_while_no_more(finder):
    finder.opened.set()

    async def ask(loop):
        batcher = QueryBatcher(finder, collect=1.0)
        for question in range(BUSY_QUERIES - 1):
            await batcher.submit("a", question)
        (waiting,) = await asked_every(loop, batcher, 0.0, [7])
        await loop.move(0.9)
        assert not waiting.done()
        await loop.move(0.2)
        assert await waiting == 14
        for question in range(20):  # the clock stands still, so that these would wait for ever
            assert await batcher.submit("a", question) == 2 * question
        batcher.close()

    run_by_hand(ask)


def test_closing_while_queries_are_collected_starts_nothing_later(finder):
    finder.opened.set()

    async def ask(loop):
        batcher = QueryBatcher(finder, collect=1.0)
        tasks = await asked_every(loop, batcher, 0.0, range(BUSY_QUERIES - 1))
        await asyncio.gather(*tasks)
        before = len(finder.calls)
        (task,) = await asked_every(loop, batcher, 0.0, [9])
        batcher.close()
        await loop.move(2.0)
        assert len(finder.calls) == before
        task.cancel()

    run_by_hand(ask)
