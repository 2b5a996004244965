"""Stars, ratings and queues of each user, over HTTP as a player asks and by a client that nobody here wrote."""

import xml.etree.ElementTree as ET

import pytest
from libopensonic.errors import DataNotFoundError

from nearsong.library import MAX_PLAYS_PER_REQUEST
from nearsong.listens.records import Action
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.subsonic.envelope import NAMESPACE
from rest_server import connected, ids, playing


@pytest.fixture(scope="module")
def shared(trained_file, tmp_path_factory):
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        yield client


@pytest.fixture
def player(shared):
    """Ask a method; nobody has told anything yet."""
    shared.service.library.play_log.clear()
    return shared


def starred(player, **asked) -> dict[str, list[str]]:
    answer = player.ask("getStarred2", **asked)["starred2"]
    return {kind: ids(records) for kind, records in answer.items()}


def test_stars_of_songs_albums_and_artists_are_shown_to_who_gave_them(player):
    album = player.snapshot.albums.albums[3]
    artist = player.snapshot.albums.artists[5]
    player.ask("star", id=[3, 7], albumId=album.id, artistId=artist.id)
    assert starred(player) == {"artist": [artist.id], "album": [album.id], "song": ["7", "3"]}
    assert starred(player, u="anna") == {"artist": [], "album": [], "song": []}
    song = player.ask("getSong", id=3)["song"]
    assert song["starred"].endswith("Z")
    assert "starred" in player.ask("getAlbum", id=album.id)["album"]
    assert "starred" in player.ask("getArtist", id=artist.id)["artist"]
    assert "starred" in player.ask("getMusicDirectory", id=album.artist_id)["directory"]["child"][0]
    assert "starred" not in player.ask("getSong", id=3, u="anna")["song"]
    player.ask("unstar", id=[3, artist.id], albumId=album.id)
    assert starred(player) == {"artist": [], "album": [], "song": ["7"]}
    player.ask("unstar", id=3)  # a second time is no error


def test_players_that_browse_by_folder_send_any_id_as_id(player):
    album = player.snapshot.albums.albums[0]
    player.ask("star", id=[1, album.id, album.artist_id])
    answer = player.ask("getStarred")["starred"]
    assert {kind: ids(records) for kind, records in answer.items()} == {
        "artist": [album.artist_id],
        "album": [album.id],
        "song": ["1"],
    }
    assert answer["album"][0]["isDir"] is True


@pytest.mark.parametrize("method", ["star", "unstar"])
@pytest.mark.parametrize(
    "asked", [{"id": [1, 999]}, {"id": "al-0"}, {"artistId": "ar-0"}, {"id": "pl-1"}, {"id": -1}]
)
def test_an_unknown_id_is_not_found_and_then_nothing_changes(player, method, asked):
    player.ask("star", id=2)
    assert player.fails(method, **asked)[0] == 70
    assert starred(player)["song"] == ["2"]


def test_a_star_for_nothing_is_a_missing_parameter(player):
    assert player.fails("star") == (10, "the parameter id is missing; send id, albumId or artistId.")
    assert player.fails("setRating", id=1) == (10, "the parameter rating is missing.")


def test_ratings_are_shown_and_zero_removes_them(player):
    album = player.snapshot.albums.albums[0]
    for item, stars in ((5, 2), (5, 4), (album.id, 5), (album.artist_id, 1)):
        player.ask("setRating", id=item, rating=stars)
    assert player.ask("getSong", id=5)["song"]["userRating"] == 4
    assert player.ask("getAlbum", id=album.id)["album"]["userRating"] == 5
    assert player.ask("getArtist", id=album.artist_id)["artist"]["userRating"] == 1
    player.ask("setRating", id=5, rating=0)
    player.ask("setRating", id=5, rating=0)
    assert "userRating" not in player.ask("getSong", id=5)["song"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"id": 1, "rating": 6}, 10),
        ({"id": 1, "rating": -1}, 10),
        ({"id": 1, "rating": "five"}, 0),
        ({"id": 999, "rating": 3}, 70),
        ({"id": 999, "rating": 0}, 70),
        ({"id": "al-0", "rating": 3}, 70),
    ],
)
def test_a_rating_that_cannot_be_is_refused(player, asked, code):
    assert player.fails("setRating", **asked)[0] == code
    assert player.service.library.reactions.of("me").ratings == {}


