"""Every error survives what happens to errors: copies, and the way out of another process."""

import copy
import errno
import multiprocessing
import pickle
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pebble
import pytest
from distributed.protocol import pickle as dask_pickle

from nearsong.errors import (
    AudioError,
    DatabaseError,
    DiskFullError,
    LibraryError,
    NearsongError,
    UnclearSongError,
    disk_words,
    install_command,
    is_disk_full,
)


def error_tree(root: type[NearsongError] = NearsongError) -> Iterator[type[NearsongError]]:
    """Return every class of errors.py."""
    yield root
    for kind in root.__subclasses__():
        if kind.__module__ == "nearsong.errors":
            yield from error_tree(kind)


def example(kind: type[NearsongError]) -> NearsongError:
    if issubclass(kind, AudioError):
        return kind("/music/song.mp3", "is not audio; convert it.")
    if issubclass(kind, DatabaseError):
        return kind("the library x is in use; try again.", "x", True)
    if issubclass(kind, UnclearSongError):
        return kind("several songs match.", ["a - b", "c - d"])
    return kind("something is wrong; mend it.")


ERRORS = [example(kind) for kind in sorted(set(error_tree()), key=lambda kind: kind.__name__)]


def raise_it(number: int) -> None:
    raise ERRORS[number]


def told(error: BaseException) -> tuple[object, ...]:
    return type(error), str(error), error.args, vars(error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda e: pickle.loads(pickle.dumps(e)),
        lambda e: dask_pickle.loads(dask_pickle.dumps(e)),
    ],
    ids=["copy", "deepcopy", "pickle", "dask"],
)
def test_a_copy_of_an_error_says_the_same(error, copied):
    assert told(copied(error)) == told(error)


def test_errors_come_out_of_other_processes_as_what_they_are():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool, pebble.ProcessPool(1, context=context) as pebbles:
        for number, error in enumerate(ERRORS):
            for waiting in (pool.submit(raise_it, number), pebbles.schedule(raise_it, args=[number])):
                found = waiting.exception(120)
                assert told(found)[:3] == told(error)[:3]
                assert {name: vars(found)[name] for name in vars(error)} == vars(error)


def test_a_full_disk_is_recognised_behind_other_errors():
    full = OSError(errno.ENOSPC, "No space left on device", "/cache/map.npz")
    wrapped = LibraryError("the map cannot be cached.")
    wrapped.__cause__ = full
    assert is_disk_full(full)
    assert is_disk_full(wrapped)
    assert is_disk_full(OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert is_disk_full(DiskFullError("the library x cannot be written: the disk is full.", "x"))
    assert not is_disk_full(LibraryError("there is no model 7."))
    assert not is_disk_full(OSError(errno.EACCES, "Permission denied"))
    assert not is_disk_full(None)


def test_a_disk_that_is_full_and_one_that_is_read_only_are_named_apart_and_without_a_path():
    full = disk_words(OSError(errno.ENOSPC, "No space left on device", "/secret"))
    assert full == "the disk is full (No space left on device); free some space and try again."
    read_only = disk_words(OSError(errno.EROFS, "Read-only file system", "/secret"))
    assert read_only == "the disk is read-only (Read-only file system); make it writable and try again."


def test_the_command_that_installs_an_extra_is_for_the_environment_that_runs(tmp_path, monkeypatch):
    program = tmp_path / "my venv" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "my venv"))
    monkeypatch.setattr(shutil, "which", lambda name: str(program.with_name(name)))
    assert install_command("postgres") == "pip install 'nearsong[postgres]'"
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/pip")  # another Python's
    assert install_command("postgres") == f"'{program}' -m pip install 'nearsong[postgres]'"
    program.parent.mkdir(parents=True)
    (tmp_path / "my venv" / "pipx_metadata.json").touch()
    assert install_command("postgres") == "pipx inject nearsong 'psycopg[binary]<4,>=3.2'"
    assert install_command("cluster").startswith("pipx inject nearsong 'distributed>=2024.1'")
