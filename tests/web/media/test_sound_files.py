"""Which file is sent as the sound of a song, and what happens when it changes meanwhile."""

import contextlib
import http.client
import logging
import os
import shutil
import threading

import pytest

from library_store import store_of
from nearsong.audio.tags import Tags
from nearsong.errors import NoSuchSongError
from nearsong.library import Library
from nearsong.web.media.files import MAX_FILE_THREADS, SoundResponse
from nearsong.web.settings import ServeSettings
from running_service import running

NUMBER = 1


@pytest.fixture
def here(trained_file, tmp_path):
    """A library whose first song's file may be changed: (library, path of the file)."""
    library_file = shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(library_file) as library, store_of(library) as store:
        (song,) = store.songs.all([NUMBER])
        root = tmp_path / "music"
        root.mkdir()
        path = root / os.path.basename(song.path)
        shutil.copy2(song.path, path)
        facts = path.stat()
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM roots")
            tags = Tags(song.artist, song.title, song.album, song.genre, song.year)
            store.songs.move(connection, NUMBER, str(path), facts.st_size, facts.st_mtime_ns, tags)
        store.songs.add_root(str(root))
        yield library, path


def status(make_client, library) -> int:
    return make_client(library).get(f"/api/v1/songs/{NUMBER}/audio").status_code


def test_a_link_to_another_file_instead_of_a_song_is_not_followed_out_of_the_music(make_client, here, tmp_path):
    library, path = here
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    path.unlink()
    path.symlink_to(secret)
    client = make_client(library)
    answer = client.get(f"/api/v1/songs/{NUMBER}/audio")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith(
        f"the file of song {NUMBER} is a link to a file outside the scanned folders"
    )
    assert "root:x" not in client.get(f"/rest/stream?u=a&p=a&c=t&v=1.16.1&id={NUMBER}").text


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere_either(make_client, here, tmp_path):
    library, path = here
    other = tmp_path / "other"
    other.mkdir()
    (other / path.name).write_text("root:x:0:0")
    with store_of(library) as store:
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM roots")
        store.songs.add_root(str(path.parent / "elsewhere"))
    shutil.rmtree(path.parent)
    path.parent.symlink_to(other)
    assert status(make_client, library) == 404


def test_links_within_the_music_and_a_root_that_is_a_link_are_followed(make_client, here, tmp_path):
    library, path = here
    disk = tmp_path / "disk"
    shutil.move(path.parent, disk)
    path.parent.symlink_to(disk)
    (disk / "sub").mkdir()
    os.rename(disk / path.name, disk / "sub" / "real")
    (disk / path.name).symlink_to("sub/real")
    with open(disk / "sub" / "real", "ab") as file:
        file.write(b"tagged anew")
    answer = make_client(library).get(f"/api/v1/songs/{NUMBER}/audio")
    assert answer.status_code == 200
    assert answer.content.endswith(b"tagged anew")


def test_a_song_behind_a_link_out_of_the_music_plays_as_the_scan_saw_it_and_no_other(make_client, here, tmp_path):
    library, path = here
    album = tmp_path / "album on another disk"
    album.mkdir()
    real = album / path.name
    os.rename(path, real)  # keeps its date
    path.symlink_to(real)
    assert status(make_client, library) == 200
    facts = real.stat()
    os.utime(real, ns=(facts.st_atime_ns, facts.st_mtime_ns + 10**9))
    assert status(make_client, library) == 404


def test_a_song_that_was_tagged_anew_plays_before_the_next_scan(make_client, here):
    library, path = here
    with open(path, "ab") as file:
        file.write(b"a tag")
    assert status(make_client, library) == 200


def test_a_pipe_instead_of_a_song_makes_nobody_wait(make_client, here):
    library, path = here
    path.unlink()
    os.mkfifo(path)
    assert status(make_client, library) == 404


def test_what_was_opened_is_what_is_sent_and_is_closed(make_client, here, monkeypatch):
    library, path = here
    complete = path.read_bytes()
    opened = []
    before = SoundResponse.__init__

    def then_swapped(self, *given):
        before(self, *given)
        opened.append(self._file)
        path.unlink(missing_ok=True)
        path.write_bytes(b"another one")

    monkeypatch.setattr(SoundResponse, "__init__", then_swapped)
    client = make_client(library)
    assert client.get(f"/api/v1/songs/{NUMBER}/audio").content == complete
    for asked in ({"Range": "bytes=99999999-"}, {"If-None-Match": "*"}, {"Range": "bytes=0-3,6-7"}):
        client.get(f"/api/v1/songs/{NUMBER}/audio", headers=asked)
        client.head(f"/api/v1/songs/{NUMBER}/audio", headers=asked)
    assert len(opened) == 7
    assert all(file.closed for file in opened)


@pytest.mark.parametrize("range_header", [None, "bytes=0-", "bytes=0-9,100-"])
def test_a_file_that_becomes_shorter_while_it_is_sent_breaks_off_without_a_traceback(
    here, caplog, monkeypatch, range_header
):
    library, path = here
    with open(path, "ab") as file:
        file.write(bytes(1_000_000))
    cut = threading.Event()
    read = SoundResponse._read

    def then_cut(self, start, size):
        data = read(self, start, size)
        if not cut.is_set():
            os.truncate(path, 1000)
            cut.set()
        return data

    monkeypatch.setattr(SoundResponse, "_read", then_cut)
    with caplog.at_level(logging.WARNING), running(library, ServeSettings(port=0)) as address:
        line = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        with contextlib.closing(line):
            line.request(
                "GET", f"/api/v1/songs/{NUMBER}/audio", headers={"Range": range_header} if range_header else {}
            )
            with pytest.raises(http.client.IncompleteRead):
                line.getresponse().read()
    assert f"the file of song {NUMBER} ended early while it was sent" in caplog.text
    assert "Traceback" not in caplog.text


def test_songs_that_take_for_ever_to_open_hold_up_nothing_else(make_client, trained, monkeypatch):
    answering, opened, given_up = threading.Event(), threading.Semaphore(0), []

    def stalls(*_arguments):
        opened.release()
        if not answering.wait(30):
            given_up.append("no other request was answered meanwhile")
        raise NoSuchSongError("the file is missing.")

    client = make_client()
    monkeypatch.setattr(client.service.library, "open_file", stalls)
    path = f"/api/v1/songs/{NUMBER}/audio"
    asking = [threading.Thread(target=client.get, args=(path,), daemon=True) for _ in range(3 * MAX_FILE_THREADS)]
    try:
        for thread in asking:
            thread.start()
        for _ in range(MAX_FILE_THREADS):
            assert opened.acquire(timeout=60)
        assert (client.get("/api/v1/playlists").status_code, given_up) == (200, [])
    finally:
        answering.set()
        for thread in asking:
            thread.join(60)
