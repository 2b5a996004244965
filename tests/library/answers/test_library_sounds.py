"""The average song vector, and the songs with the largest share of each sound, against sorting everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import EmptyLibraryError, InvalidInputError
from nearsong.library.answers.why.library_sounds import MAX_EXAMPLES, measure_library_sounds

WORDS = ["dull", "loud", "dull", "thin", "loud", "bright"]


def in_blocks(ids, vectors, size):
    return [(ids[i : i + size], vectors[i : i + size].astype(np.float32)) for i in range(0, len(ids), size)]


def fullest(ids, vectors, words, counted):
    """Return all songs that have any of a sound, most first, equals by id."""
    full = {int(i): vectors[row, [w == words for w in WORDS]].sum() for row, i in enumerate(ids) if i in counted}
    return tuple(sorted((i for i in full if full[i] > 0), key=lambda i: (-full[i], i)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 200), st.integers(1, 250), st.integers(1, 5))
def test_the_fullest_are_those_of_sorting_everything_whatever_the_blocks(seed, n_songs, size, levels):
    random = np.random.default_rng(seed)
    vectors = random.integers(0, levels, (n_songs, len(WORDS))) / 4  # exact in binary, so that equals are equal
    ids = random.permutation(1000)[:n_songs]
    counted = ids[random.random(n_songs) < 0.8]
    if not len(counted):
        counted = ids[:1]
    sounds = measure_library_sounds(in_blocks(ids, vectors, size), WORDS, counted)
    assert set(sounds.strongest) == set(WORDS)
    for words in WORDS:
        expected = fullest(ids, vectors, words, set(counted.tolist()))
        assert sounds.strongest[words] == expected[:MAX_EXAMPLES]
        gone = set(expected[:2])
        assert sounds.examples(words, 3, gone) == tuple(i for i in expected if i not in gone)[:3]
    np.testing.assert_allclose(sounds.average, vectors[np.isin(ids, counted)].mean(axis=0), atol=1e-12)
    assert sounds.words == tuple(WORDS)


def test_a_sound_that_nobody_has_has_no_examples():
    vectors = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], float)
    sounds = measure_library_sounds(in_blocks(np.array([4, 5]), vectors, 1), WORDS, np.array([4, 5]))
    assert sounds.examples("thin") == ()
    assert sounds.examples("never said") == ()
    assert sounds.examples("dull") == (4,)
    assert sounds.examples("dull", 0) == ()


def test_a_library_without_songs_that_count_says_so():
    with pytest.raises(EmptyLibraryError, match="the library has no analysed songs yet; start with"):
        measure_library_sounds([], WORDS, np.array([], int))
    with pytest.raises(EmptyLibraryError, match="the library has no analysed songs yet; start with"):
        measure_library_sounds(in_blocks(np.array([4]), np.ones((1, 6)), 1), WORDS, np.array([5]))


def test_words_that_do_not_fit_the_songs_are_refused():
    with pytest.raises(InvalidInputError, match="songs have 7 codewords and 6 labels were given"):
        measure_library_sounds(in_blocks(np.array([4]), np.ones((1, 7)), 1), WORDS, np.array([4]))
