"""The methods that list, search and find what sounds alike, against what one would compute by hand."""

from typing import Any

import numpy as np
import pytest

import music_library
from nearsong.web.subsonic.records import timestamp
from nearsong.web.subsonic.routes.lists import ALBUM_LISTS
from rest_server import ids, playing

N_SONGS = music_library.N_ARTISTS * music_library.SONGS_EACH


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    """Ask a method; a server on a library of its own answers."""
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        yield client


# ---- lists and searches


def test_an_empty_query_gives_everything_page_by_page(player):
    for query in ("", '""', "*"):
        found: dict[str, list[str]] = {"song": [], "album": [], "artist": []}
        for page in range(0, N_SONGS, 25):
            asked = {f"{kind}{word}": value for kind in found for word, value in (("Count", 25), ("Offset", page))}
            result = player.ask("search3", query=query, **asked)["searchResult3"]
            for kind, seen in found.items():
                seen += ids(result[kind])
        albums = player.snapshot.albums
        assert sorted(found["song"]) == sorted(str(song.id) for song in player.snapshot.space.songs)
        assert found["artist"] == [artist.id for artist in albums.artists]
        assert found["album"] == [album.id for album in albums.albums]


def test_a_search_finds_beginnings_of_words_in_names(player):
    result = player.ask("search3", query="band c3", songCount=100)["searchResult3"]
    assert [one["name"] for one in result["artist"]] == ["Band C3"]
    assert [one["artist"] for one in result["album"]] == ["Band C3"]
    assert {one["artist"] for one in result["song"]} == {"Band C3"}
    folders = player.ask("search2", query="band c3", songCount=100)["searchResult2"]
    assert [ids(folders[kind]) for kind in ("artist", "album", "song")] == [
        ids(result[kind]) for kind in ("artist", "album", "song")
    ]


def test_albums_come_in_the_order_that_was_asked_for(player):
    def albums(**asked: Any) -> list[dict[str, Any]]:
        return player.ask("getAlbumList2", size=500, **asked)["albumList2"]["album"]

    everything = {album.id for album in player.snapshot.albums.albums}
    newest = [
        max((song.added, song.id) for song in player.snapshot.albums.album(one["id"]).songs)
        for one in albums(type="newest")
    ]
    assert newest == sorted(newest, reverse=True)
    assert [one["created"] for one in albums(type="newest")] == [timestamp(added) for added, _ in newest]
    artists = [one["artist"] for one in albums(type="alphabeticalByArtist")]
    assert artists == sorted(artists)
    plays = [one["playCount"] for one in albums(type="frequent")]
    assert plays == sorted(plays, reverse=True)
    assert plays[0] > 0
    years = [one["year"] for one in albums(type="byYear", fromYear=1995, toYear=1990)]
    assert years == [1995, 1994, 1993, 1992, 1991, 1990]
    assert {one["genre"] for one in albums(type="byGenre", genre="LOW hum")} == {"low hum"}
    assert set(ids(albums(type="random"))) == everything
    assert (
        ids(albums(type="random", seed=5)) == ids(albums(type="random", seed=5)) != ids(albums(type="random", seed=6))
    )
    assert albums(type="starred") == []
    code, message = player.fails("getAlbumList2", type="loudest")
    known = ", ".join(ALBUM_LISTS)
    assert (code, message) == (0, f"unknown type of album list: 'loudest'; use one of {known}.")


def test_songs_by_chance_keep_to_genre_and_years(player):
    songs = player.ask("getRandomSongs", size=500, genre="low hum", fromYear=1990, toYear=2000)["randomSongs"]["song"]
    expected = [
        str(song.id) for song in player.snapshot.space.songs if song.genre == "low hum" and 1990 <= song.year <= 2000
    ]
    assert sorted(ids(songs)) == sorted(expected)
    assert len(player.ask("getRandomSongs")["randomSongs"]["song"]) == 10


def test_songs_of_a_genre_come_page_by_page(player):
    pages = [
        player.ask("getSongsByGenre", genre="mid hiss", count=10, offset=at)["songsByGenre"]["song"]
        for at in (0, 10, 20)
    ]
    found = [song for page in pages for song in ids(page)]
    assert sorted(found) == sorted(str(song.id) for song in player.snapshot.space.songs if song.genre == "mid hiss")


