"""Folders of a library: what is in them, and that removing one hides its songs until it is scanned again."""

import pytest

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.errors import InvalidInputError
from nearsong.library.scanning.folders import ScannedFolder, remove_folder, scanned_folders

FILES = ("/m/a/1.mp3", "/m/a/deep/2.mp3", "/m/b%/3.mp3", "/m/A/4.mp3", "/m/a2/5.mp3", "/m/b_/6.mp3")


@pytest.fixture
def ids(store) -> dict[str, int]:
    """Songs in folders whose names look alike, and an unreadable file."""
    for folder in ("/m/a", "/m/b%", "/m/A", "/m/a2", "/m/b_"):
        store.songs.add_root(folder)
    put_file(store, "/m/a/bad.mp3", problem="cannot be decoded.")
    return {path: put_file(store, path, tags=Tags(artist=path), seconds=9.0) for path in FILES}


def hidden(store) -> set[str]:
    return {song.path for song in store.songs.all() if song.missing}


def facts(store) -> dict[str, tuple[int, int, int]]:
    return {one.path: (one.songs, one.missing, one.unreadable) for one in scanned_folders(store)}


def test_each_folder_has_its_own_songs_however_alike_the_names_are(store, ids):
    assert facts(store) == {
        "/m/A": (1, 0, 0),
        "/m/a": (2, 0, 1),
        "/m/a2": (1, 0, 0),
        "/m/b%": (1, 0, 0),
        "/m/b_": (1, 0, 0),
    }
    assert not any(folder.exists for folder in scanned_folders(store))


def test_removing_a_folder_hides_its_songs_and_nothing_else(store, ids):
    words = remove_folder(store, "/m/a")
    assert words == "/m/a is no longer scanned, and 2 songs hidden. To bring all back, scan it again."
    assert hidden(store) == {"/m/a/1.mp3", "/m/a/deep/2.mp3"}
    assert store.songs.roots() == ["/m/A", "/m/a2", "/m/b%", "/m/b_"]
    assert store.songs.problems() == []
    counts = store.songs.counts()
    assert (counts["songs"], counts["missing"], counts["artists"], counts["seconds"]) == (4, 0, 4, 36.0)
    store.songs.set_missing([ids["/m/A/4.mp3"]], True)  # a lost file of a folder that is scanned does count
    assert (store.songs.counts()["songs"], store.songs.counts()["missing"]) == (4, 1)


def test_songs_of_a_folder_inside_another_stay_while_one_of_the_two_is_scanned(store, ids):
    store.songs.add_root("/m/a/deep")
    remove_folder(store, "/m/a")
    assert hidden(store) == {"/m/a/1.mp3"}
    store.songs.add_root("/m")
    assert remove_folder(store, "/m/a/deep").endswith("no song was in it alone.")
    assert hidden(store) == {"/m/a/1.mp3"}


def test_forgetting_deletes_the_songs_and_removing_the_last_folder_leaves_an_empty_library(store, ids):
    assert "2 songs with all about them deleted" in remove_folder(store, "/m/a", forget=True)
    assert {song.path for song in store.songs.all()} == set(FILES[2:])
    for folder in store.songs.roots():
        remove_folder(store, folder)
    assert store.songs.counts()["songs"] == 0
    assert len(hidden(store)) == 4


@pytest.mark.parametrize("path", ["/m", "/m/a/deep", "/m/a%", "", "\0"])
def test_what_is_no_scanned_folder_is_an_error_that_names_those(store, ids, path):
    with pytest.raises(InvalidInputError, match=r"is not a scanned folder; those are: /m/A, /m/a, "):
        remove_folder(store, path)
    assert hidden(store) == set()


def test_a_question_says_what_happens_and_how_to_undo_it():
    folder = ScannedFolder(path="/m", scanned=0.0, songs=1234, missing=0, unreadable=0, exists=True)
    assert folder.removal_words.startswith("Its 1,234 songs leave the library")
    assert "scan the folder again" in folder.removal_words
