"""What a person types, and the song that is meant."""

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearsong.errors import UnclearSongError
from nearsong.library.neighbours.song_finder import SongFinder
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist, title_key


def song(number, artist, title, path=None):
    path = path or f"/music/{artist}/{number:02d} - {title}.mp3"
    return Song(
        id=number, path=path, artist=artist, title=title, seconds=100.0, artist_key=artist_key(primary_artist(artist))
    )


SONGS = [
    song(1, "Wynton Marsalis", "Caravan"),
    song(2, "Miles Davis", "So What"),
    song(3, "Miles Davis", "So Near, So Far"),
    song(4, "Miles Davis", "All Blues"),
    song(5, "Duke Ellington", "Caravan"),
    song(6, "The Beatles", "Help! (Remastered 2009)"),
    song(7, "The Beatles", "Help!"),
    song(8, "The Beatles", "Help! (Live)"),
    song(9, "Prince", "1999"),
    song(10, "AC/DC", "Back in Black"),
    song(11, "Simon & Garfunkel", "The Boxer"),
    song(12, "Santana feat. Rob Thomas", "Smooth"),
    song(13, "", "Nameless Tune - Take Three"),
    song(14, "Кино", "Группа крови"),
    song(15, "Haydn", "Symphony No. 94"),
    song(16, "Haydn", "Symphony No. 101"),
    song(200, "Earth", "Ouroboros Is Broken", "/music/odd/song.mp3"),
    song(201, "Sunn O)))", "Aghartha", "/music/even/song.mp3"),
]
FINDER = SongFinder(SONGS[::-1])  # in whatever order songs come


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        (" 200 ", 200),
        ("/music/Miles Davis/02 - So What.mp3", 2),
        ("02 - So What.mp3", 2),
        ("Miles Davis/02 - So What.mp3", 2),
        ("./Miles Davis/02 - So What.mp3", 2),
        ("odd/song.mp3", 200),
        ("Wynton Marsalis - Caravan", 1),
        ("wynton marsalis caravan", 1),
        ("Caravan - Wynton Marsalis", 1),
        ("DUKE ELLINGTON \u2013 caravan", 5),
        ("Beatles - Help", 6),  # the lowest id of several files
        ("The Beatles - Help! - 2009 Remaster", 6),
        ("beatles help live", 8),
        ("Prince - 1999", 9),
        ("1999", 9),  # there is no such id
        ("ACDC - Back In Black", 10),
        ("simon and garfunkel - boxer", 11),
        ("Santana - Smooth", 12),
        ("Santana ft. Rob Thomas - Smooth (feat. Rob Thomas)", 12),
        ("Nameless Tune - Take Three", 13),
        ("кино - группа крови", 14),
        ("so what", 2),
        ("Prince", 9),  # has one song only
        ("marsalis caravan", 1),  # some of the words, and no other song has them
        ("boxer simon", 11),
        ("Mile Davis - So Wat", 2),
        ("Winton Marsallis - Carravan", 1),
        ("all bluess", 4),
        ("Група крови", 14),
    ],
)
def test_a_song_is_found_as_a_person_would_name_it(text, number):
    assert FINDER.find(text).id == number


def answer(finder, text):
    try:
        return finder.find(text)
    except UnclearSongError as unclear:
        return str(unclear)


@pytest.mark.parametrize(
    "text", [song.name for song in SONGS] + ["song.mp3", "Caravan", "elington carravan", "zzqq", "9"]
)
def test_rows_of_names_answer_as_songs_do_in_the_first_search_and_in_later_ones(text):
    rows = [(song.id, song.path, song.artist, song.title, song.album) for song in SONGS]
    finder = SongFinder.of_rows(rows)
    expected = answer(SongFinder(SONGS), text)
    for _ in range(3):
        found = answer(finder, text)
        assert getattr(found, "id", found) == getattr(expected, "id", expected)
        assert [song.id for song in finder.of_group(text)] == [song.id for song in FINDER.of_group(text)]


