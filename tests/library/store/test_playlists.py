"""Saved playlists come back as they were saved, in SQLite and in PostgreSQL."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio.tags import Tags
from nearsong.errors import InvalidInputError, NoSuchPlaylistError, NoSuchSongError
from nearsong.library import Library
from nearsong.library.store import ScannedFile, Store
from nearsong.library.store.playlists import with_hidden_songs
from waiting import in_threads


def put(store, *numbers, problem="") -> list[int]:
    with store.writing() as connection:
        files = [ScannedFile(f"/{n}.mp3", 10, 20, str(n), Tags(title=str(n)), problem=problem) for n in numbers]
        return [store.songs.put(connection, file) for file in files]


def test_a_playlist_comes_back_as_it_was_saved(store):
    songs = put(store, 1, 2, 3)
    order = [songs[2], songs[0], songs[2], songs[1]]  # a song may come again
    saved = store.playlists.add("  Sunday \0\n morning ", order)
    assert (saved.name, saved.songs) == ("Sunday morning", tuple(order))
    assert saved.created == saved.changed > 1e9
    assert store.playlists.get(saved.id) == saved
    assert store.playlists.list() == [saved]


def test_all_playlists_are_listed_with_their_songs_the_oldest_first(store):
    songs = put(store, *range(5))
    saved = [store.playlists.add(name, songs[:n]) for n, name in enumerate(("none", "same", "same"))]
    assert store.playlists.list() == saved
    assert [len(one.songs) for one in saved] == [0, 1, 2]


def test_a_list_of_playlists_takes_two_questions_however_many_there_are(tmp_path):
    import sqlalchemy as sa

    with contextlib.closing(Store(tmp_path)) as store:
        songs = put(store, 1, 2)
        for n in range(10):
            store.playlists.add(f"{n}", songs)
        asked = []
        engine = store._database._engine
        sa.event.listen(engine, "before_cursor_execute", lambda *facts: asked.append(facts[2]))
        assert len(store.playlists.list()) == 10
        assert sum(question.startswith("SELECT") for question in asked) == 2


def test_songs_that_were_not_shown_keep_their_positions(store):
    a, b, c, gone, broken = put(store, *range(5))
    saved = store.playlists.add("a", [gone, a, b, broken, c])
    put(store, 4, problem="is no sound")  # the file of the last has changed
    changed = store.playlists.replace(saved.id, "a", [c, b, a], shown={a, b, c})
    assert changed.songs == (gone, c, b, broken, a)
    assert store.playlists.replace(saved.id, "a", [a, gone], shown={a, b, c}).songs == (a, gone, broken)
    assert store.playlists.replace(saved.id, "a", [b]).songs == (b,)
    nobody = max(a, b, c, gone, broken) + 1
    with pytest.raises(NoSuchSongError, match=f"song not found: {nobody}"):
        store.playlists.replace(saved.id, "a", [nobody], shown={nobody})


@given(st.lists(st.integers(1, 8), max_size=12), st.lists(st.integers(1, 5), max_size=12))
def test_a_changed_playlist_has_what_was_asked_for_and_all_that_was_not_shown_in_order(saved, wanted):
    shown = range(1, 6)
    complete = with_hidden_songs(wanted, saved, shown)
    assert [song for song in complete if song in shown] == wanted
    assert sorted(song for song in complete if song not in shown) == sorted(
        song for song in saved if song not in shown
    )
    there = [song for song in saved if song in shown]
    assert with_hidden_songs(there, saved, shown) == saved  # nothing changed, nothing moves


def test_another_name_and_other_songs_keep_the_id_and_the_day_it_was_made(store):
    songs = put(store, 1, 2, 3)
    first, other = store.playlists.add("a", songs), store.playlists.add("b", songs)
    changed = store.playlists.replace(first.id, "c", songs[::-1][:2])
    assert (changed.id, changed.name, changed.songs) == (first.id, "c", (songs[2], songs[1]))
    assert changed.created == first.created
    assert changed.changed > first.changed
    assert store.playlists.list() == [changed, other]


def test_a_playlist_that_was_removed_is_gone_and_its_number_is_not_given_again(store):
    songs = put(store, 1)
    first = store.playlists.add("a", songs)
    store.playlists.remove(first.id)
    assert store.playlists.list() == []
    assert len(store.songs.all()) == 1
    assert store.playlists.add("b", songs).id > first.id


def test_a_song_that_is_removed_leaves_playlists_in_order(store):
    songs = put(store, 1, 2, 3)
    saved = store.playlists.add("a", [songs[0], songs[1], songs[2], songs[1], songs[0]])
    store.songs.remove([songs[1]])
    assert store.playlists.get(saved.id).songs == (songs[0], songs[2], songs[0])
    again = store.playlists.replace(saved.id, "a", [songs[2], songs[0]])
    assert again.songs == (songs[2], songs[0])


def test_a_song_whose_file_is_missing_stays(store):
    songs = put(store, 1, 2)
    saved = store.playlists.add("a", songs)
    store.songs.set_missing(songs, True)
    assert store.playlists.get(saved.id) == saved
    assert store.playlists.replace(saved.id, "b", songs).songs == tuple(songs)


@pytest.mark.parametrize("number", [0, -1, 99, 2**62, 2**63, 2**200])
def test_songs_and_playlists_that_are_not_there_are_named(store, number):
    songs = put(store, 1)
    saved = store.playlists.add("a", songs)
    for call in (store.playlists.get, store.playlists.remove, lambda n: store.playlists.replace(n, "a", [])):
        with pytest.raises(NoSuchPlaylistError, match=f"^playlist not found: {number}; it may have been deleted"):
            call(number)
    for refused in (
        lambda ids: store.playlists.add("b", ids),
        lambda ids: store.playlists.replace(saved.id, "b", ids),
    ):
        with pytest.raises(NoSuchSongError, match=f"^song not found: {number}; leave it out"):
            refused([songs[0], number, 12345])
    assert store.playlists.list() == [saved]  # nothing of what failed is stored


def test_a_file_without_sound_is_no_song(store):
    (broken,) = put(store, 1, problem="not audio")
    with pytest.raises(NoSuchSongError, match=f"song not found: {broken};"):
        store.playlists.add("a", [broken])


@pytest.mark.parametrize("name", ["", "  ", "\0", "\n\t"])
def test_a_playlist_needs_a_name(store, name):
    with pytest.raises(InvalidInputError, match=r"has no visible characters; choose another\.$"):
        store.playlists.add(name, [])
    stored = store.playlists.add("a", [])
    with pytest.raises(InvalidInputError, match="choose another"):
        store.playlists.replace(stored.id, name, [])


def test_long_playlists_and_names_of_any_script_are_stored(store):
    songs = put(store, 1, 2, 3)
    order = [songs[n * n % 3] for n in range(10_000)]
    saved = store.playlists.add("Ночь 夜 \U0001f319" + "x" * 5000, order)
    assert list(store.playlists.get(saved.id).songs) == order
    assert store.playlists.get(saved.id).name.startswith("Ночь 夜 \U0001f319x")


def test_many_who_save_at_once_lose_nothing(store):
    songs = put(store, 1, 2)

    def save(n: int) -> None:
        for k in range(5):
            saved = store.playlists.add(f"{n} {k}", songs)
            store.playlists.replace(saved.id, f"{n} {k} changed", songs[::-1])

    in_threads(save, range(4))
    names = {one.name for one in store.playlists.list() if one.songs == tuple(songs[::-1])}
    assert names == {f"{n} {k} changed" for n in range(4) for k in range(5)}


def test_any_changes_leave_what_a_list_in_memory_would_hold(tmp_path_factory):
    steps = st.lists(st.tuples(st.integers(1, 4), st.text(max_size=5), st.lists(st.integers(1, 3))), max_size=8)

    @settings(max_examples=25, deadline=None)
    @given(steps)
    def check(changes):
        with contextlib.closing(Store(tmp_path_factory.mktemp("playlists"))) as store:
            put(store, 1, 2, 3)
            expected: dict[int, tuple[str, tuple[int, ...]]] = {}
            for number, text, songs in changes:
                name = f"n{text}"
                if number in expected and text:
                    saved = store.playlists.replace(number, name, songs)
                elif number in expected:
                    store.playlists.remove(number)
                    del expected[number]
                    continue
                else:
                    saved = store.playlists.add(name, songs)
                expected[saved.id] = (saved.name, tuple(songs))
            assert {one.id: (one.name, one.songs) for one in store.playlists.list()} == expected

    check()


def test_a_library_gives_its_playlists(tmp_path):
    with Library.open(tmp_path) as library:
        saved = library.playlists.add("a", [])
        assert library.playlists.list() == [saved]
