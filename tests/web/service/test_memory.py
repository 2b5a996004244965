"""What a service has freed goes back to the system, and what it holds is not looked through again and again."""

import gc
import platform
import subprocess
import sys
import weakref
from contextlib import closing

import pytest

from library_store import mark_missing
from nearsong.library import Library
from nearsong.web.service import memory
from nearsong.web.service.memory import SparedMemory
from planted_library import write_library

PROGRAM = """
import gc
from nearsong.web.service.memory import give_back_memory, use_few_heaps

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

assert use_few_heaps()
blocks = [bytes(1000) for _ in range(200_000)]
kept = blocks[::1000]  # one here and there, the last one too: the heap cannot simply shrink
kept.append(blocks[-1])
full = resident()
del blocks
gc.collect()
freed = resident()
give_back_memory()
print(full, freed, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory in heaps of threads")
def test_freed_memory_goes_back_to_the_system():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    full, freed, given_back = map(int, run.stdout.split())
    assert freed > full - 50  # kept by the C library
    assert given_back < full - 100


@pytest.fixture
def library(tmp_path):
    gc.unfreeze()  # what other libraries have spared
    with Library.open(write_library(tmp_path / "library.sqlite"), create=False) as library:
        yield library


def changed_snapshot(library):
    mark_missing(library, [library.songs()[0].id])
    return library.snapshot(now=True)


def test_a_large_snapshot_is_spared_from_the_collector_and_the_one_before_is_freed(library, monkeypatch):
    monkeypatch.setattr(memory, "MIN_SPARED_SONGS", 10)
    assert gc.get_freeze_count() == 0
    with closing(SparedMemory()) as spared:
        snapshot = library.snapshot()
        spared.look_after(snapshot)
        n_spared = gc.get_freeze_count()
        assert n_spared > len(library.songs())
        assert not any(one is snapshot.space.songs[0] for one in gc.get_objects())
        cycle = [snapshot]
        cycle.append(cycle)  # which only the collector can free
        before = weakref.ref(snapshot)
        snapshot = changed_snapshot(library)
        spared.look_after(snapshot)  # a request still uses the one before
        assert before() is not None
        del cycle
        monkeypatch.setattr(
            memory.time, "monotonic", lambda now=memory.time.monotonic: now() + 2 * memory.AGAIN_SECONDS
        )
        spared.look_after(snapshot)
        assert before() is None
        assert gc.get_freeze_count() > len(library.songs())
    assert gc.get_freeze_count() == 0


def test_the_collector_is_left_alone_while_a_snapshot_stays_and_with_few_songs(library, monkeypatch):
    rounds = []
    monkeypatch.setattr(gc, "collect", lambda: rounds.append(1))
    with closing(SparedMemory()) as spared:
        spared.look_after(library.snapshot())
        assert (rounds, gc.get_freeze_count()) == ([], 0)
        monkeypatch.setattr(memory, "MIN_SPARED_SONGS", 10)
        for _ in range(3):
            spared.look_after(library.snapshot())
        assert rounds == [1]
        snapshot = changed_snapshot(library)
        for _ in range(3):
            spared.look_after(snapshot)
        assert rounds == [1, 1]
