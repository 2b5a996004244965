"""Skips and plays that players do not call so, over HTTP and by a client that nobody here wrote."""

import time

import pytest

from library_store import recorded_plays, store_of
from nearsong.listens.records import Action
from rest_server import connected, playing


@pytest.fixture(scope="module")
def shared(trained_file, tmp_path_factory):
    with playing(trained_file, tmp_path_factory.mktemp("served")) as client:
        yield client


@pytest.fixture
def player(shared):
    """Ask a method; nobody has told anything yet."""
    shared.service.library.play_log.clear()
    shared.service.now_playing.forget("me")
    return shared


@pytest.fixture
def clock(player, monkeypatch):
    """Move the time at which players report forward, in seconds."""
    ahead = [0.0]
    monkeypatch.setattr(player.service.now_playing, "_clock", lambda: time.time() + ahead[0])

    def go(seconds: float) -> None:
        ahead[0] += seconds

    return go


def skipped(player) -> list[str]:
    with store_of(player.service.library) as store:
        return [row.track.title for row in store.reactions.all() if row.action == Action.SKIP]


def title(player, song: int) -> str:
    return player.snapshot.song(song).title


def start(player, song: int, **asked) -> None:
    player.ask("scrobble", id=song, submission="false", **asked)


def test_a_song_that_a_player_leaves_early_is_a_skip(player, clock):
    start(player, 1)
    clock(0.5)
    start(player, 2)
    assert skipped(player) == [title(player, 1)]
    clock(1.5)  # songs here have two seconds: more than half of it
    start(player, 3)
    assert skipped(player) == [title(player, 1)]
    start(player, 4, c="another player")
    assert skipped(player) == [title(player, 1)]
    assert player.service.library.play_log.count() == 0


def test_a_song_that_the_player_called_played_is_not_skipped(player, clock):
    start(player, 1)
    player.ask("scrobble", id=1)
    clock(0.5)
    start(player, 2)
    assert skipped(player) == []


def report(player, song: int, state: str, seconds: float, **asked) -> None:
    asked = {"mediaId": song, "mediaType": "song", "state": state, "positionMs": int(1000 * seconds), **asked}
    player.ask("reportPlayback", **asked)


def test_how_far_a_song_was_played_tells_plays_and_skips(player, clock):
    report(player, 1, "starting", 0)
    report(player, 1, "playing", 0.6)
    report(player, 1, "stopped", 0.8)
    assert skipped(player) == [title(player, 1)]
    report(player, 2, "starting", 0)
    report(player, 2, "playing", 1.2)
    report(player, 2, "paused", 1.4)
    report(player, 2, "stopped", 2.0)
    assert [play.track.title for play in recorded_plays(player.service.library)] == [title(player, 2)]
    report(player, 3, "stopped", 0)  # it never sounded
    report(player, 3, "starting", 0, ignoreScrobble="true")
    report(player, 3, "stopped", 0.4, ignoreScrobble="true")
    report(player, 3, "stopped", 2, ignoreScrobble="true")
    assert skipped(player) == [title(player, 1)]
    assert player.service.library.play_log.count() == 1
    assert player.ask("getNowPlaying")["nowPlaying"]["entry"] == []


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"mediaId": 1, "positionMs": 0}, 10, "state is missing"),
        ({"mediaId": 1, "state": "playing"}, 10, "positionMs is missing"),
        ({"mediaId": 1, "state": "dancing", "positionMs": 0}, 0, "state='dancing' is unknown; use one of starting"),
        ({"mediaId": 1, "state": "playing", "positionMs": "x"}, 0, "not an integer"),
        ({"mediaId": 999, "state": "playing", "positionMs": 0}, 70, "song not found: 999"),
        (
            {"mediaId": 1, "mediaType": "podcast", "state": "playing", "positionMs": 0},
            70,
            "only songs are played here",
        ),
    ],
)
def test_a_wrong_report_says_what_is_wrong(player, asked, code, words):
    found = player.fails("reportPlayback", **asked)
    assert found[0] == code
    assert words in found[1]


def test_the_client_reports_how_far_it_plays(player):
    async def session(connection):
        await connection.report_playback("5", "song", 0, "starting")
        (entry,) = await connection.get_now_playing()
        assert entry.id == "5"
        await connection.report_playback("5", "song", 500, "stopped")

    connected(player.client.base_url.port, session, username="me", password="any")
    assert skipped(player) == [title(player, 5)]
