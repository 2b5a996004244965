import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from nearsong.audio import load_frames, map_audio_files
from nearsong.errors import (
    AudioError,
    AudioMemoryError,
    AudioTimeoutError,
    EmptyAudioError,
    InvalidInputError,
    NearsongError,
    NotAudioError,
    TooShortAudioError,
    UnreadableAudioError,
)
from waiting import wait_for

# Functions for the workers live in a module that a fresh interpreter can import.
TRICKS = """
import os, signal, sys, time

def trick(path):
    name = os.path.basename(path)
    if name == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "exit":
        os._exit(3)
    if name == "hang":
        time.sleep(600)
    if name == "nap":
        time.sleep(1.5)
    if name == "tell and hang":
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(600)
    if name == "bug":
        raise KeyError("oops")
    if name == "quit":
        sys.exit(4)
    if name == "slow disk":
        raise TimeoutError("the server does not answer")
    if name == "odd":
        class Odd(Exception):
            def __init__(self, a, b):
                super().__init__("odd")
        raise Odd(1, 2)
    if name == "memory":
        raise MemoryError
    if name == "large":
        return len(bytearray(1 << 29))
    if name == "chatter":
        os.write(2, b"opinion of a decoder")
    return name, os.getpid()

def threads(path):
    import numpy
    from threadpoolctl import threadpool_info
    return [pool["num_threads"] for pool in threadpool_info()], os.nice(0)
"""


