"""Listens, and who listens to what."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.listeners import deduplicate as module
from nearsong.library.listeners.deduplicate import HistoryListens
from nearsong.library.listeners.matching import Matched
from nearsong.library.listeners.matrices import MIN_USERS, build_listening

MINUTE = 60
N_ARTISTS, N_SONGS = 3, 4
# name -> song, artist: three songs, an artist alone, a song without an artist, one that is not in the library
SONG = [0, 1, 2, -1, 3, -1]
ARTIST = [0, 1, 2, 0, -1, -1]
MATCHED = Matched(np.array(SONG), np.array(ARTIST), np.zeros(6, np.uint8))


def source(kind, rows):
    """Make a source of rows (user, name, plays, time); what is left out is 1 and 0."""
    full = [(*row, *(1, 0)[len(row) - 2 :]) for row in rows]
    columns = list(zip(*full, strict=True)) if full else [()] * 4
    kinds = (np.int32, np.int32, np.float32, np.int64)
    return HistoryListens(kind, *(np.array(column, dtype) for column, dtype in zip(columns, kinds, strict=True)))


def events(*rows):
    """Make a source of listens (user, name, minute)."""
    return source("events", [(user, name, 1, 1_000_000 + minute * MINUTE) for user, name, minute in rows])


def build(*sources, **options):
    return build_listening(sources, MATCHED, N_ARTISTS, N_SONGS, **options)


def sets(matrix):
    return [set(np.flatnonzero(row).tolist()) for row in matrix.toarray()]


# Who is a listener


def test_users_listen_to_what_they_played_ten_times():
    listening = build(source("counts", [(4, 0, 12), (4, 1, 10), (4, 2, 9), (7, 1, 30), (7, 3, 10), (9, 2, 3)]))
    assert sets(listening.artist_plays) == [{0, 1}, {0, 1}]
    assert sets(listening.song_plays) == [{0, 1}, {1}]
    assert listening.listeners == {"users": 2, "sessions": 0, "playlists": 0}
    assert listening.how == "2 users (a listener of an artist has at least 10 plays)"
    assert listening.min_plays == {"artists": 10, "songs": 10}
    assert listening.artist_plays.dtype == listening.song_plays.dtype == bool


def test_plays_of_a_user_are_added_up_over_names_and_sources():
    more = source("counts", [(0, 3, 4), (0, 1, 50), (0, 5, 99)])
    listening = build(source("counts", [(0, 0, 6)]), more, min_plays=10)
    assert sets(listening.artist_plays) == [{0, 1}]
    assert sets(listening.song_plays) == [{1}]
    assert listening.song_play_counts.tolist() == [6, 50, 0, 0]


def test_lists_of_favourites_count_from_the_first_play_on():
    listening = build(source("counts", [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0)]))
    assert listening.min_plays == {"artists": 1, "songs": 1}
    assert sets(listening.artist_plays) == [{0, 1}, {1, 2}, {0}]
    assert listening.how == "3 users"


@pytest.mark.parametrize(("loyal", "expected"), [(1, 1), (2, 10), (3, 10)])
def test_ten_plays_are_asked_for_if_half_of_the_users_keep_two_artists(loyal, expected):
    rows = [(user, name, 10 if user < loyal else 2) for user in range(4) for name in (0, 1)]
    assert build(source("counts", rows)).min_plays == {"artists": expected, "songs": expected}


def test_artists_and_songs_have_thresholds_of_their_own():
    matched = Matched(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.zeros(4, np.uint8))
    rows = [(user, name, 6) for user in range(3) for name in range(4)]
    listening = build_listening([source("counts", rows)], matched, 2, 4)
    assert listening.min_plays == {"artists": 10, "songs": 1}
    assert listening.song_plays.nnz == 12


def test_a_threshold_that_is_given_holds_for_users_and_sessions_but_not_for_playlists():
    listening = build(source("counts", [(0, 0, 3), (0, 1, 2)]), source("playlists", [(5, 2)]), min_plays=3)
    assert sets(listening.artist_plays) == [{0}, {2}]
    assert sets(build(events((0, 0, 0), (0, 0, 1), (0, 1, 2)), min_plays=2).artist_plays) == [{0}]


def test_one_persons_history_is_split_where_nothing_was_played():
    listening = build(events((3, 0, 0), (3, 1, 30), (3, 2, 61), (3, 0, 62), (3, 5, 200), (3, 4, 230)))
    assert sets(listening.artist_plays) == [{0, 1}, {0, 2}, set()]
    assert sets(listening.song_plays) == [{0, 1}, {0, 2}, {3}]
    assert listening.listeners == {"users": 0, "sessions": 3, "playlists": 0}
    assert listening.how == "one person's history, split into 3 sessions at gaps of 30 minutes"


def test_what_the_library_lacks_keeps_a_session_going():
    rows = ((0, 0, 0), (0, 5, 20), (0, 1, 40))
    assert sets(build(events(*rows)).artist_plays) == [{0, 1}]
    assert sets(build(events(rows[0], rows[2])).artist_plays) == [{0}, {1}]


def test_the_gap_can_be_chosen_and_the_order_of_rows_does_not_matter():
    rows = [(0, 0, 0), (0, 1, 5), (0, 2, 11)]
    for order in (rows, rows[::-1]):
        assert sets(build(events(*order), gap_minutes=5.5).artist_plays) == [{0, 1}, {2}]


def test_a_session_is_of_one_user_only():
    listening = build(events((0, 0, 0), (1, 1, 1), (0, 2, 2)))
    assert sets(listening.artist_plays) == [{0, 2}, {1}]
    assert listening.how == "the histories of 2 people, split into 2 sessions at gaps of 30 minutes"


@pytest.mark.parametrize(("n", "kind"), [(MIN_USERS - 1, "sessions"), (MIN_USERS, "users")])
def test_many_people_with_times_are_users(n, kind):
    rows = [(user, name, minute) for user in range(n) for name, minute in ((0, 0), (1, 1), (2, 600))]
    listening = build(events(*rows))
    assert listening.listeners[kind] == (2 * n if kind == "sessions" else n)
    assert sum(listening.listeners.values()) == listening.artist_plays.shape[0]


def test_events_without_times_are_of_users():
    assert build(source("events", [(0, 0), (0, 1), (0, 1)])).listeners["users"] == 1


def test_playlists_users_and_sessions_stand_side_by_side():
    listening = build(
        source("playlists", [(0, 0), (0, 1), (0, 0)]),
        events((0, 0, 0), (0, 2, 100)),
        source("counts", [(0, 1), (1, 2), (1, 0)]),
    )
    assert listening.listeners == {"users": 2, "sessions": 2, "playlists": 1}
    assert sets(listening.artist_plays) == [{1}, {0, 2}, {0}, {2}, {0, 1}]
    assert listening.how == "2 users; one person's history, split into 2 sessions at gaps of 30 minutes; 1 playlist"
    assert listening.song_play_counts.tolist() == [4, 2, 2, 0]


@pytest.mark.parametrize(
    ("listeners", "expected"), [("users", [{0, 2}]), ("sessions", [{0}, {2}]), ("playlists", [{1}])]
)
def test_listeners_can_be_chosen_and_plays_are_counted_all_the_same(listeners, expected):
    everything = (source("playlists", [(0, 1)]), events((0, 0, 0), (0, 2, 100)), source("counts", [(0, 0)]))
    listening = build(*everything, listeners=listeners)
    assert sets(listening.artist_plays) == expected
    assert listening.song_play_counts.tolist() == [2, 1, 1, 0]


def test_a_listen_in_two_sources_counts_once():
    both = events((0, 0, 0), (0, 1, 0), (0, 0, 1))
    listening = build(both, events((0, 0, 0), (0, 0, 3)), listeners="users")
    assert listening.song_play_counts.tolist() == [3, 1, 0, 0]
    untimed = source("events", [(0, 0), (0, 0)])
    assert build(untimed, untimed).song_play_counts.tolist() == [4, 0, 0, 0]


def test_copies_of_a_song_were_played_as_often_as_it_was():
    copies = Matched(MATCHED.song, MATCHED.artist, MATCHED.how, same_as=np.array([1, 1, 2, 1]))
    plays = source("counts", [(0, 0, 12), (0, 1, 3), (1, 2, 5)])
    listening = build_listening([plays], copies, N_ARTISTS, N_SONGS, min_plays=1)
    assert listening.song_play_counts.tolist() == [15, 15, 5, 15]
    assert sets(listening.song_plays) == sets(build(plays, min_plays=1).song_plays)  # what is learned from stays


def test_a_listen_that_two_services_spell_and_time_differently_counts_once():
    """Names 0 and 1 are spellings of one song, name 2 is another one, name 3 is no song of the library."""
    spellings = Matched(np.array([0, 1, 2, -1]), np.array([0, 0, 0, 1]), np.zeros(4, np.uint8), np.array([0, 0, 2]))

    def played(*others):
        histories = [
            source("events", [(7, 0, 1, 1000), (7, 3, 1, 1300)]),
            *(source("events", rows) for rows in others),
        ]
        listening = build_listening(histories, spellings, 2, 3, min_plays=1)
        return listening.song_play_counts.tolist()

    assert played([(7, 1, 1, 1060)]) == [1, 1, 0]  # one listen: another spelling, a minute later
    assert played([(7, 1, 1, 940)]) == [1, 1, 0]
    assert played([(7, 1, 1, 1061)]) == [2, 2, 0]  # too late for the same listen
    assert played([(7, 2, 1, 1000)]) == [1, 1, 1]  # another song
    assert played([(8, 1, 1, 1000)]) == [2, 2, 0]  # another user
    assert played([(7, 1, 1, 1000)], [(7, 1, 1, 1030), (7, 0, 1, 2000)]) == [2, 2, 0]


def test_in_one_history_a_song_may_be_played_again_within_the_minute():
    again = events((0, 0, 0), (0, 0, 1), (0, 0, 0.5))
    assert build(again).song_play_counts.tolist() == [3, 0, 0, 0]
    assert build(again, again).song_play_counts.tolist() == [3, 0, 0, 0]


def test_a_listen_of_what_the_library_lacks_counts_once_by_its_name():
    listening = build(events((0, 3, 0)), events((0, 3, 0.5)), events((0, 4, 0)), listeners="users", min_plays=2)
    assert sets(listening.artist_plays) == []


def test_nothing_gives_no_listeners():
    for listening in (build(), build(source("counts", [])), build(source("counts", [(0, 5, 9)]))):
        assert listening.artist_plays.shape == (0, N_ARTISTS)
        assert listening.song_plays.shape == (0, N_SONGS)
        assert listening.how == "no listeners"
        assert listening.song_play_counts.tolist() == [0] * N_SONGS


# Against rows one by one


def listen_one_by_one(sources, listeners, min_plays, gap_minutes):
    """Follow the rule row by row; return sorted lists of (kind, artists, songs), and plays of songs."""
    plays, seen, counted = defaultdict(float), set(), np.zeros(N_SONGS)
    timed, earlier = defaultdict(list), []
    for piece in sources:
        before, earlier = earlier, list(earlier)
        for user, name, n, time in zip(piece.user, piece.name, piece.plays, piece.time, strict=True):
            event = piece.kind == "events"
            if n == 0:
                continue
            if event and time > 0:
                if (user, name, time) in seen:
                    continue
                seen.add((user, name, time))
                track = SONG[name] if SONG[name] >= 0 else f"name {name}"
                earlier.append((user, track, time))
                if any((user, track) == other[:2] and abs(time - other[2]) <= 60 for other in before):
                    continue
                timed[user].append((time, name, n))
            if SONG[name] >= 0:
                counted[SONG[name]] += n
            plays["playlists" if piece.kind == "playlists" else "users", user, name, event] += n
    as_sessions = listeners == "sessions" or (listeners == "auto" and 0 < len(timed) < MIN_USERS)
    rows = defaultdict(lambda: (defaultdict(float), defaultdict(float)))
    for (kind, user, name, event), n in plays.items():
        if listeners in ("auto", kind) and not (event and as_sessions):
            rows[kind, user][0][ARTIST[name]] += n
            rows[kind, user][1][SONG[name]] += n
    for user, history in timed.items() if as_sessions else ():
        session, last = 0, None
        for time, name, n in sorted(history):
            session += last is not None and time - last > gap_minutes * 60
            last = time
            rows["sessions", (user, session)][0][ARTIST[name]] += n
            rows["sessions", (user, session)][1][SONG[name]] += n
    result = []
    for (kind, _), units in rows.items():
        least = 0 if kind == "playlists" else min_plays
        remaining = [
            sorted(unit for unit, n in unit_plays.items() if unit >= 0 and n >= least) for unit_plays in units
        ]
        if remaining[0] or remaining[1]:
            result.append((kind, *remaining))
    return sorted(result), counted.tolist()


TIMES = [0, 500, 530, 560, 600, 1000, 1061, 1500, 2000, 2500]
ROW = st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 4), st.sampled_from(TIMES))
SOURCE = st.builds(source, st.sampled_from(["counts", "events", "playlists"]), st.lists(ROW, max_size=25))


@given(
    st.lists(SOURCE, max_size=4),
    st.sampled_from(["auto", "users", "sessions", "playlists"]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([5, 10, 17]),
    st.sampled_from([1, 3, 7, 1000]),
)
@settings(max_examples=150)
def test_the_matrices_are_those_of_rows_taken_one_by_one(sources, listeners, min_plays, gap, portion):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PORTION_ROWS", portion)
        try:
            listening = build(*sources, listeners=listeners, min_plays=min_plays, gap_minutes=gap)
        except InvalidInputError:
            expected = listen_one_by_one(sources, listeners, min_plays, gap)[0]
            assert listeners != "auto"
            assert expected == []
            return
    kinds = [kind for kind, n in listening.listeners.items() for _ in range(n)]
    found = [
        (kind, sorted(artists), sorted(songs))
        for kind, artists, songs in zip(kinds, sets(listening.artist_plays), sets(listening.song_plays), strict=True)
    ]
    expected, counted = listen_one_by_one(sources, listeners, min_plays, gap)
    assert sorted(found) == expected
    assert listening.song_play_counts.tolist() == counted


def test_times_that_no_clock_shows_do_not_break_the_order():
    huge = 2**62
    rows = [(1, 0, 1, huge), (0, 1, 1, 5), (1, 0, 1, huge), (1, 2, 1, -huge), (1, 1, 1, huge + 60)]
    listening = build(source("events", rows))
    assert sets(listening.artist_plays) == [{1}, {0, 1}]
    assert listening.song_play_counts.tolist() == [1, 2, 1, 0]


# What cannot work


@pytest.mark.parametrize(
    ("sources", "listeners", "message"),
    [
        (
            [source("counts", [(0, 0)])],
            "sessions",
            "needs listens with times, but there are only counts; choose auto or",
        ),
        ([source("events", [(0, 0)])], "sessions", "needs listens with times, but no listen has a time"),
        ([], "sessions", "needs listens with times, but there are no listens"),
        (
            [source("counts", [(0, 0)]), events((0, 0, 0))],
            "playlists",
            "needs playlists, but there are only counts and events; choose auto or users",
        ),
        (
            [source("playlists", [(0, 0)])],
            "users",
            "needs users' histories, but there are only playlists; choose auto or",
        ),
        ([], "everyone", "listeners='everyone' is unknown; choose one of auto, playlists, sessions, users"),
    ],
)
def test_listeners_that_are_not_there_are_refused(sources, listeners, message):
    with pytest.raises(InvalidInputError, match=message):
        build(*sources, listeners=listeners)


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        (source("counts", [(-1, 0)]), {}, "a source has user -1; users are numbered from 0 on"),
        (source("counts", [(0, 6)]), {}, "a source has name 6, but 6 names were matched; match all"),
        (source("counts", [(0, -2)]), {}, "a source has name -2, but 6 names"),
        (source("plays", [(0, 0)]), {}, "kind='plays' is unknown"),
        (source("counts", [(0, 0)]), {"gap_minutes": 0}, "gap_minutes=0 must be a finite number above 0"),
        (source("counts", [(0, 0)]), {"min_plays": -1}, "min_plays=-1 must be"),
    ],
)
def test_rows_and_options_that_cannot_be_are_refused(wrong, options, message):
    with pytest.raises(InvalidInputError, match=message):
        build(wrong, **options)


def test_columns_of_different_lengths_are_refused():
    zeros = np.zeros(2, np.int32)
    with pytest.raises(InvalidInputError, match=r"columns of \[1, 2\] rows"):
        build(HistoryListens("counts", zeros, zeros, np.zeros(1, np.float32), np.zeros(2, np.int64)))


# Artists that the library does not have


OUTSIDE = np.array([-1, -1, -1, -1, -1, 0])


def test_artists_outside_the_library_get_columns_after_its_own_and_listeners_of_only_them_rows():
    users = [(user, name, 20) for user in range(3) for name in (0, 5)] + [(3, 1, 20), (3, 2, 20), (4, 5, 20)]
    listening = build(source("counts", users), outside=OUTSIDE)
    assert sets(listening.artist_plays) == [{0}, {0}, {0}, {1, 2}]
    assert sets(listening.all_plays) == [{0, N_ARTISTS}, {0, N_ARTISTS}, {0, N_ARTISTS}, {1, 2}, {N_ARTISTS}]
    assert listening.all_plays.dtype == bool


def test_artists_outside_the_library_with_few_listeners_get_no_column():
    listening = build(source("counts", [(0, 0, 20), (0, 5, 20), (1, 0, 20), (1, 5, 20)]), outside=OUTSIDE)
    assert listening.all_plays.shape == (2, N_ARTISTS)
    assert build(source("counts", [(0, 0, 20)])).all_plays.shape == (1, N_ARTISTS)


def test_sessions_and_playlists_are_listeners_of_artists_outside_the_library_too():
    sessions = events(*((0, name, 100 * start) for start in range(3) for name in (0, 5)))
    assert sets(build(sessions, outside=OUTSIDE).all_plays) == [{0, N_ARTISTS}] * 3
    playlists = source("playlists", [(user, name) for user in range(3) for name in (1, 5)])
    assert sets(build(playlists, outside=OUTSIDE).all_plays) == [{1, N_ARTISTS}] * 3


def test_a_user_listens_to_artists_outside_the_library_by_the_same_number_of_plays():
    users = [(user, name, plays) for user in range(4) for name, plays in ((0, 12), (1, 12), (5, 9 + user))]
    listening = build(source("counts", users), outside=OUTSIDE)
    assert listening.min_plays["artists"] == 10
    assert sets(listening.all_plays) == [{0, 1}, *[{0, 1, N_ARTISTS}] * 3]


def test_portions_do_not_change_who_listens_to_artists_outside_the_library(monkeypatch):
    random = np.random.default_rng(0)
    rows = [(int(user), int(name), 20) for user, name in random.integers([0, 0], [30, 6], size=(300, 2))]
    at_once = build(source("counts", rows), outside=OUTSIDE).all_plays.toarray()
    monkeypatch.setattr(module, "PORTION_ROWS", 40)
    np.testing.assert_array_equal(build(source("counts", rows), outside=OUTSIDE).all_plays.toarray(), at_once)
