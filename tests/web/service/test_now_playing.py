"""What plays now: reported by three protocols, forgotten in time, and shown to players."""

import pytest

from nearsong.library import Library
from nearsong.listens.records import TrackName
from nearsong.web.service.now_playing import DEFAULT_SECONDS, MAX_LISTENERS, MAX_SECONDS, NowPlayingBoard
from rest_server import playing

TRACK = TrackName("Ann", "One")


@pytest.mark.parametrize(
    ("seconds", "lasts"),
    [(None, DEFAULT_SECONDS), (200, 200), (0, DEFAULT_SECONDS), (-1, DEFAULT_SECONDS), (1e300, MAX_SECONDS)],
)
def test_a_track_is_forgotten_when_it_must_have_ended(seconds, lasts):
    now = 1_000.0
    board = NowPlayingBoard(clock=lambda: now)
    board.put("me", TRACK, seconds=seconds)
    now += lasts - 1
    assert board.of("me").track == TRACK
    now += 1
    assert (board.of("me"), board.all()) == (None, [])


def test_a_listener_plays_one_track_and_the_latest_listeners_are_remembered():
    board = NowPlayingBoard()
    for n in range(MAX_LISTENERS + 5):
        board.put(f"listener {n}", TRACK)
        board.put(f"listener {n}", TrackName("Ann", str(n)))
    assert len(board.all()) == MAX_LISTENERS
    assert (board.of("listener 0"), board.of("listener 5").track.title) == (None, "5")


@pytest.fixture(scope="module")
def player(trained_file, tmp_path_factory):
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        yield client


def at(player, path):
    return str(player.client.base_url.copy_with(path=path))


def now_playing(player, **asked):
    entries = player.ask("getNowPlaying", **asked)["nowPlaying"]["entry"]
    return {entry["username"]: (entry["title"], entry["minutesAgo"], entry["playerName"]) for entry in entries}


def test_players_see_what_is_reported_by_any_protocol_if_the_library_has_it(player):
    assert now_playing(player) == {}
    first, second, third = player.snapshot.space.songs[:3]
    player.ask("scrobble", id=first.id, submission="false", u="anna")
    board = player.service.now_playing
    body = {
        "artist_name": second.artist.upper(),
        "track_name": second.title,
        "additional_info": {"media_player": "VLC"},
    }
    asked = {"listen_type": "playing_now", "payload": [{"track_metadata": body}]}
    assert player.client.post(at(player, "/1/submit-listens"), json=asked).is_success
    form = {
        "method": "track.updateNowPlaying",
        "sk": "open-" + b"zoe".hex(),
        "artist": third.artist,
        "track": third.title,
    }
    assert player.client.post(at(player, "/2.0/"), data=form).is_success
    board.put("eve", TrackName("Nobody", "Nothing"))
    assert now_playing(player) == {
        "anna": (first.title, 0, "test"),
        "me": (second.title, 0, "VLC"),
        "zoe": (third.title, 0, ""),
    }
    assert player.service.library.play_log.count() == 0
    assert "<nowPlaying><entry " in player.response("getNowPlaying", f="xml").text


def test_a_heart_by_name_is_the_heart_of_the_song(player):
    song = player.snapshot.space.songs[7]
    address = at(player, "/2.0/")
    form = {"sk": "open-" + b"anna".hex(), "artist": song.artist.lower(), "track": song.title}
    assert player.client.post(address, data={**form, "method": "track.love"}).is_success
    assert list(player.service.library.reactions.of("anna").hearts) == [song.id]
    assert player.client.post(address, data={**form, "method": "track.unlove"}).is_success
    assert not player.service.library.reactions.of("anna").hearts


def test_a_play_by_name_makes_its_album_recent(player):
    song = player.snapshot.space.songs[11]
    album = player.snapshot.albums.album_of(song)
    player.service.library.play_log.record_named([(TrackName(song.artist, song.title), None)], "recent")
    listed = player.ask("getAlbumList2", type="recent", u="recent")["albumList2"]["album"]
    assert [one["id"] for one in listed] == [album.id]


def test_only_an_admin_sees_what_others_play(trained_file, tmp_path):
    address = tmp_path / "own.sqlite"
    address.write_bytes(trained_file.read_bytes())
    with Library.open(address) as library:
        tokens = {name: library.accounts.add(name, is_admin=name == "Anna") for name in ("Anna", "Ben")}
    with playing(address, tmp_path) as client:
        song = client.snapshot.space.songs[0]
        for token in tokens.values():
            client.client.get("scrobble", params={"apiKey": token, "id": song.id, "submission": "false"})
        found = {}
        for name, token in tokens.items():
            answer = client.client.get("getNowPlaying", params={"apiKey": token, "f": "json"}).json()
            found[name] = {entry["username"] for entry in answer["subsonic-response"]["nowPlaying"]["entry"]}
        assert found == {"Anna": {"Anna", "Ben"}, "Ben": {"Ben"}}


SONG = {"seconds": 200.0, "player": "phone"}


def test_what_a_player_leaves_for_another_track_is_told_and_whether_it_was_early():
    now = 1_000.0
    board = NowPlayingBoard(clock=lambda: now)
    other = TrackName("Ann", "Two")
    assert board.put("me", TRACK, song_id=1, **SONG) is None
    now += 20
    assert board.put("me", TRACK, song_id=1, **SONG) is None  # again after a pause: it began when it began
    now += 9
    left = board.put("me", other, song_id=2, **SONG)
    assert (left.song_id, left.since, left.is_skipped_at(now), left.is_skipped_at(now + 1)) == (1, 1_000, True, False)
    now += 10
    assert not board.note_play("me", {7})
    assert not board.note_play("me", {2, 3})
    assert board.note_play("me", {2})
    left = board.put("me", TRACK, song_id=1, **SONG)
    assert (left.song_id, left.is_skipped_at(now)) == (2, False)  # the player called it played
    assert board.put("me", other, song_id=2, seconds=200.0, player="tablet") is None  # the phone may go on
    assert board.put("me", TRACK, song_id=1, seconds=200.0, player="tablet", position=40).is_skipped_at(now)
    assert not board.put("me", other, song_id=2, seconds=200.0, player="tablet").is_skipped_at(now)
    now += 500
    assert board.put("me", TRACK, song_id=1, seconds=200.0, player="tablet") is None  # it had ended
