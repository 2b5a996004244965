"""What is played through the service is stored, and is a listening history like any other."""

import contextlib
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import music_library
from nearsong.errors import InvalidInputError, NoSuchSongError
from nearsong.library import TrainingSettings
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.recorded.plays import (
    HISTORY_NAME,
    MAX_PLAYS_PER_REQUEST,
    SAME_PLAY_SECONDS,
    PlayLog,
)
from nearsong.library.status import status_of
from nearsong.library.store import Store
from nearsong.library.training.coverage.minimum_data import MIN_PLAYS_TO_TRAIN
from nearsong.library.training.train import rejection_state
from recorded_plays import NOON, gathered, put


def test_plays_become_one_history_of_events(store, play_log):
    first, second = put(store, "Ann - One", "Bob - Two")
    assert play_log.record(first, "me", NOON)
    assert play_log.record(second, " the  kitchen\0 ", NOON + 7.9)
    assert (play_log.count(), play_log.pending(), store.listens.histories()) == (2, 2, [])
    assert play_log.update_history()
    (source,) = store.listens.histories()
    assert (source.name, source.format, source.kind, source.rows) == (HISTORY_NAME, "played", "events", 2)
    assert gathered(store) == [("me", "One", NOON), ("the kitchen", "Two", NOON + 7)]
    assert play_log.pending() == 0
    assert store.listens.totals() == {1: 1.0, 2: 1.0}
    assert Histories(store).song_plays() == {first: 1.0, second: 1.0}


def test_without_news_nothing_is_written_and_with_some_the_old_history_goes(store, play_log):
    (song,) = put(store, "Ann - One")
    assert not play_log.update_history()
    play_log.record(song, at=NOON)
    assert play_log.update_history()
    before = store.listens.histories()
    assert not play_log.update_history()
    assert store.listens.histories() == before
    play_log.record(song, at=NOON + 500)
    assert play_log.update_history()
    (source,) = store.listens.histories()
    assert source.id != before[0].id
    assert gathered(store) == [("me", "One", NOON), ("me", "One", NOON + 500)]
    assert store.listens.n_users() == 1


def once(rows) -> list[tuple[str, int, int]]:
    """Plays as they are stored, the slow way: each is compared with all before it."""
    stored = []
    for who, song, when in rows:
        if not any((who, song) == (w, s) and abs(when - t) <= SAME_PLAY_SECONDS for w, s, t in stored):
            stored.append((who, song, when))
    return stored


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    with contextlib.closing(Store(tmp_path_factory.mktemp("plays"))) as opened:
        put(opened, *(f"Band {n % 2} - Song {n}" for n in range(3)))
        yield opened


@given(st.lists(st.tuples(st.sampled_from(["me", "you"]), st.integers(1, 3), st.integers(0, 100)), max_size=12))
def test_the_same_song_reported_twice_is_one_play(one_store, rows):
    play_log = PlayLog(one_store)
    play_log.clear()
    new = [play_log.record(song, who, NOON + when) for who, song, when in rows]
    stored = once(rows)
    assert sum(new) == play_log.count() == len(stored)
    play_log.update_history()
    assert gathered(one_store) == [(who, f"Song {song - 1}", NOON + when) for who, song, when in stored]
    if stored:
        totals = Counter(f"Song {song - 1}" for _, song, _ in stored)
        ids, tracks = one_store.listens.names()
        named = one_store.listens.totals()
        found = {item.title: named[n] for n, item in zip(ids.tolist(), tracks, strict=True) if n in named}
        assert found == totals


def test_of_several_at_once_those_that_can_be_are_noted(store, play_log):
    songs = put(store, "Ann - One", "Bob - Two")
    for _ in range(2):  # a player that is refused tells all of them again
        with pytest.raises(NoSuchSongError, match="song not found: 77; the play was not recorded"):
            play_log.record_all([(78, 5), (songs[0], NOON - 900), (77, NOON), (78, NOON), (songs[1], NOON - 600)])
        with pytest.raises(InvalidInputError, match="at 5 s since 1970 is before the year 2000"):
            play_log.record_all([(songs[0], 5), (songs[0], 6), (songs[1], NOON - 300)])
    play_log.update_history()
    assert [when for *_, when in gathered(store)] == [NOON - 900, NOON - 600, NOON - 300]
    play_log.clear()
    assert play_log.record_all([(songs[0], NOON), (songs[1], None), (songs[0], NOON + 1)], "me") == 2
    with pytest.raises(InvalidInputError, match=r"1,001 plays in one request; send at most 1,000 at a time\."):
        play_log.record_all([(songs[0], NOON)] * (MAX_PLAYS_PER_REQUEST + 1))


