"""Closeness: what separates near songs, on one scale for a library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.library.neighbours.calibration import Calibration
from nearsong.library.neighbours.closeness import CLOSENESS_WORDS, closeness, closeness_word

SIMILARITIES = st.floats(0, 1)


@given(SIMILARITIES, SIMILARITIES, st.integers(1, 10**7))
def test_it_keeps_the_order_of_similarities_between_0_and_1(first, second, n_songs):
    low, high = closeness(sorted([first, second]), n_songs)
    assert 0 <= low <= high <= 1
    assert closeness(1.0, n_songs) == 1
    assert closeness(0.0, n_songs) == pytest.approx(0, abs=1e-12)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_closer_song_never_has_a_looser_word(first, second):
    order = [word for _, word in CLOSENESS_WORDS]
    low, high = sorted([first, second])
    assert order.index(closeness_word(high)) <= order.index(closeness_word(low))


@pytest.mark.parametrize("n_songs", [100, 2_000])
def test_rows_that_all_read_99_percent_are_told_apart(n_songs):
    near = 1 - np.arange(1, 11) / n_songs  # as near as the nearest, the second nearest ... song is on average
    values = closeness(near, n_songs)
    assert len(set(np.floor(100 * near))) < len(near) or n_songs == 100
    assert len(set(np.round(100 * values))) == len(near)
    assert values[0] - values[-1] > 0.2


def test_a_library_of_ten_songs_has_all_words():
    embeddings = np.random.default_rng(3).standard_normal((10, 4))
    calibration = Calibration.fit(embeddings)
    distances = np.linalg.norm(embeddings[:, None] - embeddings, axis=2)[np.triu_indices(10, 1)]
    values = calibration.closeness(calibration.similarity(distances))
    words = [closeness_word(value) for value in values]
    assert set(words) == {word for _, word in CLOSENESS_WORDS}
    assert words[int(distances.argmin())] == "very close"
    assert words.count("very close") < 10 < words.count("far")


def test_one_song_alone_is_close_only_to_itself():
    calibration = Calibration.fit(np.zeros((1, 3)))
    assert calibration.closeness(calibration.similarity([0.0, 1.0])).tolist() == [1, 0]
