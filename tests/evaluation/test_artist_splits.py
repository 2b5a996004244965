import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.evaluation import artist_split


@given(st.integers(3, 500), st.integers(0, 20), st.integers(0, 5))
def test_every_artist_is_in_exactly_one_part(n_artists, number, seed):
    parts = artist_split(n_artists, number, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n_artists))
    assert all(len(part) for part in parts)
    assert all((np.diff(part) > 0).all() for part in parts)


def test_the_shares_are_those_of_the_paper():
    assert [len(part) for part in artist_split(2015, 0)] == [806, 604, 605]


def test_splits_differ_and_do_not_depend_on_one_another():
    first, again, second, other = (artist_split(100, *which) for which in ((0, 1), (0, 1), (1, 1), (0, 2)))
    np.testing.assert_array_equal(first.training, again.training)
    assert not np.array_equal(first.training, second.training)
    assert not np.array_equal(first.training, other.training)


def test_too_few_artists_are_refused():
    with pytest.raises(InvalidInputError, match=r"2 artist\(s\) cannot be split in three"):
        artist_split(2, 0)