def test_top_songs_are_those_played_most(player):
    songs = player.ask("getTopSongs", artist="band a3")["topSongs"]["song"]
    plays = player.snapshot.plays
    own = [song for song in player.snapshot.space.songs if song.artist == "Band A3" and plays.get(song.id)]
    assert ids(songs) == [str(song.id) for song in sorted(own, key=lambda song: -plays[song.id])]
    assert player.ask("getTopSongs", artist="Nobody")["topSongs"]["song"] == []


# ---- what sounds alike


@pytest.mark.parametrize("count", [1, 5, 60])
def test_similar_songs_are_the_nearest_in_the_learned_space(player, count):
    expected = [str(one) for one in player.nearest(7)[:count]]
    assert ids(player.ask("getSimilarSongs", id=7, count=count)["similarSongs"]["song"]) == expected
    matches = player.ask("getSonicSimilarTracks", id=7, count=count)["sonicMatch"]
    assert [match["entry"]["id"] for match in matches] == expected
    similarities = [match["similarity"] for match in matches]
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= one <= 1 for one in similarities)


def test_counts_that_are_not_given_are_those_of_the_protocol(player):
    assert len(player.ask("getSonicSimilarTracks", id=7)["sonicMatch"]) == 10
    assert len(player.ask("getSimilarSongs", id=7)["similarSongs"]["song"]) == 50
    assert len(player.ask("findSonicPath", startSongId=1, endSongId=72)["sonicMatch"]) == 25
    assert player.ask("getSonicSimilarTracks", id=7, count=0)["sonicMatch"] == []


def test_songs_like_an_artist_or_album_are_not_its_own(player):
    artist = player.snapshot.albums.artists[3]
    own = {str(song.id) for album in artist.albums for song in album.songs}
    by_artist = ids(player.ask("getSimilarSongs2", id=artist.id, count=20)["similarSongs2"]["song"])
    by_album = ids(player.ask("getSimilarSongs", id=artist.albums[0].id, count=20)["similarSongs"]["song"])
    for found in (by_artist, by_album):
        assert len(set(found)) == 20
        assert not own & set(found)


def test_a_path_leads_from_song_to_song_with_similarities_to_its_start(player):
    path = player.ask("findSonicPath", startSongId=1, endSongId=72, count=8)["sonicMatch"]
    found = [int(match["entry"]["id"]) for match in path]
    assert (found[0], found[-1], len(found), len(set(found))) == (1, 72, 8, 8)
    space = player.snapshot.space
    embeddings = np.stack([space.embeddings[space.row_of[one]] for one in found]).astype(np.float64)
    similarity = space.calibration.similarity(np.linalg.norm(embeddings - embeddings[0], axis=1))
    expected = space.calibration.closeness(similarity)
    assert [match["similarity"] for match in path] == pytest.approx(expected.tolist())
    assert path[0]["similarity"] == 1


def test_a_path_to_itself_is_one_song_and_one_of_one_song_is_refused(player):
    path = player.ask("findSonicPath", startSongId=4, endSongId=4)["sonicMatch"]
    assert [(match["entry"]["id"], match["similarity"]) for match in path] == [("4", 1.0)]
    assert "use 2 or more" in player.fails("findSonicPath", startSongId=4, endSongId=5, count=1)[1]


def test_similar_artists_are_those_of_the_nearest_songs(player):
    albums, snapshot = player.snapshot.albums, player.snapshot
    artist = albums.artists[10]
    space = snapshot.space
    own = [space.row_of[song.id] for album in artist.albums for song in album.songs]
    embeddings = space.embeddings.astype(np.float64)
    answer = player.ask("getArtistInfo2", id=artist.id, count=5)["artistInfo2"]["similarArtist"]
    assert len(answer) == 5
    assert artist.id not in ids(answer)
    nearest = min(
        (row for row in range(len(embeddings)) if row not in own),
        key=lambda row: min(np.linalg.norm(embeddings[row] - embeddings[one]) for one in own),
    )
    assert albums.album_of(space.songs[nearest]).artist_id in ids(answer)[:2]  # each seed has its own unit
    song = artist.albums[0].songs[0]
    assert ids(player.ask("getArtistInfo", id=song.id, count=5)["artistInfo"]["similarArtist"]) == ids(answer)
