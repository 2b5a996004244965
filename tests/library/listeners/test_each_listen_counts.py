"""One person's listens through several services: each counts once in every figure."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.library.listeners import deduplicate as module
from nearsong.library.listeners.deduplicate import HistoryListens, portions
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.matching import Matched
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.listeners.same_track import named_tracks
from nearsong.library.status import status_of
from nearsong.library.store import Store
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist, title_key
from recorded_plays import NOON, put
from three_services import (
    LISTENS,
    MBIDS,
    SAME_BY_MBID,
    SAME_BY_NAME,
    TITLES,
    write_lastfm,
    write_listenbrainz,
    write_spotify,
)


@pytest.fixture
def told(store, tmp_path) -> Store:
    """Write the same twenty listens of `me` through three services, some of them also recorded by nearsong."""
    songs = dict(zip(TITLES, put(store, "Björk - Jóga", "Can - Vitamin C"), strict=False))
    import_listens(store, [write_lastfm(tmp_path / "lastfm.csv", SAME_BY_NAME)])
    import_listens(store, [write_listenbrainz(tmp_path / "lb.jsonl", LISTENS)])
    import_listens(store, [write_listenbrainz(tmp_path / "lb2.jsonl", SAME_BY_MBID, spelled=False)])
    import_listens(store, [write_spotify(tmp_path / "Streaming_History_Audio_1.json", SAME_BY_NAME)])
    PlayLog(store).record_all([(songs[title], time + 3) for title, time in LISTENS if title in songs])
    PlayLog(store).update_history()
    return store


def test_every_figure_counts_a_listen_once(told):
    histories = Histories(told)
    assert sum(history.rows for history in histories.histories) == 15 + 20 + 5 + 15 + 10
    report = histories.report()
    assert (report.plays_matched, report.plays_unmatched) == (10, 10)
    assert sorted(plays for _, plays in report.most_played_unmatched) == [5, 5]
    assert sorted(histories.song_plays().values()) == [5, 5]
    assert Histories.of_user(told, "me").report() == report
    assert Histories.of_user(told, "nobody").report().plays_matched == 0
    assert sum(row.plays for row in Histories.of_user(told, "me").rows("events")) == 20
    status = status_of(told)
    assert (status.listens, status.histories, status.played) == (20, 5, 10)


def test_a_report_of_some_histories_counts_those_only(told):
    histories = Histories(told)
    ids = {history.format: history.id for history in histories.histories}
    both = histories.report([ids["lastfm-csv"], ids["spotify-extended"]])
    assert (both.plays_matched, both.plays_unmatched) == (10, 5)
    assert histories.report([ids["played"]]).plays_matched == 10
    assert histories.report([]).plays_matched == 0


def test_the_name_that_the_library_knows_counts(store, tmp_path):
    """The earlier history spells a song in a way that does not match; the later one has its MBID."""
    title = ("Neu!", "Hallogallo")
    put_file(store, "/a.mp3", tags=Tags("Neu!", "Hallo Gallo (Long)", recording_mbid=MBIDS[title]), seconds=9.0)
    import_listens(store, [write_lastfm(tmp_path / "lastfm.csv", [(title, NOON)])])
    import_listens(store, [write_listenbrainz(tmp_path / "lb.jsonl", [(title, NOON)], spelled=False)])
    report = Histories(store).report()
    assert report.plays_by_way == {"not found": 0, "recording MBID": 1, "artist and title": 0, "artist": 0}
    assert list(Histories(store).song_plays().values()) == [1]


# Against rows one by one

NAMES = [
    TrackName("Can", "Vitamin C"),
    TrackName("CAN", "vitamin c (Mono)"),
    TrackName("Can", "Vitamin See", "m1"),
    TrackName("can", "VITAMIN C", "m1"),
    TrackName("Kan", "Vit", "M1"),
    TrackName("Neu!", "Hero", "m2"),
    TrackName("Neu", "Hero"),
    TrackName("Faust"),
]
SONGS = [-1, -1, -1, -1, -1, 0, -1, -1]


def one_by_one(sources, song):
    """Count the listens of each name by comparing all pairs of rows."""
    every = [
        (number, *row)
        for number, source in enumerate(sources)
        for row in zip(source.user.tolist(), source.name.tolist(), source.time.tolist(), strict=True)
    ]
    shared = {user for _, user, *_ in every if len({n for n, owner, *_ in every if owner == user}) > 1}
    track = tracks_one_by_one({name for _, user, name, _ in every if user in shared}, song)
    rows, seen = [], set()
    for row in every:
        if row[3] == 0 or row[1:] not in seen:
            seen.add(row[1:])
            rows.append(row)
    counts = defaultdict(int)
    for number, user, name, time in rows:
        rank = (song[name] < 0, number)
        better = time and any(
            other != number
            and (user, track[name]) == (owner, track[also])
            and abs(time - when) <= 60
            and when
            and (song[also] < 0, other) < rank
            for other, owner, also, when in rows
            if owner == user and user in shared
        )
        counts[name] += not better
    return {name: n for name, n in counts.items() if n}


def tracks_one_by_one(names, song):
    """Join names that share a key until nothing changes; songs stay apart."""
    keys = {
        name: {(artist_key(primary_artist(NAMES[name].artist)), title_key(NAMES[name].title))}
        | ({NAMES[name].recording_mbid.lower()} - {""})
        for name in names
    }
    group = {name: ("song", song[name]) if song[name] >= 0 else ("name", name) for name in names}
    changed = True
    while changed:
        changed = False
        for one in names:
            for other in names:
                if song[one] < 0 and keys[one] & keys[other] and group[other] > group[one]:
                    group[one], changed = group[other], True
    return group


ROW = st.tuples(
    st.integers(0, 2), st.integers(0, len(NAMES) - 1), st.sampled_from([0, 500, 530, 560, 590, 700, 9000])
)
SOURCE = st.lists(ROW, min_size=1, max_size=12)


@given(st.lists(SOURCE, min_size=1, max_size=4), st.booleans(), st.sampled_from([1, 5, 1000]))
@settings(max_examples=300, deadline=None)
def test_listens_are_those_of_rows_taken_one_by_one(sources, has_song, portion):
    song = SONGS if has_song else [-1] * len(NAMES)
    matched = Matched(
        np.array(song), np.full(len(NAMES), -1), np.where(np.array(song) >= 0, 1, 0).astype(np.uint8), np.arange(1)
    )
    histories = [
        HistoryListens(
            kind="events",
            user=np.array([row[0] for row in rows], np.int32),
            name=np.array([row[1] for row in rows], np.int32),
            plays=np.ones(len(rows), np.float32),
            time=np.array([row[2] for row in rows], np.int64),
        )
        for rows in sources
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PORTION_ROWS", portion)
        found = Counter()
        for _, _, events in portions(histories, len(NAMES), lambda compared: named_tracks(matched, NAMES, compared)):
            found.update(events.name.tolist())
    assert dict(found) == one_by_one(histories, song), (sources, has_song)
