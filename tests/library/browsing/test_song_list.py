"""What is typed into a search field, and the songs that it finds: each answer against one made the slow way."""

import random
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.browsing import song_list as browse
from nearsong.library.browsing.song_list import Browser, folded
from tagged_songs import tagged_song as song
from waiting import in_threads

SONGS = [
    song(1, "The Beatles", "Help!", "Help!", "Rock", 1965),
    song(2, "The Beatles", "Yesterday", "Help!", "Rock", 1965),
    song(3, "Björk", "Jóga", "Homogenic", "Pop", 1997),
    song(4, "AC/DC", "Back in Black", "Back in Black", "Hard Rock", 1980),
    song(5, "Sigur Rós", "Svefn-g-englar", "Ágætis byrjun", "Post-Rock", 1999),
    song(6, "Simon & Garfunkel", "The Boxer", "Bridge over Troubled Water", "Folk", 1970),
    song(7, "R.E.M.", "Don't Go Back to Rockville", "Reckoning", "rock", 1984),
    song(8, "!!!", "Me and Giuliani Down by the School Yard", "", "Dance"),
    song(9, "", "Nameless", "", "", None),
    song(10, "Кино", "Группа крови", "", "Рок", 1988),
    song(11, "椎名林檎", "丸の内サディスティック", "無罪モラトリアム", "J-Pop", 1999),
    song(12, "Miles Davis", "So What", "Kind of Blue", "Jazz", 1959),
    song(13, "Björk feat. Thom Yorke", "I've Seen It All", "Selmasongs", "Pop", 2000),
    song(14, "Ed Sheeran", "Perfect", "÷", "Pop", 2017),
]
PLAYS = {12: 50.0, 3: 70.5, 1: 50.0}
BROWSER = Browser(SONGS[::-1], PLAYS)


def test_a_list_of_ids_keeps_its_order_unless_another_is_asked_for_and_takes_all_filters():
    ids = [7, 99, 3, 1, 13]
    assert [song.id for song in BROWSER.page(among=ids).songs] == [7, 3, 1, 13]
    assert [song.id for song in BROWSER.page(among=ids, sort="title").songs] == [7, 1, 13, 3]
    assert [song.id for song in BROWSER.page("bjork", among=iter(ids)).songs] == [3, 13]
    assert [song.id for song in BROWSER.page(among=ids, genre="Rock").songs] == [7, 1]
    page = BROWSER.page(among=ids, offset=1, limit=2)
    assert ([song.id for song in page.songs], page.total) == ([3, 1], 4)
    assert BROWSER.page("beatels", among=ids).songs == [BROWSER.page("help", among=ids).songs[0]]
    assert BROWSER.page(among=[]).total == BROWSER.page("help", among=[]).total == 0


def test_a_letter_may_be_missing_in_each_of_two_words_and_no_strangers_are_found():
    names = [
        ("Britney Spears", "Toxic"),
        ("Britney Spears", "Oops"),
        ("The Stars", "Bright"),
        ("Brittany Sparks", "I"),
    ]
    browser = Browser([song(at, *name) for at, name in enumerate(names, 1)])
    for text in ("britny spears", "britny spars", "brtney spear", "britney speears"):
        page = browser.page(text)
        assert ({one.artist for one in page.songs}, page.total) == ({"Britney Spears"}, 2), text


def found(text="", **wanted):
    page = BROWSER.page(text, **wanted)
    assert len(page.songs) == min(page.total, wanted.get("limit", 50))
    return {one.id for one in page.songs}


# ---- words


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("beatles", {1, 2}),
        ("BEA yest", {2}),
        ("yesterday the beatles", {2}),
        ("eatles", set()),  # within a word is not its beginning
        ("bjork joga", {3}),
        ("Björk Jóga", {3}),
        ("BJÖ", {3, 13}),
        ("bjo\u0308rk", {3, 13}),
        ("ac/dc", {4}),
        ("acdc", {4}),
        ("ac dc", {4}),
        ("AC-DC", {4}),
        ("svefn g eng", {5}),
        ("svefn-g-eng", {5}),
        ("svefngeng", {5}),
        ("agætis", {5}),
        ("simon and garf", {6}),
        ("simon & garf", {6}),
        ("rem", {7}),
        ("R.E.M.", {7}),
        ("dont go", {7}),
        ("don\u2019t go", {7}),
        ("don´t go", {7}),
        ("don't", {7}),
        ("rock", {1, 2, 4, 5, 7}),
        ("hard rock", {4}),
        ("!!!", {8}),
        ("!!! giuliani", {8}),
        ("÷", {14}),
        ("кино гру", {10}),
        ("КИНО", {10}),
        ("林檎", {11}),  # no blanks between words: anywhere
        ("サディス", {11}),
        ("1965", set()),
        ("miles davis - so what", {12}),
        ("  \t ", set(range(1, 15))),
        ("", set(range(1, 15))),
    ],
)
def test_every_word_typed_begins_a_word_of_the_song(text, numbers):
    page = BROWSER.page(text)
    exact = set() if page.fuzzy else {one.id for one in page.songs}
    assert exact == numbers
    assert page.total == len(page.songs)


