"""Plays by name: stored as they are reported, matched with songs now or later, and each counted once."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from nearsong.audio.tags import Tags
from nearsong.errors import InvalidInputError
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.recorded.plays import MAX_PLAYS_PER_REQUEST, SAME_PLAY_SECONDS, PlayLog
from nearsong.library.store import ScannedFile, Store
from nearsong.listens.records import TrackName
from nearsong.names import MAX_TEXT_LENGTH, clean_text
from recorded_plays import NOON, gathered, put

MBID = "b1a9c0e9-d987-4042-ae91-78d6a3267d69"


def test_a_play_by_name_counts_for_the_song_that_is_there(store, play_log):
    (song,) = put(store, "Björk - Jóga")
    assert play_log.record_named([(TrackName("BJORK", "Joga (Remastered)"), NOON)], "anna") == 1
    play_log.update_history()
    assert gathered(store) == [("anna", "Joga (Remastered)", NOON)]
    histories = Histories(store)
    assert histories.song_plays() == {song: 1.0}
    assert (histories.last_played("anna"), histories.last_played("me")) == ({song: NOON}, {})


def test_a_play_by_name_counts_for_a_song_that_arrives_later(store, play_log):
    assert play_log.record_named([(TrackName("Ann", "One"), NOON), (TrackName("Bob", "Two", MBID), NOON + 300)]) == 2
    play_log.update_history()
    assert (Histories(store).song_plays(), Histories(store).last_played("me")) == ({}, {})
    (first,) = put(store, "Ann - One")
    with store.writing() as connection:
        tags = Tags("Somebody", "Else", recording_mbid=MBID.upper())
        second = store.songs.put(connection, ScannedFile("/two.mp3", 10, 20, "two", tags))
    assert not play_log.update_history()
    assert Histories(store).song_plays() == {first: 1.0, second: 1.0}
    assert Histories(store).last_played("me") == {first: NOON, second: NOON + 300}


def test_last_played_is_the_latest_play_of_each_song_by_id_or_name(store, play_log):
    first, second = put(store, "Ann - One", "Bob - Two")
    play_log.record_all([(first, NOON), (first, NOON + 500), (second, NOON + 100)])
    play_log.record(second, "anna", NOON + 900)
    assert Histories(store).last_played("me") == {first: NOON + 500, second: NOON + 100}
    play_log.record_named([(TrackName("Ann", "One"), NOON + 200), (TrackName("Bob", "Two"), NOON + 700)])
    assert Histories(store).last_played("me") == {first: NOON + 500, second: NOON + 700}


@pytest.mark.parametrize(
    ("told", "again"),
    [
        (TrackName("Ann feat. Bob", "One"), TrackName("ann", "One (2009 Remaster)")),
        (TrackName("Ann", "One", MBID), TrackName("Anne", "Uno", MBID.upper())),
        (TrackName("Ann", "One", MBID), TrackName("Ann", "One")),
        (TrackName("!!!", "???"), TrackName("!!!", "???")),
    ],
)
def test_one_play_under_two_names_counts_once(play_log, told, again):
    assert play_log.record_named([(told, NOON)]) == 1
    assert play_log.record_named([(again, NOON + SAME_PLAY_SECONDS), (again, NOON - SAME_PLAY_SECONDS)]) == 0
    assert play_log.record_named([(again, NOON)], "anna") == 1
    assert play_log.record_named([(again, NOON + SAME_PLAY_SECONDS + 1)]) == 1


def test_one_play_by_id_and_by_name_counts_once_whichever_comes_first(store, play_log):
    first, copy = put(store, "Ann - One", "Ann - One (Mono)")
    assert play_log.record(first, "me", NOON)
    assert play_log.record_named([(TrackName("ann", "one"), NOON + 10)]) == 0
    assert play_log.record_named([(TrackName("ann", "one"), NOON + 1000)]) == 1
    assert not play_log.record(first, "me", NOON + 990)
    assert play_log.record(copy, "me", NOON), "another song, whatever it is called"
    assert play_log.count() == 3


rows = st.tuples(st.sampled_from(["me", "you"]), st.integers(0, 2), st.booleans(), st.integers(0, 100))


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    with contextlib.closing(Store(tmp_path_factory.mktemp("plays"))) as opened:
        put(opened, *(f"Band - Song {n}" for n in range(3)))
        yield opened


@given(st.lists(st.lists(rows, max_size=6), max_size=4))
def test_however_plays_are_reported_each_is_stored_as_the_slow_way_says(one_store, requests):
    log = PlayLog(one_store)
    log.clear()
    stored: list[tuple[str, int, int]] = []
    for request in requests:
        for who in ("me", "you"):
            for by_name in (True, False):
                part = [(n, NOON + at) for name, n, named, at in request if (name, named) == (who, by_name)]
                new = 0
                for n, at in part:
                    if not any((who, n) == (w, m) and abs(at - t) <= SAME_PLAY_SECONDS for w, m, t in stored):
                        stored.append((who, n, at))
                        new += 1
                if by_name:
                    assert log.record_named([(TrackName("BAND", f"song {n}"), at) for n, at in part], who) == new
                else:
                    assert log.record_all([(n + 1, at) for n, at in part], who) == new
    assert log.count() == len(stored)
    for who in ("me", "you"):
        own = sorted((at for name, _, at in stored if name == who), reverse=True)
        assert log.count_of(who) == len(own)
        assert [play.time for play in log.latest(who, 100)] == own
        assert [play.time for play in log.latest(who, 3, before=NOON + 50)] == [t for t in own if t < NOON + 50][:3]
        later = [t for t in own if t > NOON + 50]
        assert [play.time for play in log.latest(who, 3, after=NOON + 50)] == later[-3:]


def test_of_several_the_valid_ones_are_stored(play_log):
    played = [
        (TrackName("", "One"), NOON),
        (TrackName("Ann", "\u200b\x00"), NOON),
        (TrackName("Ann", "One"), 5),
        (TrackName("Ann", "One"), NOON),
    ]
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="a play has no artist; send the names of artist and title"):
            play_log.record_named(played)
    assert play_log.count() == 1
    with pytest.raises(InvalidInputError, match="1,001 plays in one request"):
        play_log.record_named([played[-1]] * (MAX_PLAYS_PER_REQUEST + 1))


@pytest.mark.parametrize("text", ["a\x00b\x1b[31m\n", "\ud800x", "x" * 100_000, "\u202eevil", "e\u0301" * 600])
def test_names_are_stored_in_one_line_of_bounded_length_that_still_matches(store, play_log, text):
    play_log.record_named([(TrackName(text, text, "no mbid", "'; DROP TABLE plays"), NOON)])
    (play,) = play_log.latest("me")
    assert play.track.recording_mbid == play.track.artist_mbid == ""
    for name in (play.track.artist, play.track.title):
        assert 0 < len(name) <= MAX_TEXT_LENGTH
        assert not set(name) & set("\x00\x1b\n\ud800")
    assert play.track.artist == clean_text(text), "as tags are, so that both match"


def test_a_thousand_plays_of_a_busy_listener_are_compared_in_a_few_queries(store, play_log):
    start = int(time.time()) - 20_000 * 240
    tracks = [TrackName(f"Band {n % 97}", f"Song {n % 997}") for n in range(20_000)]
    for first in range(0, len(tracks), 1_000):
        play_log.record_named([(tracks[n], start + 240 * n) for n in range(first, first + 1_000)])
    commands = []
    engine = store.plays._database._engine
    event.listen(engine, "before_cursor_execute", lambda _c, _cu, text, *_: commands.append(text))
    again = [(tracks[n], start + 240 * n + 7) for n in range(10_000, 11_000)]
    assert play_log.record_named(again) == 0
    assert len(commands) < 10
