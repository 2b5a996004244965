"""A client that nobody here wrote, py-opensonic, uses a real server: find, play, similar songs, paths, playlists."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponseError
from libopensonic import AsyncConnection, Extensions
from libopensonic.errors import CredentialError, DataNotFoundError, SonicError
from PIL import Image

from library_store import recorded_plays
from nearsong.library import Library
from rest_server import connected, serving

TOKEN = "correct-horse-battery-staple-4242"


@pytest.fixture(scope="module")
def own_server(trained_file, tmp_path_factory):
    """A service with a token, on a library of its own, and its port."""
    address = tmp_path_factory.mktemp("served") / "library.sqlite"
    address.write_bytes(trained_file.read_bytes())
    with Library.open(address) as library, serving(library, TOKEN) as pair:
        yield pair


@pytest.fixture
def play(own_server):
    """Run something with a connection to the service."""

    def run(session: Callable[[AsyncConnection], Awaitable[Any]], **options: Any) -> Any:
        return connected(own_server[1], session, **(options or {"username": "anyone", "password": TOKEN}))

    return run


WAYS = [
    {"username": "anyone", "password": TOKEN},
    {"username": "anyone", "password": TOKEN, "use_get": True},
    {"username": "anyone", "password": TOKEN, "legacy_auth": True},
    {"username": "anyone", "password": TOKEN, "use_views": False},
    {"api_key": TOKEN},
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_the_client_can_log_in_works(play, way):
    assert play(lambda connection: connection.ping(), **way) is True


@pytest.mark.parametrize(
    ("way", "error", "words"),
    [
        ({"username": "anyone", "password": "wrong"}, CredentialError, "wrong user name or password"),
        ({"username": "anyone", "password": "wrong", "legacy_auth": True}, CredentialError, "wrong user name"),
        ({"api_key": "wrong"}, SonicError, "API key"),
    ],
)
def test_a_wrong_password_is_the_clients_own_error(play, way, error, words):
    with pytest.raises(error, match=words):
        play(lambda connection: connection.ping(), **way)


def test_the_client_learns_what_the_service_can(play):
    async def session(connection):
        extensions = {one.name for one in await connection.get_open_subsonic_extensions()}
        ours = {Extensions.SONIC_SIMILARITY, Extensions.FORM_POST, Extensions.API_KEY_AUTHENTICATION}
        assert extensions == ours | {
            Extensions.INDEX_BASED_QUEUE,
            Extensions.PLAYBACK_REPORT,
            Extensions.SONG_LYRICS,
            Extensions.TRANSCODE_OFFSET,
        }
        user = await connection.get_user("anyone")
        assert (user.username, user.stream_role, user.playlist_role, user.admin_role) == ("anyone", True, True, False)
        assert (await connection.get_license())["license"]["valid"] is True

    play(session)
    assert play(lambda connection: connection.token_info(), api_key=TOKEN).username == "nearsong"


def test_the_client_browses_from_artists_to_songs(play, own_server):
    async def session(connection):
        artists = [artist for index in (await connection.get_artists()).index for artist in index.artist]
        assert [artist.id for artist in artists] == [artist.id for artist in own_server[0].snapshot.albums.artists]
        artist = await connection.get_artist(artists[5].id)
        album = await connection.get_album(artist.album[0].id)
        song = await connection.get_song(album.song[0].id)
        assert (song.artist_id, song.album_id, song.title) == (artist.id, album.id, album.song[0].title)
        folders = await connection.get_indexes()
        inside = await connection.get_music_directory(folders.index[0].artist[0].id)
        assert inside.child[0].is_dir
        assert len(await connection.get_album_list2("newest", size=7)) == 7
        assert len(await connection.get_album_list("frequent", size=7)) == 7
        assert {genre.value for genre in await connection.get_genres()} == {"low hum", "mid hiss", "high pulses"}
        assert len(await connection.get_random_songs(size=4)) == 4
        info = await connection.get_artist_info2(artist.id, count=3)
        assert len(info.similar_artist) == 3
        assert await connection.get_top_songs(artist.name)
        assert not (await connection.get_starred2()).song

    play(session)


def test_the_client_searches_and_syncs_everything(play, own_server):
    async def session(connection):
        found = await connection.search3("band d1 song 31")
        assert [song.title for song in found.song] == ["Song 310", "Song 311"]
        everything = await connection.search3("", artist_count=500, album_count=500, song_count=500)
        songs = own_server[0].snapshot.space.songs
        assert {song.id for song in everything.song} == {str(song.id) for song in songs}
        assert len(everything.artist) == len(everything.album) == 36
        assert (await connection.search2("band a1")).artist[0].name == "Band A1"

    play(session)


def test_the_client_gets_similar_songs_of_the_learned_model(play, own_server):
    snapshot = own_server[0].snapshot
    expected = [str(near.song.id) for near in snapshot.similar([snapshot.seed(9)], n=12)]
    artist = snapshot.albums.album_of(snapshot.song(9)).artist_id

    async def session(connection):
        assert [song.id for song in await connection.get_similar_songs("9", count=12)] == expected
        near = await connection.get_similar_songs2(artist, count=12)
        assert len(near) == 12
        assert artist not in {song.artist_id for song in near}
        matches = await connection.get_sonic_similar_tracks("9", count=12)
        assert [match.entry.id for match in matches] == expected
        assert [match.similarity for match in matches] == sorted((m.similarity for m in matches), reverse=True)
        path = await connection.find_sonic_path("9", "60", count=6)
        assert [path[0].entry.id, path[-1].entry.id, len(path)] == ["9", "60", 6]
        assert path[0].similarity == 1.0
        assert all(0 <= match.similarity < 1 for match in path[1:])

    assert snapshot.model.kind == "learned"
    play(session)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_the_client_streams_is_the_file(play, own_server, number):
    song = own_server[0].snapshot.song(number)
    data = Path(song.path).read_bytes()

    async def session(connection):
        for way in (connection.stream(str(number)), connection.stream(str(number), max_bit_rate=64, tformat="raw")):
            response = await way
            assert await response.read() == data
            assert response.headers["Content-Length"] == str(len(data))
            assert response.headers["Content-Type"].startswith("audio/")
        part = await connection.stream(str(number), byte_range="bytes=1000-1999")
        assert (part.status, await part.read()) == (206, data[1000:2000])
        assert await (await connection.download(str(number))).read() == data
        small = await connection.stream(str(number), max_bit_rate=64, tformat="mp3")
        assert small.headers["Content-Type"] == "audio/mpeg"
        assert len(await small.read()) == int(small.headers["Content-Length"]) < 64_000 / 8 * 3
        with pytest.raises(DataNotFoundError, match="song not found: 999"):
            await connection.stream("999")

    play(session)


def test_the_client_gets_a_cover_in_the_size_it_asks_for(play, own_server, tmp_path):
    snapshot = own_server[0].snapshot
    song = snapshot.song(5)
    cover = Path(song.path).parent / "cover.png"
    Image.new("RGB", (900, 900), (200, 30, 60)).save(cover)
    try:

        async def session(connection):
            album = snapshot.albums.album_of(song)
            for wanted in (str(song.id), album.id, album.artist_id):
                response = await connection.get_cover_art(wanted, size=100)
                assert response.headers["Content-Type"].startswith("image/")
                (tmp_path / "cover").write_bytes(await response.read())
                with Image.open(tmp_path / "cover") as picture:
                    assert picture.size == (128, 128)
            drawn = await connection.get_cover_art("20", size=100)
            (tmp_path / "drawn").write_bytes(await drawn.read())
            with Image.open(tmp_path / "drawn") as picture:
                assert (picture.format, picture.size) == ("JPEG", (128, 128))

        play(session)
    finally:
        cover.unlink()


def test_the_client_keeps_changes_and_deletes_a_playlist(play, own_server):
    async def session(connection):
        assert await connection.get_playlists() == []
        await connection.create_playlist(name="Évening <mix> & more", song_ids=["3", "1", "2"])
        (saved,) = await connection.get_playlists()
        assert (saved.name, saved.song_count, saved.id) == ("Évening <mix> & more", 3, "pl-1")
        await connection.update_playlist(
            saved.id, name="Morning", song_ids_to_add=["9"], song_indices_to_remove=[0, 2]
        )
        complete = await connection.get_playlist(saved.id)
        assert (complete.name, [song.id for song in complete.entry]) == ("Morning", ["1", "9"])
        assert [one.songs for one in own_server[0].library.playlists.list()] == [(1, 9)]
        with pytest.MonkeyPatch.context() as patch:  # the file of a song is not there for a while
            patch.delitem(own_server[0].snapshot.space.row_of, 9)
            await connection.create_playlist(playlist_id=saved.id, song_ids=["4", "1"])
        assert own_server[0].library.playlists.get(1).songs == (4, 1, 9)
        await connection.create_playlist(playlist_id=saved.id, song_ids=["4"])
        complete = await connection.get_playlist(saved.id)
        assert (complete.name, [song.id for song in complete.entry]) == ("Morning", ["4"])
        with pytest.raises(DataNotFoundError, match="song not found: 999"):
            await connection.update_playlist(saved.id, song_ids_to_add=["999"])
        with pytest.raises(SonicError, match="songIndexToRemove=1 is not one of the 1 songs"):
            await connection.update_playlist(saved.id, song_indices_to_remove=[1])
        await connection.delete_playlist(saved.id)
        with pytest.raises(DataNotFoundError, match="playlist not found: 1;"):
            await connection.get_playlist(saved.id)
        assert await connection.get_playlists() == []

    play(session)


def test_the_client_sees_scans_and_reports_what_it_plays(play, own_server):
    library = own_server[0].library
    library.play_log.clear()

    async def session(connection):
        status = await connection.get_scan_status()
        assert (status.scanning, status.count) == (False, 72)
        assert await connection.scrobble("3", submission=True) is True
        assert await connection.scrobble("4", submission=False) is True
        assert await connection.scrobble("5", submission=True, listen_time=1_700_000_000) is True
        (playing,) = await connection.get_now_playing()
        assert (playing.id, playing.username, playing.minutes_ago) == ("4", "anyone", 0)

    play(session)
    library.play_log.update_history()
    assert [source.rows for source in library.listens() if source.format == "played"] == [2]
    assert [(play.listener, play.track.title) for play in recorded_plays(library)] == [
        ("anyone", library.find(song).title) for song in (3, 5)
    ]


def test_what_is_not_supported_is_not_found(play):
    with pytest.raises(ClientResponseError, match="404"):
        play(lambda connection: connection.get_chat_messages())
