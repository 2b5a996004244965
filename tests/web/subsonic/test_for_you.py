"""What is made for each user of a player: "For you", a radio, and mixes that leave out what was skipped."""

import time

import pytest
from libopensonic.errors import SonicError

from nearsong.library import Heard
from rest_server import connected, ids, playing

PLAYED = (1, 7)


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    """A service in which Anna has played two songs, the second last."""
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        for song, ago in zip(PLAYED, (60, 30), strict=True):
            client.service.library.play_log.record(song, "anna", time.time() - 60 * ago)
        yield client


def listed(player, user: str) -> dict[str, dict]:
    return {one["id"]: one for one in player.ask("getPlaylists", u=user)["playlists"]["playlist"]}


def test_each_user_has_a_playlist_of_songs_for_them_and_a_radio_from_the_last_song(player):
    snapshot = player.service.snapshot
    expected = [str(one.song.id) for one in snapshot.for_you("anna", 50).songs]
    assert [*listed(player, "anna")][:2] == ["pl-for-you", "pl-radio"]
    for_you = player.ask("getPlaylist", id="pl-for-you", u="anna")["playlist"]
    assert (for_you["name"], for_you["owner"], for_you["readonly"]) == ("For you", "anna", True)
    assert ids(for_you["entry"]) == expected
    assert for_you["songCount"] == len(expected) == listed(player, "anna")["pl-for-you"]["songCount"]
    last = snapshot.song(PLAYED[1])
    following = snapshot.radio([last], [Heard(song=last)], 50, listener="anna")
    made = player.ask("getPlaylist", id="pl-radio", u="anna")["playlist"]
    assert made["name"] == f"Radio: {last.title}"
    assert ids(made["entry"]) == [str(one.song.id) for one in following]


def test_who_has_played_nothing_has_no_such_playlist(player):
    assert listed(player, "zoe") == {}
    assert player.fails("getPlaylist", id="pl-for-you", u="zoe")[0] == 70


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("deletePlaylist", {"id": "pl-for-you"}),
        ("updatePlaylist", {"playlistId": "pl-radio", "name": "Mine"}),
        ("createPlaylist", {"playlistId": "pl-for-you", "songId": 3}),
    ],
)
def test_what_is_made_for_a_user_cannot_be_changed(player, method, asked):
    code, words = player.fails(method, u="anna", **asked)
    assert code == 50
    assert "cannot be changed; save a copy" in words


def test_the_mix_of_an_artist_is_a_radio_without_what_the_user_skipped(player):
    snapshot = player.service.snapshot
    album = snapshot.albums.album_of(snapshot.song(9))
    mix = [
        int(song)
        for song in ids(player.ask("getSimilarSongs2", id=album.artist_id, u="ben")["similarSongs2"]["song"])
    ]
    seeds = [song.id for song in album.songs]
    assert mix == [one.song.id for one in snapshot.radio(seeds, n=50, listener="ben")]
    player.service.library.reactions.skip(mix[0], "ben")
    player.service.library.reactions.skip(mix[0], "ben", time.time() - 600)
    asked = {"id": album.artist_id, "u": "ben", "count": 60}
    later = ids(player.ask("getSimilarSongs2", **asked)["similarSongs2"]["song"])
    assert str(mix[0]) not in later[:50]
    assert len(later) == len(set(later)) == 60


def test_the_client_lists_and_plays_what_is_made_for_its_user(player):
    async def session(connection):
        names = {one.id: one.name for one in await connection.get_playlists()}
        assert names["pl-for-you"] == "For you"
        found = await connection.get_playlist("pl-for-you")
        assert len(found.entry) == found.song_count > 10
        with pytest.raises(SonicError, match="cannot be changed"):
            await connection.delete_playlist("pl-for-you")

    connected(player.client.base_url.port, session, username="anna", password="any")
