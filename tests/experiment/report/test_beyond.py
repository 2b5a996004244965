"""Methods beyond the paper are shown with their differences from the paper's, by database and within terciles."""

import re

import numpy as np
import pytest
from scipy import stats

from nearsong.experiment.report import tables
from nearsong.experiment.report.beyond import best_beyond_paper, beyond_words
from nearsong.experiment.report.reading import read_run
from nearsong.experiment.report.report import write_report
from written_runs import pick, scores, write_run

AUCS = {
    "popularity": (0.64, 0.66),
    "ppk_mlr": (0.75, 0.67),
    "all_encoders": (0.73, 0.70),
    "listener_space": (0.81, 0.74),
    "listener_space_hybrid": (0.83, 0.74),
}


def rows_of(n_splits: int):
    random = np.random.default_rng(0)
    rows = []
    for split in range(n_splits):
        for method, (known, unknown) in AUCS.items():
            row = pick(split, method, float(known + random.normal(0, 0.01)), learned=method == "ppk_mlr")
            databases = {"known": known, "unknown": unknown, "mixed": (known + unknown) / 2}
            row["test"] = {
                name: {
                    **scores(float(auc + random.normal(0, 0.01))),
                    "tercile_auc": float(auc + random.normal(-0.02, 0.01)),
                }
                for name, auc in databases.items()
            }
            row["validation"]["unknown"] = scores(unknown)
            rows.append(row)
    return rows


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rows = rows_of(4)
    folder = write_run(tmp_path_factory.mktemp("beyond") / "run", rows)
    return rows, read_run(folder), write_report(folder)


def section(page) -> str:
    return re.search(r'<h2 id="beyond".*?(?=<h2)', page.read_text(), re.DOTALL).group()


def test_each_measure_has_its_auc_and_its_paired_difference(run):
    rows, _, page = run
    text = section(page)
    for measure, (database, score) in tables.MEASURES.items():
        if measure == "mixed_terciles":
            continue  # in the tables only
        own, paper = (
            np.array([row["test"][database][score] for row in rows if row["method"] == method])
            for method in ("listener_space_hybrid", "ppk_mlr")
        )
        assert f"{own.mean():.3f}" in text
        interval = stats.ttest_rel(own, paper).confidence_interval(0.95)
        assert f"+{(own - paper).mean():.3f}" in text
        assert f"(+{interval.low:.3f} to +{interval.high:.3f})" in text
    assert all(name in text for name in ("Mixed", "within terciles", "Popularity"))


def test_the_best_is_chosen_by_validation_of_known_and_unseen_artists(run):
    _, read, _ = run
    best = tables.comparison(read)
    assert best_beyond_paper(best) == "listener_space_hybrid"
    changed = [{**record, "validation_unknown_auc": 0.9} if record["method"] == "listener_space" else record
               for record in best]  # fmt: skip
    assert best_beyond_paper(changed) == "listener_space"
    assert best_beyond_paper([record for record in best if record["method"] == "ppk_mlr"]) is None


def test_the_summary_says_how_far_beyond(run):
    _, read, page = run
    best = tables.comparison(read)
    text = beyond_words(best, tables.paired_differences(read, best))
    assert text.startswith(
        "Beyond the paper, Listener space, known artists by their listeners (the best by validation)"
    )
    assert "difference from PPK + MLR +0.0" in text
    assert "among unseen artists (difference +0.0" in text
    assert text in page.read_text()


def test_a_run_of_the_papers_methods_has_no_such_section(tmp_path):
    page = write_report(write_run(tmp_path / "run", [pick(0, "ppk_mlr", 0.8, learned=True, unknown=0.7)]))
    assert 'id="beyond"' not in page.read_text()
    assert "Beyond the paper" not in page.read_text()


def test_one_split_and_old_runs_without_further_databases_are_shown(tmp_path):
    rows = [pick(0, method, auc, unknown=auc - 0.1) for method, auc in (("ppk_mlr", 0.7), ("listener_space", 0.8))]
    text = section(write_report(write_run(tmp_path / "run", rows)))
    assert "+0.100" in text
    assert "Mixed<" not in text
    assert "terciles<" not in text
