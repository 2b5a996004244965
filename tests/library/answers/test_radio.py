"""A radio goes on for ever, follows what is liked, leaves what is skipped, and repeats nothing too early."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planted_library
from nearsong.errors import InvalidInputError
from nearsong.library import Filters, Heard
from nearsong.library.answers.recommending.surprise import (
    DRAWN_FROM,
    first_rank,
    surprising_rows,
    wants_unknown,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    file = planted_library.write_library(tmp_path_factory.mktemp("planted") / "library.sqlite")
    with planted_library.open_library(file) as opened:
        yield opened


def of_style(library, style):
    return [song for song in library.songs() if song.genre == style]


def test_the_radio_plays_songs_like_its_seed_by_changing_artists(library):
    seed = of_style(library, "jazz")[0]
    songs = [one.song for one in library.radio(seed, n=8)]
    assert len(set(songs)) == 8
    assert seed not in songs
    assert sum(song.genre == "jazz" for song in songs) >= 7
    artists = [seed.artist, *(song.artist for song in songs)]
    assert all(len(set(artists[i : i + 4])) == 4 for i in range(len(artists) - 3))


def test_one_song_at_a_time_is_the_same_radio_as_many_at_once(library):
    seed = of_style(library, "folk")[3]
    together = [one.song for one in library.radio(seed, n=12, seed=5)]
    heard = []
    for song in together:
        (one,) = library.radio(seed, heard=heard, seed=5)
        assert one.song == song
        heard.append(Heard(song))


def test_another_seed_of_the_generator_gives_another_radio_and_the_same_the_same(library):
    seed = of_style(library, "metal")[0]
    runs = [[one.song.id for one in library.radio(seed, n=10, seed=number)] for number in (0, 0, 1, 2)]
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) > 1


def test_likes_draw_the_radio_and_skips_push_it_away(library):
    jazz, metal = of_style(library, "jazz"), of_style(library, "metal")
    drawn = library.radio(jazz[0], heard=[Heard(song, "liked") for song in metal[:6]], n=6)
    assert sum(one.song.genre == "metal" for one in drawn) >= 4
    both = [jazz[0], metal[0]]
    skipped = library.radio(*both, heard=[Heard(song, "skipped") for song in jazz[4:14:2]], n=6)
    assert {one.song.genre for one in skipped} == {"metal"}
    assert all(one.because in both for one in skipped)


def test_nothing_is_repeated_until_all_was_played_then_what_was_played_longest_ago(library):
    filters = Filters(genres=("techno",))
    techno = of_style(library, "techno")
    seed = techno[2]
    songs = [one.song for one in library.radio(seed, n=len(techno) + 5, filters=filters)]
    everything = [seed, *songs]
    assert set(everything[: len(techno)]) == set(techno)
    assert everything[len(techno) :] == everything[:6]


def test_the_listener_counts_too_and_what_they_dislike_is_never_played(library):
    folk = of_style(library, "folk")
    library.reactions.rate(folk[0].id, 1, "pat")
    songs = [one.song for one in library.radio(folk[1], n=20, listener="pat", filters=Filters(genres=("folk",)))]
    assert folk[0] not in songs
    library.reactions.remove_rating(folk[0].id, "pat")
    assert folk[0] in [
        one.song for one in library.radio(folk[1], n=20, listener="pat", filters=Filters(genres=("folk",)))
    ]


def test_filters_hold(library):
    seed = of_style(library, "jazz")[0]
    others = library.radio(seed, n=6, filters=Filters(new_artists=True))
    assert seed.artist not in {one.song.artist for one in others}
    alone = library.radio(seed, n=15, filters=Filters(one_per_artist=True))
    assert len({one.song.artist for one in alone} | {seed.artist}) == 16
    assert library.radio(seed, n=3, filters=Filters(year_from=2999)) == []


def test_a_radio_may_start_from_what_was_heard_but_not_from_nothing(library):
    metal = of_style(library, "metal")
    going_on = library.radio(heard=[Heard(song) for song in metal[:3]], n=3)
    assert {one.song.genre for one in going_on} == {"metal"}
    with pytest.raises(InvalidInputError, match="No seed given"):
        library.radio()
    with pytest.raises(InvalidInputError, match="No seed given"):
        library.radio(heard=[Heard(metal[0], "skipped")])
    with pytest.raises(InvalidInputError, match="reaction='loved'"):
        Heard(metal[0], "loved")


# ---------------------------------------------------------------- the dial from familiar to surprising


def far_and_unknown(library, seeds, surprise):
    """Return the mean distance to the nearest seed, and the share of songs that the listener does not know."""
    space, known = library.space, {song.id for song in library.songs() if song.title in ("Tune 0", "Tune 1")}
    points = np.array([space.embedding_of(song) for song in seeds])
    distances, unknown = [], []
    for number in range(6):
        for one in library.radio(*seeds, n=10, listener="kim", surprise=surprise, seed=number):
            distances.append(np.linalg.norm(points - space.embedding_of(one.song), axis=1).min())
            unknown.append(one.song.id not in known)
    return np.mean(distances), np.mean(unknown)


def test_with_more_surprise_songs_are_farther_from_the_seeds_and_fewer_are_known(library):
    for song in library.songs():
        if song.title in ("Tune 0", "Tune 1"):
            library.play_log.record(song.id, "kim", 1.6e9)
    jazz = of_style(library, "jazz")
    rising = [far_and_unknown(library, [jazz[0], jazz[6]], surprise) for surprise in (0.0, 0.5, 1.0)]
    distances, unknown = np.array(rising).T
    assert (np.diff(distances) > 0.02 * distances[0]).all(), distances
    assert (np.diff(unknown) > 0.05).all(), unknown
    assert unknown[-1] == 1


def test_a_surprising_radio_still_follows_what_is_liked(library):
    jazz, metal = of_style(library, "jazz"), of_style(library, "metal")
    liked = [Heard(song, "liked") for song in metal[:6]]

    def n_metal(heard):
        return sum(
            one.song.genre == "metal"
            for number in range(5)
            for one in library.radio(jazz[0], heard=heard, n=5, surprise=0.5, seed=number)
        )

    assert n_metal(liked) > 2 * n_metal([])


@given(
    n=st.integers(1, 300), random=st.integers(0, 99), low=st.floats(0, 1), high=st.floats(0, 1), share=st.floats(0, 1)
)
def test_a_higher_dial_never_draws_from_better_songs_nor_wants_fewer_unknown_ones(n, random, low, high, share):
    low, high = sorted((low, high))
    numbers = np.random.default_rng(random)
    scores, allowed = numbers.normal(size=n), numbers.random(n) < max(share, 1 / n)
    allowed[random % n] = True
    rank = {row: place for place, row in enumerate(np.argsort(-scores, kind="stable")) if allowed[row]}
    drawn = [surprising_rows(scores, allowed, surprise) for surprise in (low, high)]
    near, far = ([rank[row] for row in rows] for rows in drawn)
    assert all(1 <= len(rows) <= DRAWN_FROM and near == sorted(near) for rows in drawn)
    assert near[0] <= far[0]
    assert first_rank(n, low) <= first_rank(n, high) < n
    assert wants_unknown(low, random, n) <= wants_unknown(high, random, n)
    wanted = numbers.random(n) < 0.5
    chosen = surprising_rows(scores, allowed, high, wanted)
    assert wanted[chosen].all() or (chosen == drawn[1]).all()
    assert allowed[chosen].all()


@pytest.mark.parametrize("surprise", [-0.1, 1.01, float("nan"), True, "much"])
def test_a_surprise_that_is_none_is_refused(library, surprise):
    with pytest.raises(InvalidInputError, match="must be a number from 0"):
        library.radio(1, surprise=surprise)
