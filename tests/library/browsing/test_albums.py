"""Artists, albums and songs as players show them: every song once, in order, under ids that stay."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import LibraryError
from nearsong.library.browsing.albums import NO_ALBUM, UNKNOWN_ARTIST, AlbumIndex, album_id, artist_id
from tagged_songs import tagged_song


def song(number, artist, album, title="Title", genre="", year=None, path=None):
    return tagged_song(number, artist, title, album, genre, year, path or f"/music/{artist}/{album}/{title}.mp3")


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
SHELVES = AlbumIndex(SONGS)


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
    shuffled = AlbumIndex(random.Random(1).sample(SONGS, len(SONGS)))
    assert shuffled.artists == SHELVES.artists
    assert shuffled.albums == SHELVES.albums
    alone = AlbumIndex(SONGS[3:4])
    assert alone.albums[0] == SHELVES.album(alone.albums[0].id)


def test_what_is_not_there_is_named():
    with pytest.raises(LibraryError, match=r"^artist not found: 'ar-0'; search for it by name\.$"):
        SHELVES.artist("ar-0")
    with pytest.raises(LibraryError, match=r"^album not found: 'x{37}\.\.\.'; search for it"):
        SHELVES.album("x" * 1000)
    with pytest.raises(LibraryError, match=r"^song not found: 99; search for it by name"):
        SHELVES.album_of(song(99, "A", "B"))


def test_an_empty_library_has_empty_shelves():
    assert (AlbumIndex([]).artists, AlbumIndex([]).albums) == ([], [])


NAMES = st.text(alphabet="aAä &!(\u0301", max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.none() | st.integers(1990, 1993)), max_size=12))
def test_every_song_is_on_one_shelf_and_every_id_leads_there(facts):
    songs = [song(n + 1, artist, album, str(n), "", year) for n, (artist, album, year) in enumerate(facts)]
    albums = AlbumIndex(songs)
    assert sorted(one.id for album in albums.albums for one in album.songs) == [one.id for one in songs]
    assert {one.id for one in albums.albums} == {one.id for artist in albums.artists for one in artist.albums}
    assert len({one.id for one in albums.albums}) == len(albums.albums)
    for one in songs:
        album = albums.album_of(one)
        assert one in album.songs
        assert albums.album(album.id) is album
        assert album in albums.artist(album.artist_id).albums
        assert {other.artist_key for other in album.songs} == {one.artist_key}
        assert album.name
        assert album.artist == albums.artist(album.artist_id).name != ""
