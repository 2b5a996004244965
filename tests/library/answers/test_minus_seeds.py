"""Like A and B, but not like C: songs near a minus seed sink, others keep their order."""

import numpy as np
import pytest

import planted_library
from nearsong.library import Filters, Query
from nearsong.library.answers.minus_seeds import PUSH


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    file = planted_library.write_library(tmp_path_factory.mktemp("planted") / "library.sqlite")
    with planted_library.open_library(file) as opened:
        yield opened


def ranks(near):
    return {one.song.id: rank for rank, one in enumerate(near)}


def distances(library, song):
    space = library.space
    lengths = np.linalg.norm(space.embeddings - space.embedding_of(song), axis=1)
    return dict(zip(space.ids.tolist(), lengths.tolist(), strict=True))


@pytest.mark.parametrize("numbers", [(0, 21, 25), (3, 44, 7), (60, 2, 61), (17, 18, 39)])
def test_songs_nearer_to_the_minus_seed_sink_relative_to_all_others(library, numbers):
    first, second, minus = (library.songs()[number] for number in numbers)
    plain = ranks(library.similar(first, second, n=100))
    pushed = ranks(library.similar(first, second, n=100, without=[minus]))
    assert set(pushed) == set(plain) - {minus.id}
    to_seeds = [distances(library, song) for song in (first, second)]
    to_minus = distances(library, minus)
    near = {song for song in pushed if to_minus[song] < min(to[song] for to in to_seeds)}
    others = sorted(set(pushed) - near, key=pushed.get)
    assert others == sorted(others, key=plain.get)  # what is nearer to a seed keeps its order
    for song in near:
        after = sum(pushed[other] < pushed[song] for other in others)
        assert after >= sum(plain[other] < plain[song] for other in others)


def test_minus_seeds_change_what_comes_first(library):
    jazz, metal = (next(song for song in library.songs() if song.genre == style) for style in ("jazz", "metal"))
    plain = [one.song.genre for one in library.similar(jazz, metal, n=30)]
    pushed = [one.song.genre for one in library.similar(jazz, metal, n=30, without=[library.songs()[24]])]
    assert plain.count("metal") > pushed.count("metal")


def test_the_order_is_that_of_the_formula_and_distances_are_those_to_the_nearest_seed(library):
    seed, minus = library.songs()[5], library.songs()[9]
    to_seed, to_minus = distances(library, seed), distances(library, minus)
    pushed = {song: to_seed[song] + PUSH * max(to_seed[song] - to_minus[song], 0) for song in to_seed}
    expected = sorted(set(pushed) - {seed.id, minus.id}, key=lambda song: (pushed[song], song))
    found = library.similar(seed, n=100, without=[minus])
    assert [one.song.id for one in found] == expected
    np.testing.assert_allclose([one.distance for one in found], [to_seed[song] for song in expected], atol=1e-5)


def test_filters_and_batches_hold_with_minus_seeds(library):
    shot = library.snapshot()
    seed, minus = (shot.seed(number) for number in (1, 30))
    query = Query([seed], 5, Filters(genres=("jazz",), one_per_artist=True), 0.0, [minus])
    plain = Query([seed], 5)
    pushed, alone = shot.similar_batch([query, plain])
    assert {one.song.genre for one in pushed} == {"jazz"}
    assert len({one.song.artist for one in pushed}) == 5 or len(pushed) < 5
    assert alone == shot.similar([1], 5)
    assert pushed == shot.similar([1], 5, Filters(genres=("jazz",), one_per_artist=True), without=[30])