def plain(text):
    text = unicodedata.normalize("NFKD", text).casefold().replace("&", " and ")
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def words_of_song(one):
    """Return the words of a song, by the rules as they are written down and as slowly as can be."""
    words = set()
    for text in (one.artist, one.title, one.album, one.genre):
        parts = plain(text).split()
        closed = [re.sub(r"[\W_]", "", part) for part in parts]
        opened = re.sub(r"[\W_]", " ", plain(text)).split()
        words |= {word for word in [*closed, *opened] if word} or set(parts)
    return words


def fits_slowly(one, text):
    typed = re.sub(r"[\W_]", " ", re.sub("['.]", "", plain(text))).split() or plain(text).split()
    return all(any(word.startswith(wanted) for word in words_of_song(one)) for wanted in typed)


LETTERS = st.text(alphabet="abAB\u00e9\u00dfи -_.'/&!1\u0301", max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(LETTERS, LETTERS, LETTERS, LETTERS), max_size=8), LETTERS)
@example([("a-b", "", "", "")], "a b")
@example([("a_b", "!", "", "")], "!")
def test_a_search_finds_what_looking_at_every_song_finds(fields, text):
    songs = [song(n + 1, artist, title, album, genre) for n, (artist, title, album, genre) in enumerate(fields)]
    expected = {one.id for one in songs if fits_slowly(one, text)}
    page = Browser(songs).page(text, limit=100)
    if expected:
        assert {one.id for one in page.songs} == expected
        assert page.total == len(expected)
        assert not page.fuzzy
    else:
        assert page.fuzzy == bool(page.songs)


@given(st.text(max_size=30))
@settings(max_examples=150, deadline=None)
def test_whatever_is_typed_is_answered_and_folding_twice_changes_nothing(text):
    page = BROWSER.page(text, artist=text[:2], genre=text[2:3], album=text[3:5])
    assert page.total == len(page.songs)
    assert folded(folded(text)) == folded(text)


def test_the_end_of_a_very_long_search_is_not_looked_at():
    assert found("beatles " * 20 + "nonsense") == {1, 2}


# ---- filters


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"artist": "the beatles"}, {1, 2}),
        ({"artist": "Beatles"}, {1, 2}),
        ({"artist": "bjork"}, {3, 13}),  # guests or not
        ({"artist": "Björk feat. Thom Yorke"}, {3, 13}),
        ({"artist": "Beat"}, set()),  # the full name
        ({"genre": "ROCK"}, {1, 2, 7}),
        ({"genre": "post rock"}, {5}),
        ({"album": "help"}, {1, 2}),
        ({"album": "÷"}, {14}),
        ({"artist": "björk", "genre": "pop", "album": "homogenic"}, {3}),
        ({"artist": "björk", "genre": "jazz"}, set()),
        ({"text": "yest", "genre": "rock"}, {2}),
        ({"text": "yest", "genre": "jazz"}, set()),
    ],
)
def test_filters_take_full_names_however_they_are_written(wanted, numbers):
    assert found(**wanted) == numbers


def test_what_a_filter_leaves_out_is_not_made_up_for_by_something_alike():
    page = BROWSER.page("yesterday", genre="jazz")
    assert (page.songs, page.total, page.fuzzy) == ([], 0, False)


# ---- nothing fits


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("beatels", {1, 2}),
        ("yesteday", {2}),
        ("beetles yestreday", {2}),
        ("garfunkle boxr", {6}),
        ("miles davies so whut", {12}),
    ],
)
def test_slips_of_the_pen_find_what_was_meant(text, numbers):
    page = BROWSER.page(text)
    assert page.fuzzy
    assert {one.id for one in page.songs} == numbers


def test_where_no_word_fits_songs_written_alike_come_the_best_first():
    page = BROWSER.page("bak inn blak")
    assert page.fuzzy
    assert page.songs[0].id == 4
    assert BROWSER.page("bak inn blak", genre="jazz").songs == []