def test_in_xml_the_marks_are_attributes(player):
    player.ask("star", id=3)
    player.ask("setRating", id=3, rating=5)
    root = ET.fromstring(player.response("getStarred2", f="xml").text)
    song = root.find(f"{{{NAMESPACE}}}starred2/{{{NAMESPACE}}}song")
    assert (song.get("id"), song.get("userRating"), song.get("starred")[-1]) == ("3", "5", "Z")


def test_lists_of_albums_follow_stars_ratings_and_plays(player):
    albums = player.snapshot.albums.albums

    def listed(kind: str, **asked) -> list[str]:
        return ids(player.ask("getAlbumList2", type=kind, **asked)["albumList2"]["album"])

    assert listed("starred") == listed("highest") == listed("recent") == []
    player.ask("star", albumId=[albums[4].id, albums[2].id])
    assert listed("starred") == [albums[2].id, albums[4].id]
    player.ask("setRating", id=albums[1].songs[0].id, rating=4)
    player.ask("setRating", id=albums[1].songs[1].id, rating=1)
    player.ask("setRating", id=albums[6].songs[0].id, rating=3)
    player.ask("setRating", id=albums[7].songs[0].id, rating=1)
    player.ask("setRating", id=albums[7].id, rating=5)  # the album's own counts
    assert listed("highest") == [albums[7].id, albums[6].id, albums[1].id]
    noon = 1_700_000_000_000
    for number, at in ((9, 0), (8, 500_000), (9, 900_000)):
        player.ask("scrobble", id=albums[number].songs[0].id, time=noon + at)
    assert listed("recent") == [albums[9].id, albums[8].id]
    assert listed("recent", size=1, offset=1) == [albums[8].id]
    assert listed("recent", u="anna") == []


def test_the_history_has_the_stars_and_ratings_of_songs(player):
    player.ask("star", id=[3, 4], artistId=player.snapshot.albums.artists[0].id)
    player.ask("setRating", id=3, rating=2)
    counts = player.service.library.play_log.counts()
    assert counts == {Action.LISTEN: 0, Action.HEART: 2, Action.RATING: 1}


def test_any_user_name_may_read_and_only_one_that_can_be_shown_may_write(player):
    assert starred(player, u="x" * 500)["song"] == []
    assert "a listener's name needs 1 to 200 characters" in player.fails("star", u="x" * 500, id=1)[1]
    assert player.ask("getSong", id=1, u="\u202e")["song"]["id"] == "1"


def test_too_many_stars_at_a_time_or_in_a_minute_are_refused(player, monkeypatch):
    many = {"u": "me", "p": "", "f": "json", "id": [1] * (MAX_PLAYS_PER_REQUEST + 1)}
    answer = player.client.post("star", data=many).json()["subsonic-response"]
    assert "send at most 1,000 at a time" in answer["error"]["message"]
    monkeypatch.setattr(player.service, "play_limit", RateLimit(2, per=60))
    player.ask("star", id=[1, 2])
    assert player.response("star", id=3).status_code == 429


def test_a_service_that_records_nothing_refuses_stars(make_client):
    client = make_client(plays=False)
    for method, asked in (("star", {"id": 1}), ("unstar", {"id": 1}), ("setRating", {"id": 1, "rating": 2})):
        answer = client.get(f"/rest/{method}", params={"u": "me", "f": "json", **asked}).json()
        assert answer["subsonic-response"]["error"]["code"] == 50


# ---- queues


