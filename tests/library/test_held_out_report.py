import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.evaluation import scores_from_distances
from nearsong.library.held_out_report import (
    Estimate,
    HeldOutExample,
    ReportRow,
    SplitChoice,
    Tally,
    TrainingReport,
)


def full_report() -> TrainingReport:
    row = ReportRow("learned", Estimate(0.7, 0.6, 0.8, 12), None)
    return TrainingReport(
        "learned",
        "gain",
        unit="song",
        artists=12,
        listeners=1300,
        listener_kinds={"users": 3},
        parts={"training": {"artists": 4.0, "songs": 9.5}},
        rows=(row,),
        differences=(ReportRow("learned - native", None, Estimate(0.1, -0.1, 0.2, 3)),),
        loss="auc",
        C=100.0,
        choices=(SplitChoice(0, "auc", 10.0, 0.7, 0.6, None),),
        examples=(HeldOutExample(7, (1, 2), (True, False), (2, 3), (False, True)),),
        seconds={"total": 1.5},
        notes=("one", "two"),
    )


def test_a_report_survives_json():
    for report in (full_report(), TrainingReport("native", "few_artists")):
        assert TrainingReport.from_json(json.loads(json.dumps(report.as_json()))) == report


def test_fields_that_a_later_release_adds_are_passed_over():
    assert TrainingReport.from_json({**full_report().as_json(), "weather": "fine"}) == full_report()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, "a training report of version None came"),
        ([], "a training report of version None came"),
        ({"version": 99}, "a training report of version 99 came; this nearsong reads 1"),
        ({"version": 1}, "this is no training report"),
        ({**full_report().as_json(), "rows": [{"name": "x"}]}, "this is no training report .* train anew"),
    ],
)
def test_something_else_is_refused(facts, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainingReport.from_json(facts)


def test_scores_are_found_by_name_and_database():
    report = full_report()
    assert report.score("learned") == 0.7
    assert report.score("learned", "unknown") is None
    assert report.score("native") is None
    assert report.score("learned - native", "unknown") == 0.1
    assert report.learned_from == "12 artists, 1,300 listeners"
    with pytest.raises(InvalidInputError, match="database='new' is unknown"):
        report.score("learned", "new")


def scores_of(auc: list[float]):
    """Return scores with some AUC each, in steps of a quarter; NaN cannot be scored."""
    relevant = np.zeros((len(auc), 5), dtype=bool)
    distances = np.zeros((len(auc), 5))
    for row, value in enumerate(auc):
        if not np.isnan(value):
            relevant[row, 0] = True
            distances[row, 1:] = np.where(np.arange(4) < 4 * value, 1.0, -1.0)
    return scores_from_distances(distances, relevant)


def test_an_artist_counts_once_however_many_songs_and_splits():
    tally = Tally(n_artists=4, seed=0)
    tally.add("native", "known", np.array([0, 0, 0, 2]), scores_of([1.0, 1.0, 0.25, 0.5]))
    tally.add("native", "known", np.array([0, 1, 1]), scores_of([0.75, 0.0, np.nan]))
    means = tally.artist_means("native", "known")
    np.testing.assert_allclose(means, [0.75, 0.0, 0.5, np.nan])
    found = tally.row("native")
    assert found.known.mean == pytest.approx(1.25 / 3)
    assert found.known.artists == 3
    assert found.unknown is None


def test_differences_are_over_artists_that_both_have():
    tally = Tally(n_artists=3, seed=0)
    tally.add("learned", "known", np.array([0, 1]), scores_of([1.0, 0.5]))
    tally.add("native", "known", np.array([1, 2]), scores_of([0.25, 0.0]))
    difference = tally.difference("learned", "native")
    assert difference.name == "learned - native"
    assert difference.known == Estimate(0.25, 0.25, 0.25, 1)
    assert difference.unknown is None


def test_what_could_not_be_scored_adds_nothing():
    tally = Tally(n_artists=3, seed=0)
    tally.add("native", "known", np.array([0]), None)
    assert tally.row("native") == ReportRow("native", None, None)


def test_the_interval_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(0.7, 0.1, size=400)
    estimate = Tally(400, seed=1).estimate(values)
    half = 1.96 * values.std() / np.sqrt(400)
    assert estimate.mean == pytest.approx(values.mean())
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(2)
    tally = Tally(60, seed=0)
    estimates = [tally.estimate(random.beta(6, 3, size=60)) for _ in range(150)]
    held = np.mean([estimate.low <= 6 / 9 <= estimate.high for estimate in estimates])
    assert 0.88 <= held <= 0.99


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_an_interval_lies_within_the_values_and_is_the_same_each_time(values, seed):
    estimate = Tally(len(values), seed).estimate(values)
    assert min(values) - 1e-12 <= estimate.low <= estimate.high <= max(values) + 1e-12
    assert estimate == Tally(len(values), seed).estimate(values)


def test_many_artists_are_resampled_in_blocks(monkeypatch):
    values = np.random.default_rng(0).random(50)
    whole = Tally(50, seed=0).estimate(values)
    monkeypatch.setattr("nearsong.library.held_out_report._BLOCK", 700)
    in_blocks = Tally(50, seed=0).estimate(values)
    assert in_blocks.low == pytest.approx(whole.low, abs=0.01)
    assert in_blocks.high == pytest.approx(whole.high, abs=0.01)
