"""Music at URLs: what fsspec calls ``local`` is storage that every machine has; S3 is in test_scan_on_cluster.py."""

import os
from contextlib import closing
from importlib.util import find_spec

import pytest

from command_line import run_nearsong
from nearsong.errors import AudioError, InvalidInputError
from nearsong.library.files import storage
from nearsong.library.files.find import find_files
from nearsong.library.files.storage import UnfetchedAudioError, at_hand, files_below, root_address
from nearsong.library.scanning.scan import scan
from nearsong.library.store import NEVER, Store
from required import require
from scanned_rows import check_same

require("dask", find_spec("fsspec") is not None, "the extra `cluster` is not installed")
in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


@pytest.fixture
def url(music) -> str:
    return f"local://{music}"


def facts(store, start):
    return {
        song.path.removeprefix(start): (song.artist, song.title, song.album, song.seconds)
        for song in store.songs.all()
    }


@in_sqlite
def test_songs_of_a_url_are_those_of_its_folder_by_other_paths(store, music, url, encoder, analysed):
    scan(store, [url + "/"], encoder=encoder)
    there = facts(store, url)
    assert store.songs.roots() == [url]
    store.songs.remove_root(url, forget=True)
    scan(store, [music], encoder=encoder)
    assert there == facts(store, str(music))
    assert len(there) == 6


@in_sqlite
def test_a_file_url_is_its_folder(store, music, encoder, analysed):
    folder = music.rename(music.parent / "my music, 100% of it")
    with closing(Store(music.parent / "other.sqlite")) as other:
        scan(other, [folder], encoder=encoder)
        scan(store, [folder.as_uri() + "/"], encoder=encoder)
        assert store.songs.roots() == [str(folder)]
        check_same(store, other)
    analysed.take()
    again = run_nearsong("scan", folder.as_uri(), library=store.address)
    assert "6 unchanged" in again.stdout, again
    assert scan(store, [folder]).unchanged == 6
    assert analysed.take() == []


@in_sqlite
def test_a_url_is_scanned_again_for_what_is_new_changed_or_gone(store, music, url, encoder, analysed, make_song):
    scan(store, [url], encoder=encoder)
    analysed.take()
    assert scan(store).unchanged == 6
    make_song(music / "Artist 0" / "Song 0.wav", seed=50, seconds=1.7)  # dates may be whole seconds
    make_song(music / "Artist 0" / "Song 9.wav", seed=51)
    (music / "Artist 1" / "Song 1.wav").unlink()
    report = scan(store)
    assert (report.changed, report.added, report.missing, report.unchanged) == (1, 1, 1, 4)
    assert analysed.take() == ["Song 0.wav", "Song 9.wav"]


@in_sqlite
def test_a_file_that_cannot_be_fetched_is_tried_again_by_the_next_scan(
    store, music, url, encoder, monkeypatch, analysed
):
    def no_network(path, copy):
        raise UnfetchedAudioError(path, "could not be fetched (no network); the next scan tries again.")

    with monkeypatch.context() as broken:
        broken.setattr(storage, "_fetch", no_network)
        assert len(scan(store, [url], encoder=encoder).unreadable) == 6
    assert {file.modified for file in store.songs.known_files().values()} == {NEVER}
    assert len(scan(store).unreadable) == 0
    assert len(store.songs.all()) == 6


def test_hidden_and_foreign_files_are_left_out(music, url):
    for name in (".hidden.wav", "cover.jpg", ".folder/one.wav", "@eaDir/one.wav"):
        (music / name).parent.mkdir(exist_ok=True)
        (music / name).write_bytes(b"x")
    assert len(files_below(url)) == 10
    assert len(find_files([url]).files) == 6


def test_copies_are_removed_and_errors_name_the_file(music, url):
    path = find_files([url]).files[0].path
    copies = []

    def use():
        with at_hand(path) as copy:
            assert os.path.exists(copy)
            copies.append(copy)
            raise UnfetchedAudioError(copy, "is broken.")

    with pytest.raises(AudioError) as caught:
        use()
    assert str(caught.value) == f"{path}: is broken."
    assert not os.path.exists(copies[0])
    with at_hand(str(music)) as same:
        assert same == str(music)


def test_a_file_that_is_too_large_is_not_fetched(url, monkeypatch):
    monkeypatch.setattr(storage, "MAX_COPY_BYTES", 10)
    with pytest.raises(AudioError, match="does not fetch it"), at_hand(find_files([url]).files[0].path):
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ftp://me:s3cret@host/music", "without a password"),
        ("zip://*.wav::s3://bucket/music.zip", "plain one"),
        ("nothing-like-this://bucket", "cannot be read from"),
    ],
)
def test_a_url_that_cannot_be_scanned_is_refused_in_one_line(text, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        root_address(text)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_url_with_nothing_below_it_is_not_found(url):
    with pytest.raises(InvalidInputError, match="Folder not found"):
        files_below(url + "/nothing")
