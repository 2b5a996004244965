import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.evaluation import scores_from_distances
from nearsong.library.training.report import Estimate, HeldOutExample, ReportRow, SplitChoice, TrainingReport
from nearsong.library.training.tally import Tally


def full_report() -> TrainingReport:
    row = ReportRow("learned", Estimate(0.7, 0.6, 0.8, 12), None, Estimate(0.6, 0.5, 0.7, 12))
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
        method="paper",
        choice={"loss": "auc", "C": 100.0},
        validation={"paper": 0.7, "listener_space": 0.6},
        loss="auc",
        C=100.0,
        choices=(
            SplitChoice(
                split=0, method="paper", choice={"loss": "auc", "C": 10.0}, validation=0.7, known=0.6, unknown=None
            ),
        ),
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
        ({}, "the training report has version None"),
        ([], "the training report has version None"),
        ({"version": 99}, "the training report has version 99; this nearsong reads 2"),
        ({"version": 2}, "the training report cannot be read"),
        ({**full_report().as_json(), "rows": [{"known": None}]}, "the training report cannot be read .* train again"),
    ],
)
def test_something_else_is_refused(facts, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainingReport.from_json(facts)


def test_a_report_of_the_version_before_is_of_the_papers_method():
    facts = full_report().as_json()
    old = {name: facts[name] for name in facts if name not in ("method", "choice", "validation")} | {
        "version": 1,
        "choices": [{"split": 0, "loss": "auc", "C": 10.0, "validation": 0.7, "known": 0.6, "unknown": None}],
    }
    for row in old["rows"] + old["differences"]:
        row.pop("known_terciles"), row.pop("unknown_terciles")
    report = TrainingReport.from_json(json.loads(json.dumps(old)))
    assert (report.method, report.choice, report.validation) == ("paper", {"loss": "auc", "C": 100.0}, {})
    assert report.choices == full_report().choices
    assert report.score("learned") == 0.7
    assert TrainingReport.from_json({**old, "loss": None, "choices": []}).method is None


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
    complete = Tally(50, seed=0).estimate(values)
    monkeypatch.setattr("nearsong.library.training.tally._BLOCK_NUMBERS", 700)
    in_blocks = Tally(50, seed=0).estimate(values)
    assert in_blocks.low == pytest.approx(complete.low, abs=0.01)
    assert in_blocks.high == pytest.approx(complete.high, abs=0.01)


def test_within_terciles_a_query_counts_with_the_mean_of_those_it_can_be_scored_in():
    tally = Tally(n_artists=2, seed=0)
    artists = np.array([0, 1])
    tally.add_terciles("native", "known", artists, [scores_of([0.5, 1.0]), None, scores_of([1.0, np.nan])])
    tally.add_terciles("native", "unknown", artists, [None, None, None])
    row = tally.row("native")
    assert row.known_terciles.mean == pytest.approx((0.75 + 1.0) / 2)
    assert row.unknown_terciles is None
    assert row.known is None
