"""TrackName names, and the songs and artists they mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.matches.records import WAYS
from nearsong.library.listeners.matching import (
    Matched,
    SongCatalogue,
    TrackNameColumns,
    match,
    match_report,
    track_name_columns,
)
from nearsong.library.records import Song
from nearsong.listens.records import TrackName
from nearsong.names import artist_key, primary_artist, title_key

NOT, RECORDING, TITLE, ARTIST = range(4)


def song(number, artist, title, recording="", artist_id="", missing=False):
    return Song(
        id=number,
        path=f"{number}.mp3",
        artist=artist,
        title=title,
        seconds=100.0,
        recording_mbid=recording,
        artist_mbid=artist_id,
        missing=missing,
    )


LIBRARY = [
    song(10, "The Beatles", "Help! (Remastered 2009)", "REC-1", "ART-1"),
    song(11, "Beatles", "Yesterday"),
    song(5, "The Beatles", "Help!"),
    song(20, "Кино", "Группа крови", "", "ART-2"),
    song(21, "", "Untitled", "REC-3"),
    song(22, "Santana feat. Rob Thomas", "Smooth", "REC-1"),
    song(23, "The Beatles", ""),
]


def matches(*tracks, songs=LIBRARY):
    """Match names and return (song id or None, artist or None, way) for each."""
    catalogue = SongCatalogue.of(songs)
    found = match(catalogue, list(tracks))
    return [
        (int(catalogue.song_ids[s]) if s >= 0 else None, catalogue.artists[a] if a >= 0 else None, int(how))
        for s, a, how in zip(found.song, found.artist, found.how, strict=True)
    ]


def test_a_catalogue_knows_each_artist_once_in_the_spelling_of_most_songs():
    catalogue = SongCatalogue.of(LIBRARY)
    assert catalogue.artists == ["The Beatles", "Кино", "Santana"]
    assert catalogue.artist_keys == ["beatles", "кино", "santana"]
    assert catalogue.song_artist.tolist() == [0, 0, 0, 1, -1, 2, 0]
    assert catalogue.song_ids.tolist() == [10, 11, 5, 20, 21, 22, 23]
    assert len(catalogue) == 7


@pytest.mark.parametrize(
    ("tracks", "expected"),
    [
        (TrackName("Nonsense", "Nonsense", "rec-1"), (10, "The Beatles", RECORDING)),  # lowest id with that MBID
        (TrackName("Beatles", "Yesterday", "REC-3"), (21, None, RECORDING)),
        (TrackName("beatles", "YESTERDAY - 2009 Remaster", "REC-9"), (11, "The Beatles", TITLE)),
        (TrackName("The Beatles", "Help"), (5, "The Beatles", TITLE)),  # lowest id with that title
        (TrackName("The Beatles", "Yesterday (Live)"), (None, "The Beatles", ARTIST)),
        (TrackName("КИНО", "группа КРОВИ"), (20, "Кино", TITLE)),
        (TrackName("Kino", "Группа крови", "", "art-2 "), (20, "Кино", TITLE)),
        (TrackName("Kino", "", "", "ART-2"), (None, "Кино", ARTIST)),
        (TrackName("The Beatles", "", "", "ART-9"), (None, "The Beatles", ARTIST)),
        (TrackName("Santana", "Smooth (feat. Rob Thomas)"), (22, "Santana", TITLE)),
        (TrackName("Santana feat. Rob Thomas", "Smooth"), (22, "Santana", TITLE)),
        (TrackName("Santana; Everlast", "Put Your Lights On"), (None, "Santana", ARTIST)),
        (TrackName("Beatles"), (None, "The Beatles", ARTIST)),
        (TrackName("Beatles Revival Band", "Help!"), (None, None, NOT)),
        (TrackName("", "Help!"), (None, None, NOT)),
        (TrackName("", "Untitled"), (None, None, NOT)),
        (TrackName(""), (None, None, NOT)),
    ],
)
def test_a_name_is_found_by_recording_then_title_then_artist(tracks, expected):
    assert matches(tracks) == [expected]


def test_a_name_that_looks_like_two_artists_is_found_undivided_first():
    songs = [song(1, "Love / Hate", "Why"), song(2, "Love", "Alone"), song(3, "Love / Hate", "Blackout")]
    assert matches(TrackName("Love / Hate", "Why"), TrackName("Love", "Alone"), songs=songs) == [
        (1, "Love", TITLE),
        (2, "Love", TITLE),
    ]
    assert matches(TrackName("A;B", "T"), songs=[song(1, "AB", "T"), song(2, "A", "T")]) == [(1, "AB", TITLE)]


def test_whom_an_mbid_means_is_what_most_songs_say():
    songs = [song(1, "B", "x", "", "M"), song(2, "A", "y", "", "M"), song(3, "A", "z", "", "M")]
    assert matches(TrackName("?", "", "", "M"), songs=songs) == [(None, "A", ARTIST)]
    assert matches(TrackName("?", "", "", "M"), songs=songs[:2]) == [(None, "B", ARTIST)]


def test_a_file_that_is_there_is_found_before_one_that_is_missing():
    songs = [song(1, "A", "x", "m", missing=True), song(3, "A", "x", "m"), song(2, "A", "x", "m", missing=True)]
    by_title, by_recording = TrackName("A", "x"), TrackName("", "", "m")
    assert [found[0] for found in matches(by_title, by_recording, songs=songs)] == [3, 3]
    assert [found[0] for found in matches(by_title, by_recording, songs=songs[::2])] == [1, 1]


def test_copies_of_a_recording_are_recognised_by_artist_and_title_or_by_mbid():
    songs = [
        song(9, "A", "x"),
        song(2, "A", "X (Remastered)", "m1"),
        song(3, "A", "other title", "M1 "),
        song(4, "B", "x"),
        song(5, "", "x"),
        song(6, "", "x"),
        song(7, "A", ""),
        song(8, "A", "", "m2"),
    ]
    catalogue = SongCatalogue.of(songs)
    assert catalogue.same_as.tolist() == [1, 1, 1, 3, 4, 5, 6, 7]
    assert catalogue.same_as.dtype == np.int64
    assert match(catalogue, [TrackName("A")]).same_as is catalogue.same_as


def same_one_by_one(songs):
    """Compare every song with every other, and with what that is the same as."""

    def same(one, other):
        if one.recording_mbid and one.recording_mbid == other.recording_mbid:
            return True
        keys = [(artist_key(primary_artist(each.artist)), title_key(each.title)) for each in (one, other)]
        return keys[0] == keys[1] and all(keys[0])

    groups = [{row} for row in range(len(songs))]
    for _ in songs:
        for i, one in enumerate(songs):
            for j, other in enumerate(songs):
                if same(one, other):
                    groups[i] = groups[j] = groups[i] | groups[j]
    return [min(group, key=lambda row: (songs[row].missing, songs[row].id)) for group in groups]


def test_nothing_matches_nothing():
    assert matches(TrackName("A", "B", "C", "D"), songs=[]) == [(None, None, NOT)]
    assert matches() == []
    assert match(SongCatalogue.of(LIBRARY), []).how.dtype == np.uint8


def match_one_by_one(songs, tracks):
    """Look through all songs for every name, as the rule says it."""

    def artist_of(name):
        return artist_key(primary_artist(name))

    order = sorted(range(len(songs)), key=lambda row: (songs[row].missing, songs[row].id))
    names = []
    for entry in songs:
        key = artist_of(entry.artist)
        if key and key not in names:
            names.append(key)
    results = []
    for item in tracks:
        found = [i for i in order if item.recording_mbid and songs[i].recording_mbid == item.recording_mbid]
        if found:
            key = artist_of(songs[found[0]].artist)
            results.append((found[0], names.index(key) if key else -1, RECORDING))
            continue
        votes = [
            names.index(artist_of(entry.artist))
            for entry in songs
            if item.artist_mbid and entry.artist_mbid == item.artist_mbid and entry.artist
        ]
        if votes:
            artist = min(set(votes), key=lambda row: (-votes.count(row), row))
        else:
            artist = names.index(artist_of(item.artist)) if artist_of(item.artist) in names else -1
        if artist < 0:
            results.append((-1, -1, NOT))
            continue
        same = [
            i
            for i in order
            if artist_of(songs[i].artist) == names[artist]
            and item.title
            and title_key(songs[i].title) == title_key(item.title)
        ]
        results.append((same[0], artist, TITLE) if same else (-1, artist, ARTIST))
    return results


ARTISTS = st.sampled_from(["", "The A", "a", "B", "b feat. A", "C; A", "Ж"])
TITLES = st.sampled_from(["", "One", "one (Remastered)", "One (Live)", "Two"])
MBIDS = st.sampled_from(["", "", "m1", "m2", "m3"])
SONG = st.tuples(st.integers(1, 50), ARTISTS, TITLES, MBIDS, MBIDS, st.booleans())
SONGS = st.lists(SONG, max_size=8, unique_by=lambda s: s[0])


@given(SONGS, st.lists(st.builds(TrackName, ARTISTS, TITLES, MBIDS, MBIDS), max_size=8))
@settings(max_examples=300)
def test_matching_is_what_looking_through_all_songs_finds(facts, tracks):
    songs = [song(*fact) for fact in facts]
    found = match(SongCatalogue.of(songs), tracks)
    assert list(zip(found.song, found.artist, found.how, strict=True)) == match_one_by_one(songs, tracks)
    again = match(SongCatalogue.of(songs), track_name_columns(tracks))
    for one, other in ((found.song, again.song), (found.artist, again.artist), (found.how, again.how)):
        np.testing.assert_array_equal(one, other)


@given(SONGS)
@settings(max_examples=200)
def test_the_same_recording_is_what_comparing_all_songs_finds(facts):
    songs = [song(*fact) for fact in facts]
    assert SongCatalogue.of(songs).same_as.tolist() == same_one_by_one(songs)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InvalidInputError, match=r"columns of \[1, 2\] names do not belong together"):
        TrackNameColumns(["a", "b"], ["c"], ["", ""], ["", ""])


# The report

HEARD = [
    TrackName("A", "x"),
    TrackName("B", "y"),
    TrackName("C"),
    TrackName("", "z"),
    TrackName("D", "w"),
    TrackName("E", "v"),
]
MATCHED = Matched(
    np.array([0, -1, -1, -1, 3, -1]), np.array([0, 1, -1, -1, 0, -1]), np.array([2, 3, 0, 0, 1, 0], np.uint8)
)


def test_the_report_adds_up_plays_and_names_by_way():
    report = match_report(MATCHED, [1, 2, 4, 4, 16, 0], HEARD)
    assert report.plays_matched == 19
    assert report.plays_unmatched == 8
    assert report.plays_by_way == dict(zip(WAYS, [8, 16, 1, 2], strict=True))
    assert report.names_by_way == dict(zip(WAYS, [3, 1, 1, 1], strict=True))
    assert (report.names_matched, report.names_unmatched) == (3, 3)
    assert report.as_json()["most_played_unmatched"] == [{"name": "C", "plays": 4.0}, {"name": "z", "plays": 4.0}]


def test_the_most_played_names_that_were_not_found_come_first():
    report = match_report(MATCHED, [0, 0, 1, 1, 0, 9], track_name_columns(HEARD), top=2)
    assert report.most_played_unmatched == [("E - v", 9.0), ("C", 1.0)]


def test_a_report_of_what_does_not_belong_together_is_refused():
    with pytest.raises(InvalidInputError, match=r"6 matches, plays of shape \(2,\) and 6 names .*one of each"):
        match_report(MATCHED, [1, 2], HEARD)
