"""Listening histories in a list: whose they are, and why little or nothing of one is in the library."""

import pytest

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.history_list import history_list, history_matches, match_list, refresh_match_list
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.matches.stored import stored_matches
from nearsong.library.listeners.matches.words import match_sentences
from nearsong.library.listeners.recorded.plays import PlayLog


@pytest.fixture
def songs(store):
    for number, artist in enumerate(["Faust", "Faust", "Can"]):
        put_file(store, f"/{number}.mp3", content=str(number), tags=Tags(artist=artist, title=f"Song {number}"))


def imported(store, tmp_path, *rows: str, name: str = "plays.csv") -> int:
    (tmp_path / name).write_text("user,artist,title,plays\n" + "\n".join(rows) + "\n")
    (file,) = import_listens(store, [tmp_path / name])
    return file.source


def words(store, history: int) -> list[str]:
    return match_sentences(history_matches(store)[history])


def test_nothing_in_the_library_is_told_with_names_and_what_to_do(store, tmp_path, songs):
    history = imported(store, tmp_path, "ann,Neu!,Hallogallo,9", "ann,Kraftwerk,Autobahn,4", "bob,Neu!,Isi,2")
    assert words(store, history) == [
        "None of 3 track names is in the library (15 plays).",
        "Most played: Neu! - Hallogallo (9); Kraftwerk - Autobahn (4); Neu! - Isi (2).",
        "The library has 3 songs by 2 artists: Faust, Can.",
        "Next: scan the folder that has this music, or import the history of somebody who plays what is here. "
        "Histories are matched again after each scan.",
    ]


def test_swapped_columns_are_noticed_and_an_empty_library_says_so(store, tmp_path, songs):
    history = imported(store, tmp_path, "ann,Song 0,Faust,9")
    assert words(store, history)[-1].startswith("Next: artist and title seem to be swapped")
    store.songs.remove([song.id for song in store.songs.all()])
    assert words(store, history) == [
        "The only track name is not in the library (9 plays).",
        "Most played: Song 0 - Faust (9).",
        "The library has no songs yet.",
        "Next: scan a folder of music. The history stays, and is matched again after each scan.",
    ]


def test_a_small_part_is_never_nothing_and_a_large_one_needs_no_advice(store, tmp_path, songs):
    little = imported(store, tmp_path, "ann,Faust,Song 0,1", "ann,Neu!,Isi,999", name="little.csv")
    much = imported(store, tmp_path, "ann,Faust,Song 0,9", "ann,Neu!,Isi,1", name="much.csv")
    first, *_, last = words(store, little)
    assert first.startswith("less than 1% of 1,000 plays found in the library (1 track name: 1 by artist and title")
    assert last.startswith("Next: ")
    assert words(store, much) == [
        "90% of 10 plays found in the library (1 track name: 1 by artist and title).",
        "1 track name not found. Most played: Neu! - Isi (1).",
    ]
    assert history_matches(store)[much] == Histories(store).report([much])


def test_a_list_says_whose_each_history_is(store, tmp_path):
    imported(store, tmp_path, "ann,Faust,Song 0,1", "bob,Faust,Song 0,1", name="two.csv")
    imported(store, tmp_path, *(f"u{number},Faust,Song 0,1" for number in range(9)), name="nine.csv")
    two, nine = history_list(store)
    assert (two.whose, two.users, two.n_users) == ("ann, bob", ("ann", "bob"), 2)
    assert (nine.whose, len(nine.users), nine.n_users) == ("9 listeners", 3, 9)
    assert history_list(store)[0].rows == 2


def test_how_much_of_each_history_is_found_is_stored_until_something_is_played(store, tmp_path, songs):
    imported(store, tmp_path, "ann,Faust,Song 0,9", "ann,Neu!,Isi,1")
    matches, _ = match_list(store)
    assert list(matches.shares.values()) == [0.9]
    assert stored_matches(store) == matches
    PlayLog(store).record(store.songs.all()[0].id, listener="ann")
    assert stored_matches(store) is None
    assert [history.format for history in match_list(store)[0].histories] == ["csv", "played"]


def test_a_kept_list_is_made_again_after_songs_have_changed_and_none_where_nobody_asked_for_one(
    store, tmp_path, songs
):
    imported(store, tmp_path, "ann,Faust,Song 0,9", "ann,Neu!,Isi,1")
    refresh_match_list(store)
    assert stored_matches(store) is None
    match_list(store)
    put_file(store, "/new.mp3", content="new", tags=Tags(artist="Neu!", title="Isi"))
    assert stored_matches(store) is None
    refresh_match_list(store)
    assert list(stored_matches(store).shares.values()) == [1.0]
