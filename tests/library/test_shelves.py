"""Artists, albums and songs as players show them: every song once, in order, under ids that stay."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import LibraryError
from nearsong.library.records import Song
from nearsong.library.shelves import NO_ALBUM, UNKNOWN_ARTIST, Shelves, album_id, artist_id
from nearsong.names import artist_key, primary_artist


def song(number, artist, album, title="Title", genre="", year=None, path=None):
    key = artist_key(primary_artist(artist)) if artist.strip() else ""
    path = path or f"/music/{artist}/{album}/{title}.mp3"
    return Song(number, path, artist, title, album, genre, year, 100.0, key)


SONGS = [
    song(1, "The Beatles", "Help!", "Help!", "Rock", 1965, "/m/02.mp3"),
    song(2, "Beatles", "Help", "Yesterday", "Rock", 1965, "/m/10.mp3"),
    song(3, "The Beatles", "Help!", "Ticket to Ride", "Pop", 2009, "/m/9.mp3"),
    song(4, "The Beatles", "Abbey Road", "Something", "", 1969),
    song(5, "The Beatles", "", "Real Love"),
    song(6, "Björk feat. Thom Yorke", "Selmasongs", "I've Seen It All", "Pop", 2000),
    song(7, "Björk", "Debut", "Human Behaviour"),
    song(8, "", "", "Nameless"),
    song(9, "", "Mixtape", "Nameless Too"),
    song(10, "ABBA", "Gold", "Waterloo", "Pop", 1974),
    song(11, "The The", "Gold", "Uncertain Smile"),
]
SHELVES = Shelves(SONGS)


def test_artists_are_in_order_of_their_names_the_aside_and_songs_without_artist_last():
    assert [one.name for one in SHELVES.artists] == ["ABBA", "The Beatles", "Björk", "The The", UNKNOWN_ARTIST]


def test_an_artist_is_called_as_most_songs_do_without_guests():
    assert SHELVES.artist(artist_id("beatles")).name == "The Beatles"
    assert SHELVES.artist(artist_id("bjork")).name == "Björk"


def test_albums_of_an_artist_are_by_year_and_songs_without_album_last():
    albums = SHELVES.artist(artist_id("beatles")).albums
    assert [(one.name, one.year) for one in albums] == [("Help!", 1965), ("Abbey Road", 1969), (NO_ALBUM, None)]
    assert [one.name for one in SHELVES.artist(artist_id("bjork")).albums] == ["Selmasongs", "Debut"]
    assert [one.name for one in SHELVES.artist(artist_id("")).albums] == ["Mixtape", NO_ALBUM]


def test_songs_of_an_album_are_in_order_of_the_numbers_in_their_paths():
    album = SHELVES.album_of(SONGS[0])
    assert [one.id for one in album.songs] == [1, 3, 2]
    assert (album.artist, album.artist_id, album.genre) == ("The Beatles", artist_id("beatles"), "Rock")


def test_albums_of_one_name_by_different_artists_are_two():
    gold = [one for one in SHELVES.albums if one.name == "Gold"]
    assert [one.artist for one in gold] == ["ABBA", "The The"]
    assert len({one.id for one in gold}) == 2


def test_all_albums_are_in_order_of_their_names():
    named = [one.name for one in SHELVES.albums]
    assert named == ["Abbey Road", "Debut", "Gold", "Gold", "Help!", "Mixtape", "Selmasongs", NO_ALBUM, NO_ALBUM]


def test_ids_are_these_today_and_after_every_restart():
    assert artist_id("beatles") == "ar-3319d96f45cedd30"
    assert album_id("beatles", "HELP") == album_id("beatles", "Help!") == SHELVES.album_of(SONGS[0]).id
    assert album_id("beatles", "Help!") == "al-d3b98c1639e87f87"


def test_ids_do_not_depend_on_other_songs_or_on_order():
    shuffled = Shelves(random.Random(1).sample(SONGS, len(SONGS)))
    assert shuffled.artists == SHELVES.artists
    assert shuffled.albums == SHELVES.albums
    alone = Shelves(SONGS[3:4])
    assert alone.albums[0] == SHELVES.album(alone.albums[0].id)


def test_what_is_not_there_is_named():
    with pytest.raises(LibraryError, match=r"^there is no artist 'ar-0' in the library; look for it by its name\.$"):
        SHELVES.artist("ar-0")
    with pytest.raises(LibraryError, match=r"^there is no album 'x{37}\.\.\.' in the library; look for it"):
        SHELVES.album("x" * 1000)
    with pytest.raises(LibraryError, match=r"^song 99 is not in the library; look for it by its name"):
        SHELVES.album_of(song(99, "A", "B"))


def test_an_empty_library_has_empty_shelves():
    assert (Shelves([]).artists, Shelves([]).albums) == ([], [])


NAMES = st.text(alphabet="aAä &!(\u0301", max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.none() | st.integers(1990, 1993)), max_size=12))
def test_every_song_is_on_one_shelf_and_every_id_leads_there(facts):
    songs = [song(n + 1, artist, album, str(n), "", year) for n, (artist, album, year) in enumerate(facts)]
    shelves = Shelves(songs)
    assert sorted(one.id for album in shelves.albums for one in album.songs) == [one.id for one in songs]
    assert {one.id for one in shelves.albums} == {one.id for artist in shelves.artists for one in artist.albums}
    assert len({one.id for one in shelves.albums}) == len(shelves.albums)
    for one in songs:
        album = shelves.album_of(one)
        assert one in album.songs
        assert shelves.album(album.id) is album
        assert album in shelves.artist(album.artist_id).albums
        assert {other.artist_key for other in album.songs} == {one.artist_key}
        assert album.name
        assert album.artist == shelves.artist(album.artist_id).name != ""
