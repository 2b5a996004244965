"""The sentences of a report against intervals and curves made by hand."""

import math

import pytest

from nearsong.experiment.report import tables
from nearsong.experiment.report.reading import read_run
from nearsong.experiment.report.wording import curve_words, findings, verdict
from written_runs import pick, write_run


def pair(method, against, low, high, database="known"):
    middle = (low + high) / 2
    return {"method": method, "against": against, "database": database, "difference": middle, "low": low,
            "high": high, "above": 9, "splits": 10}  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "word", "sentence"),
    [
        (0.01, 0.03, "above", "Learning from listeners helped."),
        (-0.03, -0.01, "below", "Learning from listeners made results worse."),
        (-0.01, 0.02, "level", "Learning from listeners made no clear difference."),
    ],
)
def test_the_first_sentence_follows_the_interval(tmp_path, low, high, word, sentence):
    run = read_run(write_run(tmp_path, [pick(0, "native", 0.6), pick(0, "ppk_mlr", 0.7, learned=True)]))
    difference = pair("ppk_mlr", "native", low, high)
    assert verdict(difference) == word
    assert findings(run, tables.comparison(run), [difference], [])[0].startswith(sentence)


def test_a_shuffled_control_that_gains_is_not_explained_away(tmp_path):
    methods = ("native", "ppk_mlr", "shuffled")
    run = read_run(write_run(tmp_path, [pick(0, method, 0.6, learned=method != "native") for method in methods]))
    pairs = [pair("ppk_mlr", "native", 0.1, 0.2), pair("shuffled", "native", 0.01, 0.02)]
    words = " ".join(findings(run, tables.comparison(run), pairs, []))
    assert "part of the gain does not depend on which artists are related" in words


def curve_rows(*points):
    return [{"artists": artists, "known_auc": auc} for artists, auc in points]


def test_the_learning_curve_is_put_into_words():
    rising = curve_rows((50, 0.60), (100, 0.65), (200, 0.70), (400, 0.75))
    assert curve_words(rising, 0.68, 800) == [
        "With a quarter of the training artists (200) the learned metric reaches 0.700, above native (0.680).",
        "It stays above native from 200 artists on.",
        "The curve has not levelled off: from 200 to 400 artists AUC still rises by 0.050, so more artists may help.",
    ]
    flat = curve_rows((100, 0.5), (400, 0.6), (800, 0.605))
    assert curve_words(flat, 0.68, 800) == [
        "With an eighth of the training artists (100) the learned metric reaches 0.500, below native (0.680).",
        "No tested number of artists is enough to stay above native.",
        "400 artists are enough to come within 0.010 of the best AUC (0.605).",
    ]
    assert curve_words(rising[:1], 0.6, 800) == []
    assert len(curve_words(rising, math.nan, 800)) == 1
