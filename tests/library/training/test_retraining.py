"""Training again: nothing without news, and only a model that is better than the one in use."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from library.training.test_fit import encoder, planted  # noqa: F401 - a fixture
from nearsong.library.listeners.deduplicate import HistoryListens
from nearsong.library.listeners.known_listens import KnownListens
from nearsong.library.training import fit
from nearsong.library.training.fit import ActiveModel, TrainingSettings, fit_model
from nearsong.library.training.held_out import ACTIVE_AS_IT_IS
from nearsong.library.training.report import Estimate, ReportRow, TrainingReport
from nearsong.library.training.retraining.last_training import last_training
from nearsong.library.training.wording import PLAIN, sentences, verdict

SPACE = TrainingSettings(
    methods=("listener_space",), penalties=(0.3,), centroid_shares=(0.0,), sound_weights=(0.25,), n_splits=3
)
PARAMETERS = {"penalty": 0.3, "centroid_share": 0.0, "sound_weight": 0.25}


@pytest.fixture(scope="module")
def data():
    return planted(70)


@pytest.fixture(scope="module")
def in_use(encoder, data):  # noqa: F811
    fitted = fit_model(encoder, data, SPACE)
    assert fitted.model is not None
    return fitted.model


def active(model, known):
    return ActiveModel(model, "listener_space", PARAMETERS, known, np.ones(len(known.vectors), dtype=bool))


def test_the_model_in_use_is_scored_as_if_it_had_not_seen_the_held_out_artists(encoder, data, in_use):  # noqa: F811
    report = fit_model(encoder, data, SPACE, active=active(in_use, data)).report
    for database in ("known", "unknown"):
        assert report.score("active", database) == pytest.approx(report.score("listener_space", database), abs=0.01)
    as_it_is = fit_model(encoder, data, SPACE, active=ActiveModel(in_use)).report
    assert as_it_is.score("active", "known") > report.score("active", "known") + 0.01  # it has seen them
    assert (as_it_is.decision, as_it_is.reason) == ("active", "not_better")
    assert ACTIVE_AS_IT_IS in as_it_is.notes
    assert ACTIVE_AS_IT_IS not in report.notes


def test_a_model_of_few_listeners_is_replaced_when_there_are_more(encoder, data):  # noqa: F811
    few = replace(data, artist_plays=sp.csr_array(data.artist_plays[:10]))
    fitted = fit_model(encoder, data, SPACE, active=active(fit_model(encoder, data, SPACE).model, few))
    assert (fitted.report.decision, fitted.model is not None) == ("learned", True)
    assert fitted.report.estimate("learned - active", "known").mean > 0


def test_songs_that_the_model_did_not_know_are_not_used_for_it(encoder, data, in_use):  # noqa: F811
    half = ActiveModel(in_use, "listener_space", PARAMETERS, data, np.arange(len(data.vectors)) % 3 == 0)
    all_of_them = active(in_use, data)
    scores = [
        fit_model(encoder, data, SPACE, active=each).report.score("active", "known") for each in (half, all_of_them)
    ]
    assert scores[0] != scores[1]


def rows(learned: float, in_use: float, gain: tuple[float, float, float]) -> TrainingReport:
    def estimate(mean, low, high):
        return Estimate(mean, low, high, 50)

    return TrainingReport(
        "learned",
        "gain",
        rows=(
            ReportRow("native", estimate(0.6, 0.5, 0.7), None),
            ReportRow("active", estimate(in_use, 0.7, 0.8), None),
            ReportRow("learned", estimate(learned, 0.7, 0.8), None),
        ),
        differences=(
            ReportRow("learned - native", estimate(0.1, 0.05, 0.15), estimate(0.1, 0.05, 0.15)),
            ReportRow("learned - active", estimate(*gain), estimate(*gain)),
        ),
    )


def test_the_result_names_the_model_in_use():
    better = rows(0.76, 0.74, (0.02, -0.01, 0.04))
    assert fit.verdict(better) == "gain"
    assert verdict(better, PLAIN).startswith("Better: 76 of 100 pairs in the right order, was 74. ")
    assert any("Against the model in use" in line for line in sentences(better))
    same = rows(0.761, 0.758, (0.003, -0.01, 0.02))
    assert "was 75.8 (now 76.1)" in verdict(same, PLAIN)
    worse = replace(rows(0.74, 0.75, (-0.01, -0.02, 0.01)), decision="active", reason="not_better")
    assert fit.verdict(worse) == "not_better"
    assert verdict(worse) == (
        "Not better than the model in use, so it stays: 75 of 100 pairs in the right order, the new one 74."
    )
    assert fit.verdict(replace(better, differences=better.differences[:1])) == "gain"  # nothing in use yet


def test_what_was_known_is_told_by_histories_and_times():
    listens = HistoryListens("events", *(np.arange(4, dtype=np.int32) for _ in range(4)))
    known = KnownListens.from_json(KnownListens.of(["a", "b"], newest=2).as_json())
    assert len(known.part_of("a", listens)) == 3
    assert len(known.part_of("new", listens)) == 0
    assert known.part_of("b", replace(listens, kind="counts")).user.tolist() == [0, 1, 2, 3]


# ---- a library


def test_without_news_nothing_is_learned_until_there_is_some(trained):
    models, last = len(trained.models()), last_training(trained._store)
    assert (last.decision, last.model, last.songs) == ("learned", trained.active_model, 72)
    report = trained.train()
    assert (report.decision, report.reason) == ("active", "same_data")
    assert verdict(report) == "Nothing has changed since the last training, so there is nothing new to learn."
    assert (len(trained.models()), last_training(trained._store)) == (models, last)
    quick = TrainingSettings(methods=("listener_space",), n_splits=3)
    report = trained.train(quick)  # other settings
    assert report.reason != "same_data"
    assert report.score("active") is not None
    assert trained.train(quick).reason == "same_data"
    trained.play_log.record_all([(1, None)], "somebody")
    assert trained.train(quick).reason != "same_data"  # a play is news
    assert trained.train(quick, even_if_unchanged=True).reason != "same_data"
    trained.use_model(trained.models()[0].id)
    report = trained.train(quick)  # another model to compare with: sound alone
    assert report.reason != "same_data"
    assert report.score("active") is None
