"""Albums and artists: lists to search and sort, and those whose songs are nearest, as brute force finds them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from nearsong.errors import InvalidInputError
from nearsong.library.browsing.album_list import AlbumBrowser
from nearsong.library.browsing.albums import AlbumIndex, artist_id
from nearsong.library.browsing.similar_groups import SongGroups
from tagged_songs import tagged_song

SONGS = [
    tagged_song(1, "The Beatles", "Help!", "Help!", "Rock", 1965, added=5.0),
    tagged_song(2, "The Beatles", "Something", "Abbey Road", "Pop", 1969, added=1.0),
    tagged_song(3, "Can", "Vitamin C", "Ege Bamyasi", "Krautrock", 1972, added=9.0),
    tagged_song(4, "Neu!", "Hallogallo", "Neu!", "Krautrock", 1972, added=2.0),
    tagged_song(5, "Can", "Spoon", "Hits", "Krautrock", path="/h/1.mp3", album_artist="Various Artists"),
    tagged_song(6, "Neu!", "Isi", "Hits", "Rock", path="/h/2.mp3", album_artist="Various Artists"),
    tagged_song(7, "Can", "Loose"),
    tagged_song(8, "", "Nobody's", "Nameless"),
]
POINTS = np.array([[0.0], [1.0], [5.0], [6.0], [5.2], [6.2], [5.1], [5.0]], dtype=np.float32)


@pytest.fixture(scope="module")
def browser():
    space = SimpleNamespace(embeddings=POINTS, row_of={song.id: row for row, song in enumerate(SONGS)})
    return AlbumBrowser(AlbumIndex(SONGS), space, {2: 7.0, 4: 3.0, 6: 1.0})


def names(items):
    return [item.name for item in items]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["Abbey Road", "Ege Bamyasi", "Help!", "Hits", "Nameless", "Neu!"]),
        ("artist", ["Help!", "Abbey Road", "Ege Bamyasi", "Neu!", "Hits", "Nameless"]),
        ("newest", ["Ege Bamyasi", "Help!", "Neu!", "Abbey Road", "Hits", "Nameless"]),
        ("year", ["Ege Bamyasi", "Neu!", "Abbey Road", "Help!", "Hits", "Nameless"]),
        ("played", ["Abbey Road", "Neu!", "Hits", "Ege Bamyasi", "Help!", "Nameless"]),
    ],
)
def test_albums_are_sorted_and_songs_without_one_are_on_none(browser, sort, expected):
    assert names(browser.albums(sort=sort).items) == expected


def test_albums_are_found_by_the_beginnings_of_words_and_by_genre(browser):
    assert names(browser.albums("beat he").items) == ["Help!"]
    assert names(browser.albums("various").items) == ["Hits"]
    assert names(browser.albums(genre="KRAUTROCK").items) == ["Ege Bamyasi", "Hits", "Neu!"]
    assert names(browser.albums("hits", genre="pop").items) == []


def test_pages_together_are_the_list(browser):
    pages = [browser.albums(offset=offset, limit=4) for offset in (0, 4, 8)]
    assert [page.total for page in pages] == [6, 6, 6]
    assert [album for page in pages for album in page.items] == list(browser.albums().items)
    with pytest.raises(InvalidInputError, match="sort"):
        browser.albums(sort="loudness")
    with pytest.raises(InvalidInputError, match="limit"):
        browser.artists(limit=-1)


def test_artists_are_sorted_also_by_songs_and_plays(browser):
    everyone = ["The Beatles", "Can", "Neu!", "Various Artists", "Unknown artist"]
    assert names(browser.artists().items) == everyone
    assert names(browser.artists(sort="songs").items)[0] == "Can"
    assert names(browser.artists(sort="played").items)[:2] == ["The Beatles", "Neu!"]
    assert names(browser.artists("beat").items) == ["The Beatles"]


def test_similar_artists_are_neither_nobody_nor_everybody(browser):
    can = browser.index.artist(artist_id("can"))
    assert names(browser.similar_artists(can)) == ["Neu!", "The Beatles"]
    assert names(browser.similar_artists(can, 1)) == ["Neu!"]


def test_similar_albums_are_by_others(browser):
    (help_,) = browser.albums("help").items
    assert names(browser.similar_albums(help_)) == ["Ege Bamyasi", "Nameless", "Hits", "Neu!"]


def test_what_was_played_last_comes_first(browser):
    assert names(browser.recent({1: 50.0, 5: 70.0, 6: 60.0, 7: 90.0, 99: 95.0}, 5)) == ["Hits", "Help!"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 19), max_size=6, unique=True), min_size=1, max_size=8), st.integers(0, 1000))
def test_the_distance_of_groups_is_the_mean_over_all_pairs_of_their_songs(groups, seed):
    points = np.random.default_rng(seed).normal(size=(20, 3)).astype(np.float32)
    found = SongGroups(points, groups)
    for a, rows in enumerate(groups):
        expected = [
            (cdist(points[rows], points[others]) ** 2).mean() if rows and others else np.inf for others in groups
        ]
        assert found.squared_distances(a) == pytest.approx(expected, rel=1e-5, abs=1e-6)
        order = sorted(
            (b for b in range(len(groups)) if b != a and np.isfinite(expected[b])), key=expected.__getitem__
        )
        distances = [expected[b] for b in found.nearest(a, 5)]
        assert distances == pytest.approx([expected[b] for b in order[:5]], rel=1e-5, abs=1e-6)


def test_a_group_of_one_song_is_as_near_as_one_of_many_from_the_same_songs():
    points = np.random.default_rng(0).normal(size=(4_000, 5))
    many = [list(range(start, start + 40)) for start in range(1_000, 3_000, 40)]
    single = [[row] for row in range(3_000, 4_000)]
    distances = SongGroups(points, [list(range(1_000)), *many, *single]).squared_distances(0)
    of_many, of_single = distances[1 : 1 + len(many)].mean(), distances[1 + len(many) :].mean()
    assert of_many == pytest.approx(of_single, rel=0.05)