@pytest.fixture
def tricks(tmp_path, monkeypatch):
    (tmp_path / "audio_tricks.py").write_text(TRICKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import audio_tricks

    yield audio_tricks
    sys.modules.pop("audio_tricks")


def test_files_give_the_same_as_in_this_process(make_sound):
    paths = [make_sound("song.flac"), make_sound("song.mp3"), make_sound("song.m4a")]
    found = dict(map_audio_files(load_frames, paths, workers=2))
    assert found.keys() == set(paths)
    for path in paths:
        np.testing.assert_array_equal(found[path], load_frames(path))


def test_bad_files_are_errors_and_the_rest_goes_on(make_sound, tmp_path):
    good = [make_sound("song.wav"), make_sound("song.ogg")]
    (tmp_path / "empty.mp3").touch()
    (tmp_path / "text.mp3").write_text("hello " * 1_000)
    short = make_sound("short.wav", "song.wav", seconds=0.02)
    bad = [tmp_path / "empty.mp3", tmp_path / "text.mp3", short, tmp_path / "missing.flac", tmp_path]
    found = dict(map_audio_files(load_frames, [*bad, *good], workers=2))
    expected = [EmptyAudioError, NotAudioError, TooShortAudioError, UnreadableAudioError, UnreadableAudioError]
    assert [type(found[path]) for path in bad] == expected
    assert all(found[path].path == str(path) for path in bad)
    assert all(isinstance(found[path], np.ndarray) for path in good)


def test_a_crash_costs_its_own_file_only(tricks):
    bad = {"crash", "exit", "bug", "memory", "quit", "slow disk", "odd"}
    names = ["a", "crash", "b", "exit", "c", "crash", "d", "bug", "memory", "e", "quit", "slow disk", "odd", "f"]
    results = list(map_audio_files(tricks.trick, names, workers=2))
    assert sorted(path for path, _ in results) == sorted(names)
    for path, result in results:
        if path in bad:
            assert isinstance(result, UnreadableAudioError)
            assert result.path == path
        else:
            assert result[0] == path
            assert result[1] != os.getpid()
    messages = {path: str(result) for path, result in results}
    assert "crashed its decoder (exit code" in messages["crash"]
    assert "exit code 3" in messages["exit"]
    assert messages["bug"] == "bug: could not be processed (KeyError: 'oops')."
    assert "more memory than is available" in messages["memory"]
    assert "does not answer" in messages["slow disk"]


def test_a_file_that_takes_too_long_is_left_out(tricks):
    found = dict(map_audio_files(tricks.trick, ["a", "hang", "b"], workers=1, timeout=2.0))
    assert isinstance(found["hang"], AudioTimeoutError)
    assert str(found["hang"]) == "hang: took longer than 2.0 s to read and was skipped."
    assert found["a"][0] == "a"
    assert found["b"][0] == "b"


def test_a_clock_that_jumps_ends_no_file(tricks, monkeypatch):
    years = count(1)
    monkeypatch.setattr(time, "time", lambda: 3e7 * next(years))
    assert dict(map_audio_files(tricks.trick, ["nap"], workers=1, timeout=600.0))["nap"][0] == "nap"


def test_what_decoders_say_does_not_reach_the_terminal(tricks, capfd):
    assert dict(map_audio_files(tricks.trick, ["chatter"], workers=1))["chatter"][0] == "chatter"
    assert "opinion" not in capfd.readouterr().err


def test_a_worker_uses_one_thread_and_stands_back(tricks):
    (_, (threads, nice)), *_ = map_audio_files(tricks.threads, ["a"], workers=1, nice=1)
    assert threads
    assert set(threads) == {1}
    assert nice == min(os.nice(0) + 1, 19)  # the tests themselves may stand back a lot: `make test`


def test_paths_are_taken_as_they_are_needed(tricks):
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield f"song {number}"

    results = map_audio_files(tricks.trick, endless(), workers=1)
    names = [next(results)[0] for _ in range(5)]
    results.close()
    assert len(set(names)) == 5
    assert len(taken) < 15


def test_stopping_in_the_middle_leaves_no_process(tricks):
    others = set(multiprocessing.active_children())  # of other tests in this process
    results = map_audio_files(tricks.trick, ["a", "hang", "hang", "hang"], workers=2)
    _, (_, pid) = next(results)
    results.close()
    assert set(multiprocessing.active_children()) <= others
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("files", ["['a', 'b'] + ['a'] * 10**6", "['tell and hang']"])
def test_workers_end_when_their_parent_is_killed(tmp_path, files):
    (tmp_path / "audio_tricks.py").write_text(TRICKS)
    script = tmp_path / "scan.py"
    script.write_text(
        "from audio_tricks import trick\n"
        "from nearsong.audio import map_audio_files\n"
        "if __name__ == '__main__':\n"
        f"    for path, result in map_audio_files(trick, {files}, workers=2):\n"
        "        print(result[1], flush=True)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_for(lambda: not Path(f"/proc/{worker}").exists())


@pytest.mark.parametrize("n_files", [1, 50])
@pytest.mark.parametrize("how", ["without the line", "from standard input"])
def test_a_script_that_workers_cannot_start_from_gets_an_error(tmp_path, how, n_files):
    """Workers of such a script end before they take a file; no file is blamed, and nothing waits for them."""
    script = tmp_path / "scan.py"
    script.write_text(
        "from nearsong.audio import load_frames, map_audio_files\n"
        f"print(list(map_audio_files(load_frames, ['no.wav'] * {n_files}, workers=2)))\n"
    )
    command, source = ([script], None) if how == "without the line" else (["-"], script.read_bytes())
    ended = subprocess.run([sys.executable, *command], input=source, capture_output=True, cwd=tmp_path, check=False)
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert re.search(
        rb"NearsongError: worker processes cannot continue .* a script must be a file and call this "
        rb"under `if __name__ == \"__main__\":`",
        ended.stderr,
    )


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(InvalidInputError, match="workers=0"):
        next(map_audio_files(load_frames, ["a"], workers=0))
    with pytest.raises(InvalidInputError, match="timeout=-1"):
        next(map_audio_files(load_frames, ["a"], timeout=-1))
    with pytest.raises(InvalidInputError, match=r"nice=5\.5"):
        next(map_audio_files(load_frames, ["a"], nice=5.5))
    with pytest.raises(InvalidInputError, match="paths contains 5, which is not a path"):
        next(map_audio_files(load_frames, [5]))


def test_a_partial_function_carries_its_arguments(make_sound):
    ((_, frames),) = map_audio_files(partial(load_frames, features=None), [make_sound("song.wav")], workers=1)
    assert frames.shape[1] == 39


def test_every_audio_error_is_one_of_ours():
    assert issubclass(AudioError, NearsongError)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by what /proc tells")
def test_a_file_that_takes_more_memory_than_it_may_is_its_own_error_and_the_others_go_on(tricks):
    results = dict(map_audio_files(tricks.trick, ["a", "large", "b"], workers=1, memory=1 << 28))
    assert isinstance(results["large"], AudioMemoryError)
    assert (results["a"][0], results["b"][0]) == ("a", "b")
    (_, result), *_ = map_audio_files(tricks.trick, ["large"], workers=1)  # the usual limit is higher
    assert result == 1 << 29


def test_no_files_start_no_process(tricks, monkeypatch):
    monkeypatch.setattr("nearsong.audio.workers.pebble.ProcessPool", None)
    assert list(map_audio_files(tricks.trick, [])) == []


INTERRUPTED = """
import os, signal, threading
from nearsong.audio import load_frames
from nearsong.audio.workers import AudioWorkers

signal.signal(signal.SIGINT, lambda *received: None)
with AudioWorkers(load_frames) as workers:
    warming = threading.Thread(target=workers.warm)
    warming.start()
    while warming.is_alive():
        os.killpg(0, signal.SIGINT)  # what Ctrl-C in a terminal does
        warming.join(0.02)
"""


def test_ctrl_c_while_a_thread_starts_the_workers_is_for_their_parent_alone():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, start_new_session=True
    )
    assert (done.returncode, done.stderr) == (0, "")


ENDED_WHILE_STARTING = """
import multiprocessing, sys
from _multiprocessing import SemLock
from nearsong.audio import load_frames
from nearsong.audio.workers import AudioWorkers

class OfAClosedPool:
    def __reduce__(self):
        return SemLock._rebuild, (0, 1, 1, "/a-lock-that-was-removed")

class Unreadable:
    def __reduce__(self):
        return int, ("no number",)

with AudioWorkers(load_frames) as workers:
    workers.warm()  # starts the fork server
    process = multiprocessing.get_context("forkserver").Process(target=print, args=(globals()[sys.argv[1]](),))
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


@pytest.mark.parametrize(("argument", "said"), [("OfAClosedPool", ""), ("Unreadable", "no number")])
def test_a_process_whose_pool_is_closed_while_it_starts_says_nothing(argument, said):
    script = [sys.executable, "-c", ENDED_WHILE_STARTING, argument]
    done = subprocess.run(script, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert (said in done.stderr) if said else (done.stderr == "")