@pytest.mark.parametrize("text", ["q", "zq", "xxyyzz qqq jjj", "?!", "\udcff"])
def test_what_is_like_nothing_finds_nothing(text):
    page = BROWSER.page(text)
    assert (page.songs, page.total, page.fuzzy) == ([], 0, False)


# ---- order and pages


def ids(sort, text="", browser=BROWSER):
    return [one.id for one in browser.page(text, sort=sort).songs]


def test_by_artist_means_artist_album_path_and_those_without_come_last():
    assert ids("artist") == [8, 4, 1, 2, 3, 13, 14, 12, 7, 5, 6, 10, 11, 9]


def test_by_title_goes_by_letters_alone():
    titles = [one.title for one in BROWSER.page(sort="title").songs]
    assert titles[:4] == ["Back in Black", "Don't Go Back to Rockville", "Help!", "I've Seen It All"]
    assert titles == sorted(titles, key=folded)


def test_by_year_the_latest_come_first_and_those_without_last():
    years = [one.year for one in BROWSER.page(sort="year").songs]
    assert years == sorted(years, key=lambda year: -(year or -1))
    assert ids("year")[-2:] == [8, 9]  # equals as by artist


def test_by_plays_the_most_come_first_and_equals_as_by_artist():
    assert ids("plays")[:3] == [3, 1, 12]
    assert ids("plays")[3:] == [number for number in ids("artist") if number not in PLAYS]


def test_the_newest_came_last_whatever_their_ids():
    added = {3: 50.0, 9: 70.0, 4: 50.0}
    songs = [replace(one, added=added.get(one.id, 10.0)) for one in SONGS]
    found = [one.id for one in Browser(songs).page(sort="newest").songs]
    assert found == [9, 4, 3, *(number for number in range(14, 0, -1) if number not in added)]


def test_the_newest_have_the_highest_ids_where_nobody_knows_when_they_came():
    assert ids("newest") == list(range(14, 0, -1))
    assert ids("newest", "rock") == [7, 5, 4, 2, 1]


def test_the_order_does_not_depend_on_how_songs_come():
    shuffled = random.Random(0).sample(SONGS, len(SONGS))
    for sort in browse.SORTS:
        assert ids(sort, browser=Browser(shuffled, PLAYS)) == ids(sort)


@pytest.mark.parametrize("text", ["", "rock", "beatels"])
def test_pages_put_together_are_the_full_list(text):
    complete = BROWSER.page(text, sort="title", limit=100)
    pages = [BROWSER.page(text, sort="title", offset=offset, limit=2) for offset in range(0, complete.total, 2)]
    assert [one for page in pages for one in page.songs] == complete.songs
    assert {page.total for page in pages} == {complete.total}
    beyond = BROWSER.page(text, offset=1000)
    assert (beyond.songs, beyond.total) == ([], complete.total)
    assert BROWSER.page(text, limit=0).songs == []


def test_an_order_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(
        InvalidInputError, match=r"^sort='mood' is unknown; choose one of artist, newest, plays, title, year\.$"
    ):
        BROWSER.page(sort="mood")


@pytest.mark.parametrize("wanted", [{"offset": -1}, {"limit": -1}])
def test_numbers_below_zero_are_refused(wanted):
    with pytest.raises(InvalidInputError, match=r"=-1 must be a whole number of at least 0\."):
        BROWSER.page(**wanted)


# ---- genres and the rest


def test_genres_are_listed_as_most_songs_write_them_the_largest_first():
    assert BROWSER.genres() == [
        ("Pop", 3),
        ("Rock", 3),
        ("Dance", 1),
        ("Folk", 1),
        ("Hard Rock", 1),
        ("J-Pop", 1),
        ("Jazz", 1),
        ("Post-Rock", 1),
        ("Рок", 1),
    ]


def test_an_empty_library_has_empty_pages():
    empty = Browser([])
    empty.warm()
    for text in ("", "a", "something"):
        assert empty.page(text).total == 0
    assert empty.genres() == []


def test_threads_that_ask_at_once_get_the_same_answers():
    songs = [song(n, f"Artist {n % 7}", f"Title {n}", f"Album {n % 5}", "Rock") for n in range(1, 300)]
    expected = [[one.id for one in Browser(songs).page("title 1", sort=sort).songs] for sort in browse.SORTS]
    shared = Browser(songs)

    def ask(_number):
        return [[one.id for one in shared.page("title 1", sort=sort).songs] for sort in browse.SORTS]

    assert in_threads(ask, range(8)) == [expected] * 8