def test_a_queue_is_saved_for_each_user_and_removed_without_songs(player):
    nothing = {"username": "me", "changed": "1970-01-01T00:00:00.000Z", "changedBy": "", "position": 0, "entry": []}
    assert player.ask("getPlayQueue")["playQueue"] == nothing
    assert player.ask("getPlayQueueByIndex")["playQueueByIndex"] == nothing
    player.ask("savePlayQueue", id=[3, 5, 3], current=5, position=61_500, c="Phone")
    player.ask("savePlayQueue", id=[7], u="anna")
    queue = player.ask("getPlayQueue")["playQueue"]
    assert (ids(queue["entry"]), queue["current"], queue["position"]) == (["3", "5", "3"], "5", 61_500)
    assert (queue["username"], queue["changedBy"], queue["changed"][-1]) == ("me", "Phone", "Z")
    assert player.ask("getPlayQueueByIndex")["playQueueByIndex"]["currentIndex"] == 1
    player.ask("savePlayQueueByIndex", id=[3, 5, 3], currentIndex=2)
    assert player.ask("getPlayQueueByIndex")["playQueueByIndex"]["currentIndex"] == 2
    assert player.ask("getPlayQueue", u="anna")["playQueue"]["current"] == "7"
    root = ET.fromstring(player.response("getPlayQueue", f="xml").text)
    assert len(root.findall(f"{{{NAMESPACE}}}playQueue/{{{NAMESPACE}}}entry")) == 3
    for user in ("me", "anna"):
        player.ask("savePlayQueue", u=user)
        assert player.ask("getPlayQueue", u=user)["playQueue"]["entry"] == []


@pytest.mark.parametrize(
    ("method", "asked", "code"),
    [
        ("savePlayQueue", {"id": [1, 999], "current": 1}, 70),
        ("savePlayQueue", {"id": [1, 2], "current": 3}, 10),
        ("savePlayQueue", {"id": "al-0"}, 70),
        ("savePlayQueueByIndex", {"id": [1, 2]}, 10),
        ("savePlayQueueByIndex", {"id": [1, 2], "currentIndex": 2}, 10),
        ("savePlayQueueByIndex", {"id": [1, 2], "currentIndex": -1}, 10),
    ],
)
def test_a_queue_that_cannot_be_is_refused(player, method, asked, code):
    assert player.fails(method, **asked)[0] == code
    nothing = {"username": "me", "changed": "1970-01-01T00:00:00.000Z", "changedBy": "", "position": 0, "entry": []}
    assert player.ask("getPlayQueue")["playQueue"] == nothing
    assert player.ask("getPlayQueueByIndex")["playQueueByIndex"] == nothing


def test_songs_whose_files_are_gone_leave_the_queue(player, monkeypatch):
    player.ask("savePlayQueue", id=[3, 5, 7], current=5, position=900)
    monkeypatch.delitem(player.snapshot.space.row_of, 5)
    queue = player.ask("getPlayQueue")["playQueue"]
    assert (ids(queue["entry"]), queue["current"], queue["position"]) == (["3", "7"], "7", 0)
    player.ask("savePlayQueue")


# ---- a client


def test_the_client_stars_rates_and_goes_on_with_its_queue(player):
    album = player.snapshot.albums.albums[2]

    async def session(connection):
        await connection.star(sids=["3", "9"], album_ids=[album.id], artist_ids=[album.artist_id])
        await connection.set_rating("3", 4)
        found = await connection.get_starred2()
        assert [song.id for song in found.song] == ["9", "3"]
        assert ([one.id for one in found.album], [one.id for one in found.artist]) == ([album.id], [album.artist_id])
        song = await connection.get_song("3")
        assert (song.user_rating, bool(song.starred)) == (4, True)
        assert [one.id for one in await connection.get_album_list2("starred")] == [album.id]
        await connection.unstar(sids=["9"], album_ids=[album.id])
        assert [song.id for song in (await connection.get_starred()).song] == ["3"]
        await connection.save_play_queue(["3", "9"], current="9", position=1500)
        queue = await connection.get_play_queue()
        assert ([song.id for song in queue.entry], queue.current, queue.position) == (["3", "9"], "9", 1500)
        with pytest.raises(DataNotFoundError, match="song not found: 999"):
            await connection.star(sids=["999"])
        assert await connection.set_rating("3", 0) is True
        assert (await connection.get_song("3")).user_rating is None

    port = player.client.base_url.port
    connected(port, session, username="anyone", password="x")
    assert list(player.service.library.reactions.of("anyone").hearts) == [album.artist_id, 3]
