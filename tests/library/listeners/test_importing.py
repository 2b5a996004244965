"""One file, one import: histories of several kinds, whose they are, and what happens the second time."""

import json
import zipfile

import pytest

from nearsong.errors import ListensError
from nearsong.library.listeners.importing import import_listens

STREAM = {"endTime": "2023-01-31 12:34", "artistName": "Björk", "trackName": "Jóga", "msPlayed": 60_000}
EXTENDED = {
    "ts": "2023-01-31T12:34:00Z",
    "username": "ann",
    "ms_played": 60_000,
    "master_metadata_track_name": "Jóga",
    "master_metadata_album_artist_name": "Björk",
}


def write_zip(path, n_listens=1, n_tracks=1):
    playlist = {"name": "Evening", "items": [{"track": {"artistName": "Múm", "trackName": "Song"}}] * n_tracks}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/StreamingHistory_music_0.json", json.dumps([STREAM] * n_listens))
        archive.writestr("a/Playlist1.json", json.dumps({"playlists": [playlist]}))
    return path


def stored(store):
    return [(history.name.rpartition("/")[2], history.kind, history.rows) for history in store.listens.histories()]


def test_a_zip_gives_its_listens_and_its_playlists(store, tmp_path):
    path = write_zip(tmp_path / "data.zip", 2, 3)
    files = import_listens(store, [path])
    assert [(file.state, file.kind, file.rows) for file in files] == [
        ("imported", "events", 2),
        ("imported", "playlists", 3),
    ]
    assert {file.path for file in files} == {str(path)}
    assert stored(store) == [("data.zip", "events", 2), ("data.zip (playlists)", "playlists", 3)]


def test_a_newer_zip_replaces_both_and_the_same_counts_once(store, tmp_path):
    path = write_zip(tmp_path / "data.zip")
    import_listens(store, [path])
    assert [file.state for file in import_listens(store, [path])] == ["known", "known"]
    write_zip(path, 4, 5)
    assert [file.state for file in import_listens(store, [path])] == ["replaced", "replaced"]
    assert stored(store) == [("data.zip", "events", 4), ("data.zip (playlists)", "playlists", 5)]


def test_a_kind_without_rows_does_not_matter_if_another_has_some(store, tmp_path):
    path = write_zip(tmp_path / "data.zip", n_tracks=0)
    assert [file.kind for file in import_listens(store, [path])] == ["events"]


def test_the_name_in_a_file_counts_unless_one_is_given(store, tmp_path):
    path = tmp_path / "streams.json"
    path.write_text(json.dumps([EXTENDED]))
    assert [file.state for file in import_listens(store, [path])] == ["imported"]
    assert [file.state for file in import_listens(store, [path], user="zoe")] == ["imported"]
    assert stored(store) == [("streams.json", "events", 1), ("streams.json (zoe)", "events", 1)]
    assert [file.state for file in import_listens(store, [path], user="me")] == ["replaced"]


def test_people_cannot_be_renamed_to_one(store, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("user,artist,plays\nann,A,1\nbob,A,1\n")
    with pytest.raises(ListensError, match="has listens of several users"):
        import_listens(store, [path], user="ann")
    assert stored(store) == []
    assert len(import_listens(store, [path])) == 1
