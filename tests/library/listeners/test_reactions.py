"""Hearts, ratings and skips are stored for each listener, and are rows of the history of plays."""

import time

import pytest

from nearsong.errors import InvalidInputError, NoSuchSongError
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.recorded.play_queues import MAX_QUEUED_SONGS, PlayQueues
from nearsong.library.listeners.recorded.plays import HISTORY_NAME, MAX_PLAYS_PER_REQUEST
from nearsong.library.listeners.recorded.reactions import ReactionLog
from nearsong.library.status import status_of
from nearsong.library.store import ListenerReactions
from nearsong.listens.records import Action
from recorded_plays import NOON, put

NONE = ListenerReactions()


@pytest.fixture
def log(store) -> ReactionLog:
    return ReactionLog(store)


def rows(store) -> list[tuple[str, Action, float]]:
    """Return what the history tells: title, action and stars or plays."""
    ids, tracks = store.listens.names()
    titles = {number: item.title for number, item in zip(ids.tolist(), tracks, strict=True)}
    found = []
    for source in store.listens.histories():
        for block in store.listens.columns(source.id):
            columns = zip(block.name.tolist(), block.action.tolist(), block.plays.tolist(), strict=True)
            found += [(titles[name], Action(action), plays) for name, action, plays in columns]
    return found


def test_each_listener_has_hearts_and_ratings_of_their_own(store, log):
    first, second = put(store, "Ann - One", "Bob - Two")
    log.heart([first, "al-1", "ar-2"])
    log.heart([second], " Zoe\u0301 ")
    log.rate(first, 4, "Zo\u00e9")
    assert log.of().hearts.keys() == {first, "al-1", "ar-2"}
    assert abs(log.of().hearts[first] - time.time()) < 60
    zoe = log.of("Zo\u00e9")
    assert (list(zoe.hearts), zoe.ratings[first][0]) == ([second], 4)
    log.remove_heart([first, "ar-2"])
    log.remove_heart([first])  # a second time is no error
    log.remove_rating(first, "Zo\u00e9")
    assert (list(log.of().hearts), log.of("Zo\u00e9").ratings) == (["al-1"], {})
    assert log.of(" ") == log.of("x" * 300) == NONE


