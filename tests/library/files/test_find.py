"""Walking finds every audio file once, by its own path, and looks past what it cannot enter."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.files import find as walking
from nearsong.library.files.find import content_key, find_files, printable, walk


def touch(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def names(folder, files):
    return [os.path.relpath(file.path, folder) for file in files]


def test_audio_files_are_found_with_size_and_date_sorted_by_path(tmp_path):
    for name in ["b/2.FLAC", "b/1.mp3", "a.ogg", "c/d/e/f.m4a", "c/notes.txt", "c/cover.jpg", "mp3", "b/list.m3u8"]:
        touch(tmp_path / name, b"x" * len(name))
    os.utime(tmp_path / "a.ogg", ns=(1, 123_456_789_987_654_321))
    files = walk([tmp_path])
    assert names(tmp_path, files) == ["a.ogg", "b/1.mp3", "b/2.FLAC", "c/d/e/f.m4a"]
    assert files[0] == (str(tmp_path / "a.ogg"), 5, 123_456_789_987_654_321)


def test_a_single_file_can_be_given_whatever_it_is_called(tmp_path):
    odd = touch(tmp_path / "song.odd")
    assert names(tmp_path, walk([odd, tmp_path / "song.odd"])) == ["song.odd"]


def test_folders_within_each_other_give_each_file_once(tmp_path):
    touch(tmp_path / "a" / "1.mp3")
    touch(tmp_path / "a" / "b" / "2.mp3")
    assert names(tmp_path, walk([tmp_path / "a" / "b", tmp_path, tmp_path / "a"])) == ["a/1.mp3", "a/b/2.mp3"]


def test_relative_folders_and_the_users_own_become_absolute(tmp_path, monkeypatch):
    touch(tmp_path / "home" / "1.mp3")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert [file.path for file in walk(["home"])] == [str(tmp_path / "home" / "1.mp3")]
    assert [file.path for file in walk(["~"])] == [str(tmp_path / "home" / "1.mp3")]


def test_hidden_things_and_systems_own_folders_are_left_out(tmp_path):
    for name in [".hidden/1.mp3", "._1.mp3", "@eaDir/1.mp3", "$RECYCLE.BIN/1.mp3", "1.mp3"]:
        touch(tmp_path / name)
    assert names(tmp_path, walk([tmp_path])) == ["1.mp3"]
    assert names(tmp_path, walk([tmp_path / ".hidden"])) == [".hidden/1.mp3"]  # when it is asked for


def test_names_of_any_bytes_are_found(tmp_path):
    raw = os.path.join(os.fsencode(tmp_path), b"\xff\xfe.mp3")
    Path(os.fsdecode(raw)).write_bytes(b"x")
    [file] = walk([tmp_path])
    assert os.fsencode(file.path) == raw
    assert printable(file.path).endswith("��.mp3")


def test_links_in_circles_end(tmp_path):
    touch(tmp_path / "a" / "1.mp3")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    (tmp_path / "a" / "self.mp3").symlink_to("self.mp3")
    (tmp_path / "a" / "nowhere.mp3").symlink_to(tmp_path / "gone.mp3")
    touch(tmp_path / "a" / "z" / "2.mp3")
    found = find_files([tmp_path])
    assert names(tmp_path, found.files) == ["a/1.mp3", "a/z/2.mp3"]
    assert found.inaccessible == []


def test_links_are_followed_where_they_lead_to_something_new(tmp_path):
    touch(tmp_path / "far" / "album" / "1.mp3")
    touch(tmp_path / "far" / "2.mp3")
    music = tmp_path / "music"
    touch(music / "own.mp3")
    (music / "linked").symlink_to(tmp_path / "far" / "album")
    (music / "single.mp3").symlink_to(tmp_path / "far" / "2.mp3")
    assert names(music, walk([music])) == ["linked/1.mp3", "own.mp3", "single.mp3"]


def test_a_file_is_known_by_its_own_path_and_not_by_a_link_to_it(tmp_path):
    touch(tmp_path / "z" / "1.mp3")
    (tmp_path / "a").symlink_to(tmp_path / "z")
    (tmp_path / "b.mp3").symlink_to(tmp_path / "z" / "1.mp3")
    assert names(tmp_path, walk([tmp_path])) == ["z/1.mp3"]
    assert names(tmp_path, walk([tmp_path / "a", tmp_path])) == ["a/1.mp3"]  # unless it is asked for
    (tmp_path / "c.mp3").hardlink_to(tmp_path / "z" / "1.mp3")  # another name of its own
    assert names(tmp_path, walk([tmp_path])) == ["c.mp3", "z/1.mp3"]


def test_what_cannot_be_entered_is_noted_and_the_rest_is_found(tmp_path, monkeypatch):
    touch(tmp_path / "a" / "1.mp3")
    touch(tmp_path / "b" / "2.mp3")
    really = os.scandir

    def scandir(path):
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(walking.os, "scandir", scandir)
    notes: list[str] = []
    found = find_files([tmp_path], notes.append)
    assert names(tmp_path, found.files) == ["b/2.mp3"]
    assert found.inaccessible == [str(tmp_path / "a")]
    assert notes == [f"{tmp_path}/a: cannot be read (Permission denied)."]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"Folder not found: .*none\. Check its name and that the drive is connected"
    ):
        walk([tmp_path, tmp_path / "none"])
    with pytest.raises(InvalidInputError, match="Folder not found"):
        walk(["a\0b"])


def test_a_date_beyond_what_databases_hold_is_cut():
    facts = SimpleNamespace(st_dev=1, st_ino=1, st_size=5, st_mtime_ns=2**70)
    search = walking._Search(lambda text: None, lambda stage, done, total: None)
    search.add("/a.mp3", facts)
    assert search.files["/a.mp3"].modified == 2**63 - 1


# ---- content


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_small_files_have_the_same_key_only_if_they_are_the_same(tmp_path_factory, one, two):
    folder = tmp_path_factory.getbasetemp()
    keys = []
    for data in (one, two):
        (folder / "content").write_bytes(data)
        keys.append(content_key(folder / "content"))
    assert (keys[0] == keys[1]) == (one == two)


def test_a_large_files_key_sees_its_ends_its_length_and_pieces_between(tmp_path):
    data = bytearray(3 << 20)
    path = tmp_path / "large"

    def key() -> str:
        path.write_bytes(data)
        return content_key(path)

    keys = {key()}
    for position in (0, len(data) - 1, (len(data) - (1 << 16)) // 15 + 5):
        data[position] = 1
        keys.add(key())
    data.append(0)
    keys.add(key())
    assert len(keys) == 5
    os.rename(path, tmp_path / "moved")
    assert content_key(tmp_path / "moved") in keys