def test_a_path_is_taken_from_where_one_stands_and_from_home(monkeypatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/music")
    assert FINDER.find("music/Prince/../Prince/09 - 1999.mp3").id == 9
    assert FINDER.find("~/Prince/09 - 1999.mp3").id == 9


def test_a_path_names_its_own_file_even_if_another_file_has_the_same_song():
    assert FINDER.find(SONGS[6].path).id == 7


@pytest.mark.parametrize(
    ("text", "message", "suggestions"),
    [
        ("Caravan", r"2 songs match 'Caravan'; be more specific, or give an id: .*Caravan \(id 1\)", {1, 5}),
        ("Miles Davis", r"3 songs match 'Miles Davis'; be more specific", {2, 3, 4}),
        ("miles davis so", r"2 songs match", {2, 3}),
        ("song.mp3", r"2 songs match 'song\.mp3'", {200, 201}),
        ("beatles", r"2 songs match", {6, 8}),
        ("Haydn - Symphony No. 95", r"no match for 'Haydn - Symphony No\. 95'; give artist - title", {15, 16}),
        ("Haydn - Symphony", r"2 songs match", {15, 16}),
        ("Carravan", r"no match for 'Carravan'", {1, 5}),
    ],
)
def test_what_is_unclear_is_refused_with_suggestions_that_are_clear(text, message, suggestions):
    with pytest.raises(UnclearSongError, match=message) as caught:
        FINDER.find(text)
    named = {FINDER.find(name).id for name in caught.value.suggestions}
    assert suggestions <= named
    assert len(caught.value.suggestions) <= 5
    assert "\n" not in str(caught.value)
    for name in caught.value.suggestions:
        assert name in str(caught.value)


@pytest.mark.parametrize("text", ["zzzzqqqq", "12345", "!?", "xx/yy.flac"])
def test_what_is_like_nothing_is_refused(text):
    with pytest.raises(UnclearSongError, match=r"no match for .*an id or a path"):
        FINDER.find(text)


@pytest.mark.parametrize(
    "text",
    [
        "Taylor Swift - Blank Space",
        "radiohead creep",
        "stairway to heaven",
        "Somebody - Caravan of Love",  # one word in common is no likeness
        "mahler symphony",
        "xylophone quartet",
    ],
)
def test_strangers_are_not_suggested(text):
    with pytest.raises(UnclearSongError, match="no match for") as caught:
        FINDER.find(text)
    assert caught.value.suggestions == ()
    assert "Similar names" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("Mils Davis", {2, 3, 4}),  # an artist, misspelt
        ("Miles Davis - Bitches Brew", {2, 3, 4}),  # an artist whose song is not there
        ("symfony", {15, 16}),  # one word of a title, misspelt
        ("elington carravan", {1, 5}),
        ("The Beatels - Hlep", {6, 8}),
    ],
)
def test_typos_are_answered_with_what_was_meant(text, suggested):
    try:
        found = {FINDER.find(text).id}
    except UnclearSongError as unclear:
        found = {FINDER.find(name).id for name in unclear.suggestions}
    assert found
    assert found <= suggested


def test_an_empty_name_and_an_empty_library_say_what_to_do():
    with pytest.raises(UnclearSongError, match="the name is empty; give an artist"):
        FINDER.find("  ")
    with pytest.raises(UnclearSongError, match="cannot find 'x': the library is empty; scan"):
        SongFinder([]).find("x")
    assert SongFinder([]).candidates("x") == []


def test_candidates_come_best_first_each_song_once():
    found = FINDER.candidates("beatles help", limit=3)
    assert [(entry.id, score) for entry, score in found][:1] == [(6, 100.0)]
    assert found[1][0].id == 8
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert len(FINDER.candidates("caravan")) == 5
    assert [entry.id for entry, _ in FINDER.candidates("caravan", 2)] == [1, 5]
    assert FINDER.candidates("", 5) == FINDER.candidates("x", 0) == []


WORDS = st.lists(st.sampled_from(["red", "blue", "house", "The", "rivér", "мир", "9"]), min_size=1, max_size=3)
NAMES = WORDS.map(" ".join)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=12))
@settings(max_examples=150)
def test_artist_and_title_always_find_the_first_file_of_the_song(names):
    songs = [song(1000 + row, artist, title) for row, (artist, title) in enumerate(names)]
    finder = SongFinder(songs)
    keys = [(artist_key(artist), title_key(title)) for artist, title in names]
    for row, entry in enumerate(songs):
        found = finder.find(entry.name)
        swapped = (artist_key(entry.title), title_key(entry.artist))
        assert found.id == 1000 + keys.index(keys[row]) or (found.artist_key, title_key(found.title)) == swapped


@given(st.text(max_size=30))
@settings(max_examples=150)
@example("~\0")
@example("~\ud800/x")
@example("~/\0")
def test_whatever_is_typed_gives_a_song_or_a_refusal(text):
    with contextlib.suppress(UnclearSongError):
        assert FINDER.find(text) in SONGS


def test_a_name_of_any_length_is_refused_in_one_line():
    with pytest.raises(
        UnclearSongError, match=r"^no match for 'q{77}\.\.\.'; give artist - title, an id or a path\.$"
    ) as caught:
        FINDER.find("q" * 10_000)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["/music/zzqq.mp3", "./zzqq", "../zzqq", "~/zzqq", "zzqq.FLAC", ".", "xx/yy.flac"])
def test_a_path_of_nothing_is_called_one(text):
    with pytest.raises(UnclearSongError, match="; no file that can be read is there, and no song of the library"):
        FINDER.find(text)


@pytest.mark.parametrize("text", ["zzqq", "Zz/Qq", "Mr. Zzqq", "zzqq vol.2"])
def test_a_name_of_nothing_is_not_called_a_path(text):
    with pytest.raises(UnclearSongError, match="; give artist - title") as caught:
        FINDER.find(text)
    assert "no file" not in str(caught.value)


def test_an_exact_artist_stands_for_their_songs():
    assert {song.id for song in FINDER.of_group("miles  DAVIS")} == {2, 3, 4}
    assert FINDER.of_group("Miles") == []
