"""Artists, albums and songs as players show them: every song once, in order, under ids that stay."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import LibraryError
from nearsong.library.browsing.albums import NO_ALBUM, UNKNOWN_ARTIST, AlbumIndex, album_id, artist_id
from tagged_songs import tagged_song


def song(number, artist, album, title="Title", genre="", year=None, path=None, **others):
    path = path or f"/music/{artist}/{album}/{title}.mp3"
    return tagged_song(number, artist, title, album, genre, year, path, **others)


def on_album(*artists, folder="/m/hits", album="Hits", **others):
    """Return songs of one album in one folder, one of each artist."""
    return [song(n, artist, album, path=f"{folder}/{n}.mp3", **others) for n, artist in enumerate(artists, 1)]


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


# Whose album it is


def test_songs_of_four_artists_under_one_album_artist_are_one_album():
    index = AlbumIndex(on_album("Can", "Neu!", "Faust", "Cluster", album_artist="Various Artists"))
    (album,) = index.albums
    assert (album.artist, len(album.songs), album.is_compilation) == ("Various Artists", 4, True)
    assert album.id == album_id("various artists", "Hits")
    assert [one.name for one in index.artists] == ["Can", "Cluster", "Faust", "Neu!", "Various Artists"]


def test_an_artist_appears_on_the_albums_of_others():
    songs = [*on_album("Can", "Neu!", album_artist="VA"), song(9, "Can", "Tago Mago")]
    index = AlbumIndex(songs)
    can = index.artist_of(songs[0])
    assert [one.name for one in can.albums] == ["Tago Mago"]
    assert [one.name for one in can.appears_on] == ["Hits"]
    assert [one.id for one in can.songs] == [9, 1]
    assert index.artist(artist_id("neu")).albums == ()
    assert [one.id for one in index.artist(artist_id("various artists")).songs] == [1, 2]


@pytest.mark.parametrize("names", ["V.A.", "various", "Verschiedene Interpreten", "Various Artists"])
def test_all_names_of_various_artists_are_one(names):
    assert AlbumIndex(on_album("Can", "Neu!", album_artist=names)).albums[0].artist == "Various Artists"


def test_an_unknown_album_artist_says_nothing():
    assert [one.artist for one in AlbumIndex(on_album("Can", album_artist="Unknown Artist")).albums] == ["Can"]


def test_a_compilation_without_album_artist_is_one_album_where_its_songs_are_in_one_folder():
    tagged = {"is_compilation": True}
    assert [one.artist for one in AlbumIndex(on_album("Can", "Neu!", **tagged)).albums] == ["Various Artists"]
    discs = [
        *on_album("Can", folder="/m/hits/CD1", **tagged),
        song(9, "Neu!", "Hits", path="/m/hits/CD2/1.mp3", **tagged),
    ]
    assert [one.artist for one in AlbumIndex(discs).albums] == ["Various Artists"]
    assert [one.artist for one in AlbumIndex(on_album("Can", "Can", **tagged)).albums] == ["Can"]
    apart = [*on_album("Can", folder="/m/a", **tagged), song(9, "Neu!", "Hits", path="/m/b/1.mp3", **tagged)]
    assert [one.artist for one in AlbumIndex(apart).albums] == ["Can", "Neu!"]
    assert len(AlbumIndex(on_album("Can", "Neu!")).albums) == 2


@pytest.mark.parametrize(
    "guest",
    ["Can feat. Neu!", "Can (ft. Neu!)", "Can & Neu!", "Can, Neu!", "Can with Neu!", "Can x Neu!", "Can + Neu!"],
)
def test_guests_do_not_split_an_album(guest):
    index = AlbumIndex(on_album("Can", guest, "Can"))
    assert [(one.artist, len(one.songs)) for one in index.albums] == [("Can", 3)]


def test_the_first_of_artists_who_change_is_that_of_the_album():
    assert [one.artist for one in AlbumIndex(on_album("Can & Neu!", "Can & Faust")).albums] == ["Can"]


def test_a_band_is_not_taken_apart():
    songs = [*on_album("Simon & Garfunkel", "Simon & Garfunkel", album="Bookends"), *on_album("Simon", folder="/m/x")]
    assert [one.artist for one in AlbumIndex(songs).albums] == ["Simon & Garfunkel", "Simon"]


def test_the_album_artist_of_the_tags_counts_more_than_the_names_of_the_songs():
    songs = on_album("Can & Neu!", "Faust", album_artist="Cluster feat. Eno")
    assert [(one.artist, len(one.songs)) for one in AlbumIndex(songs).albums] == [("Cluster", 2)]


def test_a_song_without_album_is_its_artists_own_whatever_the_tags_say_of_the_album():
    (album,) = AlbumIndex([song(1, "Can", "", album_artist="Various Artists", is_compilation=True)]).albums
    assert (album.artist, album.name) == ("Can", NO_ALBUM)


def test_songs_are_in_order_of_discs_and_tracks_and_those_without_a_number_last():
    places = [(2, 1), (1, 10), (1, 2), (1, None), (None, 1), (2, None)]
    songs = [
        song(n, "Can", "Live", path=f"/m/{n}.mp3", disc_number=disc, track_number=track)
        for n, (disc, track) in enumerate(places, 1)
    ]
    assert [one.id for one in AlbumIndex(songs).albums[0].songs] == [5, 3, 2, 4, 1, 6]


def test_discs_without_tags_are_those_of_their_folders():
    songs = [
        song(n, "Can", "Live", path=f"/m/Live/CD {disc}/{track}.mp3", track_number=track)
        for n, (disc, track) in enumerate([(2, 1), (1, 1), (2, 2), (1, 2)], 1)
    ]
    assert [one.id for one in AlbumIndex(songs).albums[0].songs] == [2, 4, 1, 3]


NAMES = st.text(alphabet="aAä &!(\u0301", max_size=4)
ARTISTS = NAMES | st.sampled_from(["A", "A & B", "A feat. B", "B", "A, C"])
FACTS = st.fixed_dictionaries(
    {
        "artist": ARTISTS,
        "album": NAMES,
        "year": st.none() | st.integers(1990, 1993),
        "album_artist": st.just("") | ARTISTS | st.just("Various Artists"),
        "is_compilation": st.booleans(),
        "disc_number": st.none() | st.integers(1, 2),
        "track_number": st.none() | st.integers(1, 3),
        "path": st.sampled_from(["/m/a/1.mp3", "/m/a/2.mp3", "/m/a/CD1/1.mp3", "/m/b/1.mp3"]),
    }
)


@settings(max_examples=100, deadline=None)
@given(st.lists(FACTS, max_size=12), st.randoms(use_true_random=False))
def test_every_song_is_on_one_album_whatever_the_order_and_every_id_leads_there(facts, chance):
    songs = [song(n + 1, title=str(n), **fact) for n, fact in enumerate(facts)]
    albums = AlbumIndex(songs)
    assert sorted(one.id for album in albums.albums for one in album.songs) == [one.id for one in songs]
    assert {one.id for one in albums.albums} == {one.id for artist in albums.artists for one in artist.albums}
    assert len({one.id for one in albums.albums}) == len(albums.albums)
    assert len({one.id for one in albums.artists}) == len(albums.artists)
    shuffled = AlbumIndex(chance.sample(songs, len(songs)))
    assert (shuffled.artists, shuffled.albums) == (albums.artists, albums.albums)
    for one in songs:
        album = albums.album_of(one)
        artist = albums.artist_of(one)
        assert one in album.songs
        assert one in artist.songs
        assert album in (*artist.albums, *artist.appears_on)
        assert albums.album(album.id) is album
        assert album in albums.artist(album.artist_id).albums
        assert album.name
        assert album.artist == albums.artist(album.artist_id).name != ""
    for artist in albums.artists:
        assert artist.albums or artist.appears_on
        assert len({one.id for one in artist.songs}) == len(artist.songs)
        assert not {one.id for one in artist.albums} & {one.id for one in artist.appears_on}
