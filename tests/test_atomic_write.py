"""Files that are replaced atomically, in folders that others can write to."""

import os
import stat

import pytest

from nearsong import atomic_write as module
from nearsong.atomic_write import UNFINISHED_SUFFIX, atomic_path, atomic_write


@pytest.fixture
def named(monkeypatch):
    """Let unfinished files have a name that can be guessed."""
    monkeypatch.setattr(module.secrets, "token_hex", lambda _size: "guessed")
    return f".report.txt.guessed{UNFINISHED_SUFFIX}"


def by_path(target, data):
    with atomic_path(target) as new:
        new.write_bytes(data)


def by_file(target, data):
    with atomic_write(target) as file:
        file.write(data)


@pytest.mark.parametrize("write", [by_path, by_file])
def test_content_replaces_a_file_and_keeps_its_permissions(tmp_path, write):
    target = tmp_path / "report.txt"
    target.write_bytes(b"old")
    target.chmod(0o640)
    write(target, b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.txt"]


@pytest.mark.parametrize("write", [by_path, by_file])
@pytest.mark.parametrize("place", [os.symlink, os.link], ids=["symbolic link", "hard link"])
def test_nothing_is_written_through_a_link_at_the_unfinished_files_name(tmp_path, named, write, place):
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    folder.mkdir()
    victim.write_bytes(b"precious")
    place(victim, folder / named)
    with pytest.raises(FileExistsError):
        write(folder / "report.txt", b"new")
    assert victim.read_bytes() == b"precious"
    assert os.listdir(folder) == [named]  # not ours to remove


@pytest.mark.parametrize("write", [by_path, by_file])
def test_nothing_is_created_where_a_dangling_link_leads(tmp_path, named, write):
    (tmp_path / named).symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        write(tmp_path / "report.txt", b"new")
    assert os.listdir(tmp_path) == [named]


def test_an_unfinished_file_that_was_exchanged_replaces_nothing(tmp_path, named):
    target, victim = tmp_path / "report.txt", tmp_path / "victim"
    target.write_bytes(b"old")
    victim.write_bytes(b"precious")

    def write() -> None:
        with atomic_write(target) as file:
            (tmp_path / named).unlink()
            (tmp_path / named).symlink_to(victim)
            file.write(b"new")

    with pytest.raises(FileExistsError, match="another program replaced the unfinished file"):
        write()
    assert (target.read_bytes(), victim.read_bytes()) == (b"old", b"precious")


def test_others_cannot_read_what_will_replace_a_private_file(tmp_path, named):
    target = tmp_path / "report.txt"
    target.write_bytes(b"old")
    target.chmod(0o600)
    with atomic_write(target):
        assert stat.S_IMODE((tmp_path / named).stat().st_mode) == 0o600


def test_a_new_file_has_the_permissions_that_the_user_gives_to_files(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    by_file(tmp_path / "report.txt", b"new")
    assert (tmp_path / "report.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_after_an_error_the_file_is_unchanged_and_nothing_is_left(tmp_path):
    target = tmp_path / "report.txt"
    target.write_bytes(b"old")

    def write() -> None:
        with atomic_write(target) as file:
            file.write(b"half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["report.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_regular_file_is_never_replaced(tmp_path):
    """A pipe stands for devices and sockets: root could replace them by a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(FileExistsError, match="not a regular file"), atomic_path(tmp_path / name):
            pass
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe"]
