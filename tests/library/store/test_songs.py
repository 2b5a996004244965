"""Songs, sounds and embeddings come back as they went in."""

import time
from dataclasses import replace

import numpy as np

from library_store import put_file as put
from nearsong.audio.tags import Tags
from nearsong.library.records import Song
from nearsong.library.store import NEVER


def add_encoder(store, key="an encoder") -> int:
    with store.writing() as connection:
        return store.models.add_encoder(
            connection, name="codewords", key=key, data=b"bytes of an encoder", n_dimensions=4
        )


def test_a_song_comes_back_as_it_went_in(store):
    facts = {
        "disc_number": 2,
        "album_artist": "Björk",
        "is_compilation": True,
        "track_gain": -7.25,
        "album_peak": 0.98,
        "sample_rate": 192_000,
    }
    tags = Tags("Björk feat. X", "Jóga", "Homogenic", "Pop", 1997, "mbid 1", "mbid 2", **facts)
    song = put(store, "/Bj\udcf6rk/ü.mp3", tags=tags, seconds=305.5, damage="ends early")
    (found,) = store.songs.all()
    assert replace(found, added=0.0) == Song(
        id=song,
        path="/Bj\udcf6rk/ü.mp3",
        artist="Björk feat. X",
        title="Jóga",
        album="Homogenic",
        genre="Pop",
        year=1997,
        seconds=305.5,
        artist_key="bjork",
        recording_mbid="mbid 1",
        artist_mbid="mbid 2",
        size=10,
        **facts,
    )
    assert (found.sample_rate, found.bit_rate) == (192_000, round(10 * 8 / 305.5 / 1000))
    assert store.songs.counts() == {
        "songs": 1,
        "artists": 1,
        "missing": 0,
        "unreadable": 0,
        "set_aside": 0,
        "damaged": 1,
        "seconds": 305.5,
    }


def test_songs_that_are_read_together_hold_what_they_have_in_common_once(store):
    ids = []
    for number in range(3):
        tags = Tags("Björk Guðmundsdóttir", f"Song {number}", "An Album", "Icelandic Pop", 1997, sample_rate=48_000)
        ids.append(put(store, f"/{number}.mp3", tags=tags, seconds=305.5))
    for found in (store.songs.all(), store.songs.all(ids)):
        for name in ("artist", "artist_key", "album", "genre", "year", "sample_rate"):
            assert len({id(getattr(song, name)) for song in found}) == 1, name
        assert [song.title for song in found] == ["Song 0", "Song 1", "Song 2"]


def test_a_song_knows_since_when_it_is_in_the_library_however_often_its_file_changes(store):
    before = time.time()
    song = put(store, "/a.mp3")
    after = time.time()
    assert put(store, "/a.mp3", content="other") == song
    (found,) = store.songs.all()
    assert before <= found.added <= after


def test_tags_that_no_database_holds_are_cleaned(store):
    put(store, "/a.mp3", tags=Tags("a\0b", "\ud800", year=10**12), problem="")
    song = store.songs.all()[0]
    assert (song.artist, song.title, song.year) == ("ab", "?", None)


def test_paths_of_any_length_and_kind_stay_distinct(store):
    long = "/" + "/".join(f"{secrets_like(i)}" for i in range(60))
    paths = [long + "/a.mp3", long + "/b.mp3", "/A.mp3", "/a.mp3", "/\udcff.mp3", "/" + "é" * 2000]
    ids = [put(store, path) for path in paths]
    assert [song.path for song in store.songs.all()] == paths
    assert [put(store, path) for path in paths] == ids
    assert set(store.songs.known_files()) == set(paths)
    for path in paths:
        store.songs.add_root(path)
    assert store.songs.roots() == sorted(paths)


def secrets_like(i: int) -> str:
    return "".join(chr(33 + (7 * i * j + 13 * j) % 90) for j in range(80)).replace("/", "_")


def test_a_song_written_again_keeps_its_id_and_loses_its_old_sound(store):
    encoder = add_encoder(store)
    song = put(store, "/a.mp3", vectors={encoder: np.ones(4, np.float32)})
    with store.writing() as connection:
        model = store.models.add(connection, "native", [encoder], b"", {})
        store.songs.put_embeddings(connection, model, np.array([song]), np.ones((1, 2), np.float32))
    assert put(store, "/a.mp3", problem="is broken") == song
    assert store.songs.all() == []
    assert store.songs.problems() == [("/a.mp3", "is broken")]
    assert list(store.songs.vectors([encoder])) == []
    assert len(store.songs.embeddings(model)[0]) == 0
    assert put(store, "/a.mp3", vectors={encoder: np.full(4, 2, np.float32)}) == song
    assert [(ids.tolist(), rows.tolist()) for ids, rows in store.songs.vectors([encoder])] == [([song], [[2.0] * 4])]


def test_vectors_are_read_in_blocks_by_id(store, monkeypatch):
    monkeypatch.setattr("nearsong.library.store.vectors.BLOCK_ROWS", 3)
    encoder = add_encoder(store)
    ids = [put(store, f"/{i}.mp3", vectors={encoder: np.full(4, i, np.float32)}) for i in range(8)]
    blocks = list(store.songs.vectors([encoder]))
    assert [len(block) for block, _ in blocks] == [3, 3, 2]
    assert np.concatenate([block for block, _ in blocks]).tolist() == ids
    assert np.concatenate([rows[:, 0] for _, rows in blocks]).tolist() == list(range(8))
    some = list(store.songs.vectors([encoder], [ids[6], ids[1], ids[1], 10**6]))
    assert [row for block, _ in some for row in block.tolist()] == [ids[1], ids[6]]
    assert [song.id for song in store.songs.all([ids[5], ids[0]])] == [ids[0], ids[5]]


def test_a_forgotten_songs_number_is_not_given_to_another(store):
    first = put(store, "/a.mp3")
    store.songs.remove([first])
    assert store.songs.all() == []
    assert put(store, "/b.mp3") > first


def test_moving_onto_another_songs_path_keeps_both(store):
    one, two = put(store, "/1.mp3", content="one"), put(store, "/2.mp3", content="two")
    with store.writing() as connection:
        store.songs.move(connection, one, "/2.mp3", 5, 6, Tags(title="new"))
    songs = {song.id: song for song in store.songs.all()}
    assert (songs[one].path, songs[one].title, songs[one].missing) == ("/2.mp3", "new", False)
    assert (songs[two].path, songs[two].missing) == ("/1.mp3", True)
    assert store.songs.known_files()["/1.mp3"].modified == NEVER


def test_moving_onto_a_file_that_gave_no_sound_forgets_that(store):
    one, bad = put(store, "/1.mp3", content="one"), put(store, "/2.mp3", problem="is broken")
    with store.writing() as connection:
        store.songs.move(connection, one, "/2.mp3", 5, 6, Tags())
    assert [song.id for song in store.songs.all()] == [one]
    assert store.songs.problems() == []
    assert bad not in {there.id for there in store.songs.known_files().values()}


def test_the_stamp_changes_with_every_change_of_songs_and_only_then(store):
    stamps = [store.version_stamp()]

    def changed() -> bool:
        stamps.append(store.version_stamp())
        return stamps[-1] != stamps[-2]

    song = put(store, "/a.mp3")
    assert changed()
    assert not changed()
    store.songs.set_missing([song], True)
    assert changed()
    with store.writing() as connection:
        store.songs.touch(connection, song, 1, 2, Tags(title="x"))
    assert changed()
    store.songs.add_root("/a")
    assert not changed()
    store.songs.remove([song])
    assert changed()
