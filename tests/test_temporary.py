"""What killed processes leave is removed by the next start; what is in use, or of others, is not."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nearsong import process_files, temporary
from nearsong.atomic_write import atomic_write
from nearsong.errors import NearsongError
from nearsong.library import Library
from nearsong.temporary import (
    LOCK_FILE,
    PREFIXES,
    SEMAPHORES_FOLDER,
    SEMAPHORES_PREFIX,
    WORKERS_PREFIX,
    LockedFolder,
    in_use,
    remove_leftovers,
    remove_unfinished,
)

has_semaphore_files = SEMAPHORES_FOLDER.is_dir() and sys.platform == "linux"

WORKERS = """
import os, sys
from multiprocessing import process
from nearsong.audio.workers import AudioWorkers

def use():
    workers = AudioWorkers(os.path.getsize)
    workers.warm()
    return workers

first = use()
settings = process.current_process()._config
print(settings["tempdir"], settings["semprefix"], flush=True)
for path in sys.stdin:  # more workers need the socket and more semaphores
    with use() as others:
        print(others.run(path.strip()), first.run(path.strip()), flush=True)
"""


class Program:
    """A program with worker processes, in a process group of its own."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", WORKERS], text=True, start_new_session=True, **pipes)
        folder, prefix = self.process.stdout.readline().split()
        self.folder, self.prefix = Path(folder), prefix.removeprefix("/")

    def semaphores(self) -> list[str]:
        return sorted(name for name in os.listdir(SEMAPHORES_FOLDER) if self.prefix in name)

    def ask(self, path: str) -> str:
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return a temporary folder of this test, also for the processes it starts."""
    found = Path(tempfile.mkdtemp(prefix="ns-"))  # short, as paths of sockets are
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    monkeypatch.setenv("TMPDIR", str(found))
    yield found
    shutil.rmtree(found)


@pytest.fixture
def program(folder):
    """Return a function that starts a program with workers."""
    started = []

    def start() -> Program:
        started.append(Program())
        return started[-1]

    yield start
    for one in started:
        one.close()
    remove_leftovers()


def leave(parent: Path, name: str) -> Path:
    """Make a folder as a killed process leaves it."""
    left = parent / name
    left.mkdir(parents=True)
    (left / LOCK_FILE).touch()
    (left / "song.wav").write_bytes(b"x")
    return left


# ---- real processes


@pytest.mark.skipif(not has_semaphore_files, reason="needs process groups, and semaphores that are files")
def test_what_a_killed_process_group_leaves_goes_and_what_a_running_one_uses_stays(folder, program):
    killed, running = program(), program()
    assert (killed.folder.parent, running.folder.parent) == (folder, folder)
    assert all(one.folder.name.startswith(WORKERS_PREFIX) for one in (killed, running))
    assert [name for name in os.listdir(folder) if name.startswith("pymp-")] == []
    killed.kill()
    assert len(killed.semaphores()) > 1
    assert os.listdir(killed.folder)
    used = running.semaphores()
    remove_leftovers()
    assert killed.semaphores() == []
    assert os.listdir(folder) == [running.folder.name]
    assert running.semaphores() == used
    path = folder / "song"
    path.write_bytes(b"four")
    assert running.ask(str(path)) == "4 4\n"


@pytest.mark.skipif(not has_semaphore_files, reason="needs semaphores that are files")
def test_a_process_that_ends_by_itself_leaves_nothing(folder, program):
    one = program()
    one.process.stdin.close()
    assert one.process.wait(60) == 0
    assert os.listdir(folder) == []
    assert one.semaphores() == []


@pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX has them")
def test_a_file_that_a_killed_process_was_writing_goes_and_one_that_is_being_written_stays(tmp_path):
    script = (
        "import sys\nfrom nearsong.atomic_write import atomic_write\n"
        f"with atomic_write({str(tmp_path / 'map.npz')!r}) as file:\n"
        "    file.write(b'half')\n    file.flush()\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        process.stdout.readline()
        (unfinished,) = tmp_path.iterdir()
        with atomic_write(tmp_path / "other") as file:
            file.write(b"whole")
            file.flush()
            remove_unfinished(tmp_path)
            assert unfinished.exists()
            process.kill()
            process.wait(60)
            remove_unfinished(tmp_path)
            assert not unfinished.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other").read_bytes() == b"whole"


# ---- every start


def scan(library: Library, folder: Path) -> None:
    library.scan(folder)


def import_listens(library: Library, folder: Path) -> None:
    library.import_listens(folder)


def train(library: Library, folder: Path) -> None:
    library.train()


@pytest.mark.parametrize("start", [scan, import_listens, train])
def test_a_scan_an_import_and_a_training_remove_what_was_left(folder, tmp_path, start):
    for prefix in PREFIXES:
        leave(folder, f"{prefix}x")
    cache = tmp_path / "nearsong-cache"
    cache.mkdir()
    (cache / f".1.map.{'0a' * 6}.part").write_bytes(b"half")
    (tmp_path / "empty").mkdir()
    with Library.open(tmp_path) as library, contextlib.suppress(NearsongError):  # there is nothing to do
        start(library, tmp_path / "empty")
    assert os.listdir(folder) == []
    assert os.listdir(cache) == []


# ---- what is not ours


@pytest.fixture
def semaphores(tmp_path, monkeypatch) -> Path:
    """Return a folder that stands for that of the semaphores."""
    found = tmp_path / "shm"
    found.mkdir()
    monkeypatch.setattr(temporary, "SEMAPHORES_FOLDER", found)
    return found


def test_semaphores_of_others_stay(folder, semaphores):
    left = leave(semaphores, f"{SEMAPHORES_PREFIX}left")
    with LockedFolder(SEMAPHORES_PREFIX, semaphores) as used:
        ours = [f"sem.{left.name}-1", f"{left.name}-2"]
        others = [f"sem.{used.path.name}-1", "sem.mp-abc", f"sem.{left.name}er-1", f"sem.{SEMAPHORES_PREFIX}gone-1"]
        for name in [*ours, *others]:
            (semaphores / name).write_bytes(b"x")
        (tmp := semaphores.parent / "precious").write_bytes(b"x")
        (semaphores / f"sem.{left.name}-link").symlink_to(tmp)
        remove_leftovers()
        assert sorted(os.listdir(semaphores)) == sorted([*others, used.path.name, f"sem.{left.name}-link"])
    assert tmp.read_bytes() == b"x"


def test_another_users_things_stay(folder, semaphores, tmp_path, monkeypatch):
    left = [leave(folder, f"{prefix}x") for prefix in PREFIXES]
    left += [leave(semaphores, f"{SEMAPHORES_PREFIX}x"), semaphores / f"sem.{SEMAPHORES_PREFIX}x-1"]
    left += [tmp_path / f".1.map.{'0a' * 6}.part"]
    for file in left[-2:]:
        file.write_bytes(b"x")
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    remove_leftovers(tmp_path)
    assert all(one.exists() for one in left)
    monkeypatch.setattr(os, "getuid", lambda: own)
    remove_leftovers(tmp_path)
    assert not any(one.exists() for one in left)


def test_links_stay_and_so_does_what_they_lead_to(folder, semaphores, tmp_path):
    music = leave(tmp_path, "music")
    links = [folder / f"{prefix}x" for prefix in PREFIXES] + [semaphores / f"{SEMAPHORES_PREFIX}x"]
    for link in links:
        link.symlink_to(music)
    (tmp_path / "cache").mkdir()
    links.append(tmp_path / "cache" / f".1.map.{'0a' * 6}.part")
    links[-1].symlink_to(music / "song.wav")
    with_link = leave(folder, f"{WORKERS_PREFIX}y")
    (with_link / "music").symlink_to(music)
    remove_leftovers(tmp_path / "cache")
    assert all(link.is_symlink() for link in links)
    assert sorted(os.listdir(music)) == [LOCK_FILE, "song.wav"]
    assert not with_link.exists()


@pytest.mark.parametrize(
    "name", ["song.mp3.part", ".song.part", ".song.0123456789ag.part", ".nearsong-12345678.part"]
)
def test_unfinished_files_of_other_programs_stay(tmp_path, name):
    (tmp_path / name).write_bytes(b"half")
    remove_unfinished(tmp_path)
    assert os.listdir(tmp_path) == [name]


def test_a_file_that_was_just_created_stays_as_it_is_about_to_be_locked(tmp_path):
    file = tmp_path / f".1.map.{'0a' * 6}.part"
    file.touch()
    remove_unfinished(tmp_path)
    assert file.exists()
    os.utime(file, (1, 1))
    with in_use(file):
        remove_unfinished(tmp_path)
        assert file.exists()
    remove_unfinished(tmp_path)
    assert not file.exists()


# ---- multiprocessing


class FakeProcess:
    """Stands for the current process of multiprocessing."""

    def __init__(self, **settings) -> None:
        self._config = settings


@pytest.fixture
def prepare(folder, semaphores, monkeypatch):
    """Return a function that prepares a process with some settings, and returns them."""
    monkeypatch.setattr(process_files, "SEMAPHORES_FOLDER", semaphores)

    def run(process):
        monkeypatch.setattr(process_files, "_prepared_process", None)
        monkeypatch.setattr(process_files.process, "current_process", lambda: process)
        process_files.prepare_process_files()
        return getattr(process, "_config", None)

    return run


def test_settings_of_another_program_or_another_python_stay(prepare, folder, semaphores):
    assert prepare(object()) is None
    assert prepare(FakeProcess()).keys() == {"tempdir"}
    assert prepare(FakeProcess(tempdir="/tmp/pymp-x", semprefix="/mine")) == {
        "tempdir": "/tmp/pymp-x",
        "semprefix": "/mine",
    }
    assert list(semaphores.iterdir()) == []


def test_a_child_process_does_not_use_what_its_parent_may_leave(prepare, folder, semaphores):
    parent = prepare(FakeProcess(tempdir=None, semprefix="/mp"))
    child = prepare(FakeProcess(**parent))
    assert len({parent["tempdir"], child["tempdir"]}) == len({parent["semprefix"], child["semprefix"]}) == 2
    assert re.fullmatch(f"/{SEMAPHORES_PREFIX}\\w+", child["semprefix"])


def test_where_the_path_of_a_socket_would_be_too_long_multiprocessing_chooses_the_folder(
    prepare, folder, monkeypatch
):
    deep = folder / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert prepare(FakeProcess(tempdir=None))["tempdir"] is None
    assert list(deep.iterdir()) == []


def test_without_a_temporary_folder_multiprocessing_says_so(prepare, monkeypatch, semaphores):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    assert prepare(FakeProcess(tempdir=None, semprefix="/mp"))["tempdir"] is None
