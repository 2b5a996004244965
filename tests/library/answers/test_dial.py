"""The dial from familiar to adventurous: what it changes, and what it does not."""

from dataclasses import replace

import numpy as np
import pytest

from fused_songs import N_ARTISTS, SONGS_EACH, fused_space, planted
from nearsong.errors import InvalidInputError
from nearsong.library.answers.dial import has_dial, turned
from nearsong.library.answers.playlist.around_seeds import make_playlist
from nearsong.library.answers.playlist.recordings import recording_numbers, without_copies
from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace
from nearsong.library.answers.seeds import seed_of_song
from nearsong.library.answers.similar import Query, run_queries
from nearsong.library.records import Song

POSITIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@pytest.fixture(scope="module")
def space():
    return fused_space()


@pytest.fixture(scope="module")
def popularity():
    """Listeners of each song's artist."""
    return np.repeat(np.asarray(planted()[3].sum(axis=0)).ravel(), SONGS_EACH)


def test_answers_are_less_popular_the_more_adventurous_the_dial(space, popularity):
    means = []
    for position in POSITIONS:
        queries = [Query([seed_of_song(space, song)], 10, adventurousness=position) for song in space.songs]
        rows = [space.row_of[near.song.id] for answer in run_queries(space, queries) for near in answer]
        means.append(popularity[rows].mean())
    assert means == sorted(means, reverse=True)
    assert means[0] > 1.2 * means[-1]


def test_at_0_nothing_changes(space):
    seeds = [seed_of_song(space, song) for song in space.songs[:5]]
    np.testing.assert_array_equal(turned(space.model, seeds, 0.0), [seed.embedding for seed in seeds])


def test_a_turned_query_still_does_not_answer_with_its_copies(space):
    copy = replace(space.songs[0], id=999)
    embeddings = np.vstack([space.embeddings, space.embeddings[:1]])
    larger = type(space)(1, space.model, [*space.songs, copy], embeddings, space.cache)
    for position in POSITIONS:
        query = Query([seed_of_song(larger, larger.songs[0])], len(larger.songs), adventurousness=position)
        answer = [near.song.id for near in run_queries(larger, [query])[0]]
        assert 999 not in answer
        assert len(answer) == len(space.songs) - 1


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_the_dial_changes_the_order_but_not_how_near_two_songs_are(space, n_seeds):
    seeds = [seed_of_song(space, song) for song in space.songs[:n_seeds]]
    answers = {
        position: run_queries(space, [Query(seeds, len(space.songs), adventurousness=position)])[0]
        for position in POSITIONS
    }
    own = {near.song.id: near for near in answers[0.0]}
    for position, answer in answers.items():
        for near in answer:
            same = own[near.song.id]
            assert near.distance == pytest.approx(same.distance, rel=1e-4, abs=1e-4), position
            assert (near.closeness_word, round(near.closeness, 2)) == (same.closeness_word, round(same.closeness, 2))
    assert [near.song.id for near in answers[1.0]] != [near.song.id for near in answers[0.0]]


def test_playlists_follow_the_dial_and_start_with_their_seed(space, popularity):
    candidates = PlaylistSpace.of(space.embeddings, space.artists, copies_are_near=False)
    means = []
    for position in POSITIONS:
        rows = []
        for row in range(0, len(space.songs), SONGS_EACH):
            seed = seed_of_song(space, space.songs[row])
            rules = PlaylistRules(length=8, artist_gap=2, adventurousness=position)
            playlist = make_playlist(candidates, [row], rules, aims=turned(space.model, [seed], position))
            assert playlist.songs[0] == row
            rows += playlist.songs[1:]
        means.append(popularity[rows].mean())
    assert means == sorted(means, reverse=True)


def test_without_a_listener_space_one_line_says_what_it_needs():
    space = fused_space("sound")
    assert not has_dial(space.model)
    seed = seed_of_song(space, space.songs[0])
    with pytest.raises(InvalidInputError, match="needs a model that learned from listeners"):
        run_queries(space, [Query([seed], adventurousness=0.5)])


@pytest.mark.parametrize("wrong", [1.5, -2, float("nan"), True, "much"])
def test_a_position_beyond_the_dial_is_refused(space, wrong):
    with pytest.raises(InvalidInputError, match="from -1"):
        Query([seed_of_song(space, space.songs[0])], adventurousness=wrong)


def test_songs_of_an_artist_at_one_point_are_no_copies_of_each_other():
    names = [("Halleluwah", 100.0), ("halleluwah (remastered)", 101.0), ("Halleluwah", 300.0), ("Oh Yeah", 100.0)]
    songs = [
        Song(id=i, path=f"{i}.mp3", artist="Can", artist_key="can", title=title, seconds=seconds)
        for i, (title, seconds) in enumerate(names)
    ]
    numbers = recording_numbers(songs)
    assert numbers.tolist() == [0, 0, 2, 3]
    assert without_copies(numbers, []).tolist() == [True, False, True, True]
    assert without_copies(numbers, [1]).tolist() == [False, False, True, True]
    candidates = PlaylistSpace.of(
        np.zeros((4, 2)), np.zeros(4, int), without_copies(numbers, [0]), copies_are_near=False
    )
    assert make_playlist(candidates, [0], PlaylistRules(length=4, artist_gap=0)).songs == [0, 2, 3]


def test_there_are_more_artists_than_a_playlist_has_songs(space):
    assert len(set(space.artists.tolist())) == N_ARTISTS