@pytest.mark.parametrize("song", [0, -1, 99, 2**63, 10**30])
def test_a_song_that_is_not_there_is_refused(store, song):
    with pytest.raises(NoSuchSongError, match=f"song not found: {song}"):
        PlayLog(store).record(song)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (0, "at 0 s since 1970 is before the year 2000; check the clock"),
        (946_684_799.9, "before the year 2000"),
        (-1e300, "before the year 2000"),
        (4e9, "at 4000000000 s since 1970 is in the future; check the clock"),
        (float("inf"), "in the future"),
        (float("nan"), "before the year 2000"),
    ],
)
def test_a_time_that_cannot_be_is_refused(one_store, at, words):
    with pytest.raises(InvalidInputError, match=words):
        PlayLog(one_store).record(1, at=at)


def test_a_clock_may_be_some_minutes_ahead_and_no_more(one_store):
    play_log = PlayLog(one_store)
    play_log.clear()
    assert play_log.record(1, at=time.time() + 300)
    with pytest.raises(InvalidInputError, match="in the future"):
        play_log.record(1, at=time.time() + 900)


@pytest.mark.parametrize("listener", ["", " \n\0", "x" * 201])
def test_a_listener_needs_a_name(one_store, listener):
    with pytest.raises(InvalidInputError, match=r"name needs 1 to 200 characters; got (0|201)\."):
        PlayLog(one_store).record(1, listener)


@pytest.mark.parametrize(
    ("reported", "stored"),
    [
        ("Zoe\u0301", "Zo\u00e9"),
        ("a\x1b[31m\x07b", "a [31m b"),
        ("\u202eevil\u2066", "evil"),
        ("a\ud800b", "a b"),
        ("李 小龙 😀", "李 小龙 😀"),
    ],
)
def test_a_listeners_name_is_what_people_see_of_it(store, play_log, reported, stored):
    (song,) = put(store, "Ann - One")
    play_log.record(song, reported, NOON)
    assert not play_log.record(song, stored, NOON)
    play_log.update_history()
    assert gathered(store) == [(stored, "One", NOON)]


def test_a_few_plays_alone_are_nothing_to_learn_from(store, play_log, tmp_path):
    (song,) = put(store, "Ann - One")
    play_log.record(song, at=NOON)
    play_log.update_history()
    status = status_of(store)
    assert (status.histories, status.listens, status.played, status.too_few) == (1, 1, 1, True)
    assert "Import listening histories: nearsong listens import FILES" in status.next
    play_log.record_all([(song, NOON + 60 * n) for n in range(MIN_PLAYS_TO_TRAIN)])
    assert (status_of(store).played, status_of(store).listens) == (MIN_PLAYS_TO_TRAIN, 1)
    play_log.update_history()
    assert not status_of(store).too_few
    play_log.clear()
    assert not status_of(store).too_few  # there are none at all
    play_log.record(song)
    play_log.update_history()
    (tmp_path / "other.csv").write_text("user,artist,plays\nann,Ann,3\n")
    import_listens(store, [tmp_path / "other.csv"])
    assert not status_of(store).too_few


def test_what_was_refused_is_tried_again_when_there_are_twice_as_many_plays(store, play_log):
    (song,) = put(store, "Ann - One")

    def mark_of(n: int) -> str:
        play_log.record_all([(song, NOON + 60 * k) for k in range(n)])
        play_log.update_history()
        return rejection_state(store)

    assert mark_of(4) == mark_of(7) != mark_of(8)


def test_a_training_learns_from_what_was_played_in_sittings(trained):
    """As one person's Last.fm export would be: see test_one_person."""
    trained.remove_listens(*(source.id for source in trained.listens()))
    random, start = np.random.default_rng(5), datetime(2023, 1, 1, 20, tzinfo=UTC)
    songs = {song.title: song.id for song in trained.songs()}
    sittings = 120
    for sitting in range(sittings):
        artists = random.choice(np.arange(sitting % 3, music_library.N_ARTISTS, 3), 8, replace=False).tolist()
        begun = start + timedelta(days=sitting)
        titles = [f"Song {artist * 10 + int(random.integers(music_library.SONGS_EACH))}" for artist in artists]
        times = [(begun + timedelta(minutes=4 * n)).timestamp() for n in range(len(titles))]
        trained.play_log.record_all([(songs[title], when) for title, when in zip(titles, times, strict=True)])
    assert trained.listens() == []
    report = trained.train(TrainingSettings(n_splits=2))
    assert report.listener_kinds == {"users": 0, "sessions": sittings, "playlists": 0}
    assert report.score("learned", "known") > report.score("random", "known") + 0.3
    assert [(source.format, source.rows) for source in trained.listens()] == [("played", 8 * sittings)]
    assert sum(trained.snapshot().plays.values()) == 8 * sittings
