"""The cold-start projection, against loops over all songs."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.answers import cold_start as module
from nearsong.library.answers.cold_start import MAX_EXAMPLES, cold_start
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song


def space_of(embeddings, ids, model_id=1) -> Space:
    songs = [
        Song(id=int(i), path=f"/{i}", artist=f"a{i}", title=f"t{i}", seconds=1.0, artist_key=f"a{i}") for i in ids
    ]
    return Space(model_id, SimpleNamespace(), songs, embeddings.astype(np.float32), Path("nowhere"))


def comes_up(space, seeds, n):
    """Return how often each song is among the n nearest of the seeds, one by one."""
    times = Counter()
    for seed in seeds:
        embedding = space.embeddings[space.row_of[seed]].astype(float)
        distances = [
            (float(((p - embedding) ** 2).sum()), song.id)
            for p, song in zip(space.embeddings.astype(float), space.songs, strict=True)
        ]
        times.update([i for _, i in sorted(distances) if i != seed][:n])
    return times


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 9), st.integers(1, 20), st.integers(1, 50))
def test_counts_are_those_of_looking_at_each_seed(seed, n_songs, n, most, block):
    random = np.random.default_rng(seed)
    ids = np.sort(random.permutation(500)[:n_songs] + 1)
    space = space_of(random.integers(0, 5, (n_songs, 2)), ids)  # many equals, and copies of seeds
    native = space_of(random.integers(0, 3, (n_songs, 3)), ids, 2)
    plays = {int(i): float(random.integers(1, 4)) for i in ids if random.random() < 0.5}
    before, module.BATCH_SEEDS = module.BATCH_SEEDS, block
    try:
        found = cold_start(space, native, plays, n, most)
    finally:
        module.BATCH_SEEDS = before
    seeds = sorted(plays, key=lambda i: (-plays[i], i))[:most]
    never = {int(i) for i in ids} - set(plays)
    ours, theirs = (
        {i: count for i, count in comes_up(one, seeds, n).items() if i in never} for one in (space, native)
    )
    assert (found.songs, found.never_played, found.seeds, found.n) == (n_songs, len(never), len(seeds), n)
    assert found.sampled == (len(plays) > most)
    assert (found.recommended, found.recommended_native) == (len(ours), len(theirs))
    often = sorted(ours, key=lambda i: (-ours[i], i))[:MAX_EXAMPLES]
    assert [song.id for song in found.examples] == often


def test_without_listens_everything_was_never_played_and_nothing_comes_up():
    space = space_of(np.arange(6.0)[:, None], range(1, 7))
    found = cold_start(space, space, {})
    assert (found.songs, found.never_played, found.seeds, found.sampled) == (6, 6, 0, False)
    assert (found.recommended, found.recommended_native, found.examples) == (0, 0, ())


def test_plays_of_songs_that_are_not_there_and_plays_of_nothing_do_not_count():
    space = space_of(np.arange(6.0)[:, None], range(1, 7))
    found = cold_start(space, space, {1: 3.0, 2: 0.0, 99: 7.0}, n=2)
    assert (found.never_played, found.seeds, found.recommended) == (5, 1, 2)
    assert [song.id for song in found.examples] == [2, 3]


def test_a_song_that_the_native_space_lacks_is_no_seed_there():
    space = space_of(np.arange(6.0)[:, None], range(1, 7))
    native = space_of(np.arange(5.0)[:, None], range(1, 6), 2)
    found = cold_start(space, native, {6: 1.0}, n=2)
    assert (found.recommended, found.recommended_native) == (2, 0)


def test_nonsense_is_refused():
    space = space_of(np.zeros((1, 1)), [1])
    with pytest.raises(InvalidInputError, match="n=0"):
        cold_start(space, space, {}, n=0)
    with pytest.raises(InvalidInputError, match="max_seeds=0"):
        cold_start(space, space, {}, max_seeds=0)
