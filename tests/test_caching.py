"""What is made when first asked for is made once, and holds up nothing else."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from nearsong.caching import cached_property, copy_cached, is_cached

WAIT = 30


class Kitchen:
    """Makes tea, and soup that takes as long as it is asked to."""

    def __init__(self):
        self.made, self.boiling, self.done = [], threading.Event(), threading.Event()

    @cached_property
    def tea(self) -> str:
        """Return tea."""
        self.made.append("tea")
        return "tea"

    @cached_property
    def soup(self) -> str:
        self.made.append("soup")
        self.boiling.set()
        assert self.done.wait(WAIT)
        return "soup with " + self.tea

    @cached_property
    def burnt(self) -> str:
        self.made.append("burnt")
        raise ValueError("smoke")


def test_many_threads_get_the_one_that_was_made():
    kitchen = Kitchen()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(lambda: kitchen.soup) for _ in range(8)]
        assert kitchen.boiling.wait(WAIT)
        kitchen.done.set()
        assert len({id(one.result(WAIT)) for one in asked}) == 1
    assert kitchen.made == ["soup", "tea"]


def test_while_one_thing_is_made_others_and_those_of_other_objects_can_be_had():
    kitchen, other = Kitchen(), Kitchen()
    other.done.set()
    with ThreadPoolExecutor(1) as pool:
        soup = pool.submit(lambda: kitchen.soup)
        assert kitchen.boiling.wait(WAIT)
        assert kitchen.tea == "tea"
        assert other.soup == "soup with tea"
        assert not is_cached(kitchen, "soup")
        kitchen.done.set()
        assert soup.result(WAIT) == "soup with tea"
    assert is_cached(kitchen, "soup")


def test_what_failed_is_tried_again():
    kitchen = Kitchen()
    for _ in range(2):
        with pytest.raises(ValueError, match="smoke"):
            _ = kitchen.burnt
    assert kitchen.made == ["burnt", "burnt"]


def test_another_object_can_take_over_what_is_made():
    kitchen, other = Kitchen(), Kitchen()
    assert kitchen.tea
    copy_cached(kitchen, other, "tea", "soup")
    assert other.tea is kitchen.tea
    assert other.made == []
    assert not is_cached(other, "soup")


def test_the_property_keeps_its_words():
    assert Kitchen.tea.__doc__ == "Return tea."