def test_a_heart_keeps_its_time_and_a_new_rating_replaces_the_old(store, log, monkeypatch):
    (song,) = put(store, "Ann - One")
    for now, stars in ((NOON, 2), (NOON + 50, 5), (NOON + 90, 5)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        log.heart([song])
        log.rate(song, stars)
    assert log.of() == ListenerReactions({song: NOON}, {song: (5, NOON + 50)})


@pytest.mark.parametrize("stars", [0, 6, -1])
def test_a_rating_has_one_to_five_stars(store, log, stars):
    (song,) = put(store, "Ann - One")
    with pytest.raises(InvalidInputError, match="give 1 to 5"):
        log.rate(song, stars)


@pytest.mark.parametrize("wrong", [99, 0, -3, 2**70])
def test_an_unknown_song_is_refused_and_then_nothing_is_stored(store, log, wrong):
    (song,) = put(store, "Ann - One")
    for react in (
        lambda: log.heart([song, wrong]),
        lambda: log.remove_heart([wrong]),
        lambda: log.rate(wrong, 3),
        lambda: log.remove_rating(wrong),
        lambda: log.skip(wrong),
    ):
        with pytest.raises(NoSuchSongError, match=f"song not found: {wrong};"):
            react()
    assert (log.of(), store.reactions.counts()) == (NONE, {})


def test_a_listener_needs_a_name_and_a_request_has_limits(store, log):
    (song,) = put(store, "Ann - One")
    with pytest.raises(InvalidInputError, match="a listener's name needs 1 to 200 characters"):
        log.heart([song], "\n")
    with pytest.raises(InvalidInputError, match="send at most 1,000 at a time"):
        log.heart(range(MAX_PLAYS_PER_REQUEST + 1))
    with pytest.raises(InvalidInputError, match="in the future"):
        log.skip(song, at=time.time() + 5000)


def test_a_song_left_twice_within_half_a_minute_is_one_skip(store, log):
    first, second = put(store, "Ann - One", "Bob - Two")
    skipped = [(first, 0), (first, 20), (second, 20), (first, 100)]
    assert [log.skip(song, at=NOON + after) for song, after in skipped] == [True, False, True, True]
    assert log.skip(first, "anna", NOON)
    assert store.reactions.counts() == {Action.SKIP: 4}


def test_all_of_it_is_in_the_history_with_its_action_and_only_listens_are_plays(store, log, play_log):
    first, second = put(store, "Ann - One", "Bob - Two")
    play_log.record(first, at=NOON)
    log.heart([first, second, "al-1"])
    log.rate(second, 4)
    log.skip(second, at=NOON)
    assert play_log.pending() == 5
    assert play_log.update_history()
    assert sorted(rows(store)) == [
        ("One", Action.LISTEN, 1.0),
        ("One", Action.HEART, 1.0),
        ("Two", Action.SKIP, 1.0),
        ("Two", Action.HEART, 1.0),
        ("Two", Action.RATING, 4.0),
    ]
    assert (play_log.pending(), play_log.update_history()) == (0, False)
    assert Histories(store).song_plays() == {first: 1.0}
    assert (status_of(store).played, store.listens.histories()[0].name) == (1, HISTORY_NAME)


def test_a_changed_rating_and_a_removed_heart_change_the_history(store, log, play_log):
    first, second = put(store, "Ann - One", "Bob - Two")
    log.rate(first, 2)
    log.heart([second])
    play_log.update_history()
    log.rate(first, 5)
    assert play_log.update_history()
    assert ("One", Action.RATING, 5.0) in rows(store)
    log.remove_heart([second])
    assert play_log.pending() == -1
    assert play_log.update_history()
    assert rows(store) == [("One", Action.RATING, 5.0)]
    log.remove_rating(first)
    assert play_log.update_history()
    assert (store.listens.histories(), play_log.update_history()) == ([], False)


def test_what_was_said_about_a_removed_song_stays_with_its_name(store, log, play_log):
    (song,) = put(store, "Ann - One")
    log.heart([song])
    store.songs.remove([song])
    play_log.update_history()
    assert rows(store) == [("One", Action.HEART, 1.0)]
    log.remove_heart([song])  # it can still be taken back
    assert log.of() == NONE


def test_removing_the_history_removes_hearts_ratings_and_skips(store, log, play_log):
    (song,) = put(store, "Ann - One")
    log.heart([song, "ar-1"])
    log.rate(song, 3)
    log.skip(song)
    play_log.update_history()
    store.listens.remove([store.listens.histories()[0].id])
    assert (log.of(), store.reactions.counts(), store.listens.histories()) == (NONE, {}, [])
    assert not play_log.update_history()


def test_many_hearts_do_not_suggest_a_training(store, log, play_log):
    songs = put(store, *(f"Ann - {n}" for n in range(120)))
    log.heart(songs)
    play_log.update_history()
    assert status_of(store).too_few


# ---- queues


def test_a_queue_goes_from_player_to_player(store):
    queues = PlayQueues(store)
    songs = put(store, "Ann - One", "Bob - Two", "Cid - Three")
    assert queues.get(songs) is None
    queues.save([songs[0], songs[2], songs[0]], 2, 61_000, "anna", "Phone\x1b")
    queues.save(songs, 0, 0, "me", "Desk")
    found = queues.get(songs, "anna")
    assert (found.songs, found.current, found.position) == ((songs[0], songs[2], songs[0]), 2, 61_000)
    assert (found.changed_by, abs(found.changed - time.time()) < 60) == ("Phone", True)
    queues.save([], listener="anna")
    assert (queues.get(songs, "anna"), queues.get(songs).songs) == (None, tuple(songs))


@pytest.mark.parametrize(
    ("known", "songs", "current", "position"),
    [
        ({1, 2, 3}, (1, 2, 3), 1, 900),
        ({2, 3}, (2, 3), 0, 900),
        ({1, 3}, (1, 3), 1, 0),  # the next song, from its start
        ({1}, (1,), 0, 0),
        (set(), (), 0, 0),
    ],
)
def test_removed_songs_leave_a_queue_in_order(store, known, songs, current, position):
    queues = PlayQueues(store)
    queues.save([1, 2, 3], 1, 900)
    found = queues.get(known)
    assert (found.songs, found.current, found.position) == (songs, current, position)


@pytest.mark.parametrize(
    ("songs", "current", "position", "words"),
    [
        ([1], 1, 0, "number 1 of 1"),
        ([1], -1, 0, "number -1 of 1"),
        ([1], 0, -1, "-1 ms"),
        ([1], 0, 2**60, "cannot be"),
        ([1] * (MAX_QUEUED_SONGS + 1), 0, 0, "at most 10,000"),
    ],
)
def test_a_queue_that_cannot_be_is_refused(store, songs, current, position, words):
    with pytest.raises(InvalidInputError, match=words):
        PlayQueues(store).save(songs, current, position)
