"""Questions answered together: the same answers as alone, each to the one who asked, whatever else goes wrong."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nearsong.errors import InvalidInputError
from nearsong.library import together
from nearsong.library.index import PlaceIndex
from nearsong.library.together import FEWEST_TOGETHER, MOST_TOGETHER, Together

WAIT = 30  # seconds until a test that hangs fails


class Gate:
    """An index whose first question waits until it is let through; writes down how many came at once."""

    def __init__(self, index: PlaceIndex) -> None:
        self.index, self.sizes = index, []
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self, queries, k, *, allowed=None):
        self.sizes.append(len(np.atleast_2d(queries)))
        if not self.entered.is_set():
            self.entered.set()
            assert self.opened.wait(WAIT)
        return self.index.nearest(queries, k, allowed=allowed)


@pytest.fixture
def places():
    return np.random.default_rng(0).integers(0, 4, (300, 3)).astype(np.float32)  # many equals


@pytest.fixture
def gate(places):
    return Gate(PlaceIndex.build(places, np.arange(300)))


def ask_while_busy(gate, asking, questions):
    """Ask one question that is held up, then others, and let all go on when they wait; return futures."""
    pool = ThreadPoolExecutor(len(questions))
    first, *others = questions
    futures = [pool.submit(asking.nearest, *first)]
    assert gate.entered.wait(WAIT)
    for number, question in enumerate(others, start=1):
        futures.append(pool.submit(asking.nearest, *question))
        while len(asking._waiting) < number:
            time.sleep(0.001)
    gate.opened.set()
    pool.shutdown(wait=True)
    return futures


def check(gate, questions, futures):
    for (place, k, *mask), future in zip(questions, futures, strict=True):
        alone = gate.index.nearest(place, k, allowed=mask[0] if mask else None)
        for mine, theirs in zip(future.result(WAIT), alone, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("waiting", [1, FEWEST_TOGETHER - 1, FEWEST_TOGETHER, 20, MOST_TOGETHER + 5])
def test_answers_are_those_of_asking_alone(gate, places, waiting):
    questions = [(places[i], 7) for i in range(waiting + 1)]
    asking = Together(gate, leaders=1)
    check(gate, questions, ask_while_busy(gate, asking, questions))
    assert sum(gate.sizes) == len(questions)
    assert max(gate.sizes) == (1 if waiting < FEWEST_TOGETHER else min(waiting, MOST_TOGETHER))


def test_only_questions_for_as_many_songs_are_put_together(gate, places):
    questions = [(places[i], 3 + i % 2) for i in range(21)]
    check(gate, questions, ask_while_busy(gate, Together(gate, leaders=1), questions))
    assert sorted(gate.sizes) == [1, 10, 10]


def test_a_question_with_songs_left_out_takes_its_turn_alone(gate, places):
    questions = [(places[i], 5) for i in range(16)]
    for i in (2, 5, 9):
        questions[i] = (places[i], 5, np.arange(300) % (i + 1) > 0)
    check(gate, questions, ask_while_busy(gate, Together(gate, leaders=1), questions))
    assert sorted(gate.sizes) == [1, 1, 1, 1, 12]


@pytest.mark.parametrize(
    ("processors", "threads", "leaders"), [(2, [1, 1], 2), (2, [2, 1], 1), (8, [2], 4), (4, [], 4)]
)
def test_with_the_threads_of_blas_there_is_one_for_each_processor(monkeypatch, processors, threads, leaders):
    found = [{"user_api": "blas", "num_threads": number} for number in threads]
    found.append({"user_api": "openmp", "num_threads": 99})
    monkeypatch.setattr(together, "threadpool_info", lambda: found)
    monkeypatch.setattr(together, "available_processors", lambda: processors)
    assert Together(lambda queries, k, allowed=None: None)._free == leaders


def test_a_question_that_cannot_be_answered_troubles_nobody_else(gate, places):
    questions = [(places[i], 5) for i in range(15)]
    questions[9] = (np.full(3, np.nan, np.float32), 5)
    futures = ask_while_busy(gate, Together(gate, leaders=1), questions)
    with pytest.raises(InvalidInputError, match="NaN or infinite"):
        futures.pop(9).result(WAIT)
    questions.pop(9)
    check(gate, questions, futures)


def test_after_an_error_the_next_question_is_answered(gate, places):
    gate.entered.set()
    asking = Together(gate, leaders=1)
    for _ in range(3):
        with pytest.raises(InvalidInputError, match="NaN or infinite"):
            asking.nearest(np.full(3, np.nan, np.float32), 5)
    check(gate, [(places[0], 5)], [ThreadPoolExecutor(1).submit(asking.nearest, places[0], 5)])


def test_a_leader_that_is_broken_off_leaves_the_others_to_the_next(gate, places, monkeypatch):
    asking = Together(gate, leaders=1)
    answer, broken = Together._answer, []

    def break_off_once(self, batch):
        if len(batch) > 1 and not broken:
            broken.append(len(batch))
            raise KeyboardInterrupt
        answer(self, batch)

    monkeypatch.setattr(Together, "_answer", break_off_once)
    questions = [(places[i], 5) for i in range(12)]
    futures = ask_while_busy(gate, asking, questions)
    with pytest.raises(KeyboardInterrupt):
        futures.pop(1).result(WAIT)
    questions.pop(1)
    check(gate, questions, futures)
    assert broken == [11]
    assert asking._free == 1


def test_one_who_goes_while_waiting_is_not_waited_for(gate, places, monkeypatch):
    class Impatient(together._Question):
        def __init__(self, place, k, allowed):
            super().__init__(place, k, allowed)
            if place is gone:
                self.told = Leaves()

    class Leaves:
        def acquire(self):
            raise KeyboardInterrupt

    gone = places[7].copy()
    monkeypatch.setattr(together, "_Question", Impatient)
    asking = Together(gate, leaders=1)
    pool = ThreadPoolExecutor(2)
    first = pool.submit(asking.nearest, places[0], 5)
    assert gate.entered.wait(WAIT)
    with pytest.raises(KeyboardInterrupt):
        asking.nearest(gone, 5)
    assert not asking._waiting
    gate.opened.set()
    check(gate, [(places[0], 5), (places[1], 5)], [first, pool.submit(asking.nearest, places[1], 5)])


def test_many_threads_with_several_leaders_get_their_own_answers(places):
    index = PlaceIndex.build(places, np.arange(300))
    asking = Together(index.nearest, leaders=2)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda i: asking.nearest(places[i], 1 + i % 3), range(300)))
    for i, (ids, distances) in enumerate(found):
        expected = index.nearest(places[i], 1 + i % 3)
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(distances, expected[1])
    assert asking._free == 2
