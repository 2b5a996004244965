"""What plays, hearts, ratings and skips are worth, and how long they count."""

import numpy as np
import pytest

from nearsong.errors import InvalidInputError
from nearsong.recommendation import Worth, item_weights, recency

DAY = 86_400.0
NONE = np.nan


def test_a_play_counts_half_after_each_half_life_and_never_more_than_one():
    worth = Worth(half_life_days=30.0, untimed_age_days=60.0)
    now = 1_000 * DAY
    counts = recency([now, now - 30 * DAY, now - 90 * DAY, now + 5 * DAY, 0], now, worth)
    np.testing.assert_allclose(counts, [1, 0.5, 0.125, 1, 0.25])


def test_a_half_life_must_be_above_0():
    with pytest.raises(InvalidInputError, match="half_life_days=0"):
        recency([1.0], 2.0, Worth(half_life_days=0))


def test_weights_follow_their_formula_and_grow_with_what_is_good():
    worth = Worth(heart=2.0, skip=3.0)
    plays, skips = np.array([0.0, 1, 5, 5, 5]), np.array([0.0, 0, 0, 2, 0])
    hearts, stars = np.array([False, False, False, False, True]), np.array([NONE, NONE, 4, NONE, NONE])
    found = item_weights(plays, skips, hearts, stars, worth)
    expected = [0, np.log(2), np.log(6) + 2 * 0.5, np.log(6) - 3 * np.log(3), np.log(6) + 2]
    np.testing.assert_allclose(found, expected)


def test_full_marks_are_worth_a_heart_and_the_lowest_a_heart_less():
    found = item_weights([0, 0, 0], [0, 0, 0], [True, False, False], [NONE, 5, 1], Worth(heart=1.5))
    np.testing.assert_allclose(found, [1.5, 1.5, -1.5])
