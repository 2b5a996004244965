"""Bounds of the slack by the trace, against the linear program that they stand for."""

import numpy as np
import pytest
from scipy.optimize import linprog

from nearsong.metric.bounds import SlackBounds


def best_bound(lines, C):
    """The minimum of t + C * slack over t >= 0 and slack >= 0 above all lines."""
    rows = [[ratio, -1.0] for _, ratio in lines]
    solution = linprog([1.0, C], A_ub=rows or None, b_ub=[-loss for loss, _ in lines] or None)
    return solution.fun


@pytest.mark.parametrize("seed", range(20))
def test_bound_is_the_minimum_over_all_traces(seed):
    rng = np.random.default_rng(seed)
    lines = list(zip(rng.uniform(0.0, 1.0, 12), rng.uniform(-1.0, 0.1, 12), strict=True))
    bounds = SlackBounds()
    for loss, ratio in lines:
        bounds.add(loss, ratio)
    for C in (0.5, 1.0, 3.0, 10.0, 1e3):
        assert bounds.at(C) == pytest.approx(best_bound(lines, C), rel=1e-6, abs=1e-9)


def test_two_lines_bound_more_than_each():
    steep, flat, both = SlackBounds(), SlackBounds(), SlackBounds()
    for bounds, line in ((steep, (0.9, -1.0)), (flat, (0.5, 0.0)), (both, (0.9, -1.0)), (both, (0.5, 0.0))):
        bounds.add(*line)
    assert steep.at(10.0) == pytest.approx(0.9)
    assert flat.at(10.0) == pytest.approx(5.0)
    assert both.at(10.0) == pytest.approx(0.4 + 5.0)  # at the trace 0.4, where they cross


def test_without_planes_the_slack_is_only_known_not_to_be_negative():
    assert SlackBounds().at(1e9) == 0.0


def test_a_line_below_another_changes_nothing():
    bounds = SlackBounds()
    bounds.add(0.9, -0.1)
    before = bounds.at(20.0)
    bounds.add(0.8, -0.2)
    assert bounds.at(20.0) == before
