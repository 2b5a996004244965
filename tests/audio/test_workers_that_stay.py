"""Worker processes that stay: one file now and then, from any thread, with limits on time and memory."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nearsong.audio import load_frames
from nearsong.audio.workers import AudioWorkers
from nearsong.errors import (
    AudioMemoryError,
    AudioTimeoutError,
    InvalidInputError,
    NearsongError,
    TooShortAudioError,
    UnreadableAudioError,
)

TRICKS = """
import os, signal, time

def stay(path, *more):
    if path == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if path == "hang":
        time.sleep(600)
    if path == "bug":
        raise KeyError("oops")
    if path == "large":
        return len(bytearray(more[0]))
    return path, more, os.getpid()
"""


@pytest.fixture
def stay(tmp_path, monkeypatch):
    (tmp_path / "staying_tricks.py").write_text(TRICKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import staying_tricks

    yield staying_tricks.stay
    sys.modules.pop("staying_tricks")


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_file_gives_the_same_as_in_this_process(make_sound):
    with AudioWorkers(load_frames) as workers:
        song = make_sound("song.flac")
        np.testing.assert_array_equal(workers.run(song), load_frames(song))
        with pytest.raises(TooShortAudioError, match="is shorter than"):
            workers.run(make_sound("short.wav", "song.wav", seconds=0.02))


def test_a_process_serves_file_after_file_with_arguments_of_its_own_and_ends_with_the_pool(stay):
    others = set(multiprocessing.active_children())  # of other tests in this process
    with AudioWorkers(stay) as workers:
        first = workers.run("a", "encoder 1", 30.0)
        second = workers.run("b", "encoder 2")
    assert first[:2] == ("a", ("encoder 1", 30.0))
    assert second == ("b", ("encoder 2",), first[2])
    assert first[2] != os.getpid()
    assert not is_there(first[2])
    assert set(multiprocessing.active_children()) <= others


def test_a_crash_a_bug_and_a_hang_cost_their_own_file_only(stay):
    with AudioWorkers(stay, timeout=1.0) as workers:
        with pytest.raises(UnreadableAudioError, match=r"^crash: crashed its decoder \(exit code"):
            workers.run("crash")
        with pytest.raises(UnreadableAudioError, match=r"^bug: could not be processed \(KeyError: 'oops'\)\.$"):
            workers.run("bug")
        with pytest.raises(AudioTimeoutError, match=r"^hang: took longer than 1\.0 s to read"):
            workers.run("hang")
        assert workers.run("a")[0] == "a"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems know no such limit")
def test_memory_is_limited_and_the_file_that_wants_more_is_refused(stay):
    with AudioWorkers(stay, memory=256 << 20) as workers:
        assert workers.run("large", 32 << 20) == 32 << 20
        with pytest.raises(AudioMemoryError, match="more memory than is available"):
            workers.run("large", 1 << 30)
        assert workers.run("large", 32 << 20) == 32 << 20
    with AudioWorkers(stay) as workers:
        assert workers.run("large", 1 << 29) == 1 << 29


def test_threads_share_the_processes(stay):
    with AudioWorkers(stay, workers=2) as workers, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(workers.run, [f"song {i}" for i in range(40)]))
    assert [path for path, _, _ in found] == [f"song {i}" for i in range(40)]
    assert len({pid for *_, pid in found}) <= 2


def test_processes_that_die_without_a_file_are_replaced(stay):
    with AudioWorkers(stay) as workers:
        first = workers.run("a")[2]
        os.kill(first, signal.SIGKILL)
        second = workers.run("b")[2]
        assert second != first
        os.kill(second, signal.SIGKILL)
        while is_there(second):
            time.sleep(0.05)
        assert workers.run("c")[0] == "c"


def test_warmed_processes_are_there_before_the_first_file(stay):
    others = set(multiprocessing.active_children())
    with AudioWorkers(stay, workers=2) as workers:
        assert set(multiprocessing.active_children()) <= others  # lazily
        workers.warm()
        there = {child.pid for child in set(multiprocessing.active_children()) - others}
        assert len(there) == 2
        assert workers.run("a")[2] in there


def test_closing_gives_up_the_file_in_hand_and_takes_no_more(stay):
    workers = AudioWorkers(stay, timeout=None)
    workers.warm()
    reported = []

    def wait_for_it() -> None:
        try:
            workers.run("hang")
        except NearsongError as error:
            reported.append(str(error))

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    time.sleep(0.3)
    workers.close()
    waiting.join(30)
    assert reported == ["these worker processes are closed; create new ones."]
    with pytest.raises(NearsongError, match="these worker processes are closed; create new ones"):
        workers.run("a")
    workers.close()  # twice is once


def test_it_starts_from_any_thread_and_ctrl_c_still_works_there(stay):
    with AudioWorkers(stay) as workers, ThreadPoolExecutor(1) as threads:
        assert threads.submit(workers.run, "a").result()[0] == "a"
        masked = threads.submit(signal.pthread_sigmask, signal.SIG_BLOCK, set()).result()
    assert signal.SIGINT not in masked


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(InvalidInputError, match="workers=0"):
        AudioWorkers(load_frames, workers=0)
    with pytest.raises(InvalidInputError, match="timeout=-1"):
        AudioWorkers(load_frames, timeout=-1)
    with pytest.raises(InvalidInputError, match="memory=0"):
        AudioWorkers(load_frames, memory=0)
    with AudioWorkers(load_frames) as workers, pytest.raises(InvalidInputError, match="paths contains 5"):
        workers.run(5)
