import _thread
import json
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.library.training import fit as training
from nearsong.library.training import held_out as held_out_artists
from nearsong.library.training import learning as learning_in_splits
from nearsong.library.training.fit import TrainingData, TrainingSettings, evaluate, fit_model
from nearsong.library.training.report import Estimate, ReportRow, TrainingReport
from nearsong.library.training.wording import SEEN, sentences
from nearsong.model import CodewordEncoder, MetricProjector, Projection, Quantizer, SimilarityModel, learn_projection
from nearsong.model.held_out import ListeningData, Ranking, Split, make_split
from waiting import wait_for

V = 24
QUICK = TrainingSettings(losses=("auc",), Cs=(1e2, 1e3), n_splits=3, methods=("paper",))


@pytest.fixture(scope="module")
def encoder() -> CodewordEncoder:
    return CodewordEncoder(Quantizer(Codebook(V).fit(np.random.default_rng(0).normal(size=(500, 39))), 1))


def planted(n_artists: int = 60, *, related: bool = True, seed: int = 0, by_song: bool = False) -> TrainingData:
    """Make artists with a taste that is audible in their songs, among much else, and listeners who follow it."""
    random = np.random.default_rng(seed)
    taste = random.normal(size=(n_artists, 2))
    song_artist = np.repeat(np.arange(n_artists), 3)
    sound = random.normal(size=(6, V))
    audible = taste if related else random.permutation(taste)
    manner = np.hstack([0.6 * audible[song_artist], 0.5 * random.normal(size=(len(song_artist), 4))])
    loudness = np.exp(manner @ sound)
    vectors = [random.multinomial(400, row / row.sum()) / 400 for row in loudness]
    users = random.normal(size=(250, 2))

    def plays(of: np.ndarray) -> sp.csr_array:
        gap = ((users[:, None] - of[None]) ** 2).sum(axis=2)
        return sp.csr_array(random.random(gap.shape) < np.exp(-0.7 * gap))

    return TrainingData(
        vectors=np.array(vectors, dtype=np.float32),
        song_artist=song_artist,
        artist_plays=plays(taste),
        song_plays=plays(taste[song_artist]) if by_song else None,
        listeners={"users": 250},
        song_ids=1000 + np.arange(len(song_artist)),
    )


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return planted()


@pytest.fixture(scope="module")
def trained(encoder, data):
    return fit_model(encoder, data, QUICK)


def test_what_listeners_follow_is_learned_and_carries_over_to_artists_never_seen(trained):
    report = trained.report
    assert (report.decision, report.reason) == ("learned", "gain")
    assert report.estimate("learned - native", "known").low > 0.02
    assert report.estimate("learned - native", "unknown").low > 0
    assert report.score("random") < report.score("native") < report.score("learned")
    assert report.score("ceiling") > 0.8
    assert report.score("random") == pytest.approx(0.5, abs=0.05)
    assert [row.name for row in report.rows] == ["random", "popularity", "native", "paper", "learned", "ceiling"]
    assert (report.method, report.validation.keys()) == ("paper", {"paper"})


def test_the_model_learned_from_all_artists_and_says_from_what(encoder, data, trained):
    report, model = trained.report, trained.model
    facts = model.trained_on
    assert (facts["artists"], facts["songs"], facts["unit"]) == (60, 180, "artist")
    assert (facts["loss"], facts["C"], facts["seed"]) == (report.loss, report.C, 0)
    assert facts["listeners"] == report.listeners <= 250
    json.dumps(dict(facts))
    histograms = data.vectors.astype(np.float64)
    histograms /= histograms.sum(axis=1, keepdims=True)
    assert len(model.projector.projections[0].mean) == V
    np.testing.assert_allclose(model.projector.projections[0].mean, np.sqrt(histograms).mean(axis=0), atol=1e-12)
    assert model.encoder.n_dimensions == V
    assert model.project(data.vectors).shape == (180, model.rank)


def histograms_of(data: TrainingData) -> np.ndarray:
    histograms = data.vectors.astype(np.float64)
    return histograms / histograms.sum(axis=1, keepdims=True)


def splits_of(data: TrainingData, n_relevant: int) -> list[Split]:
    listeners = data.artist_plays[np.asarray(data.artist_plays.sum(axis=1)).ravel() >= 2]
    listening_data = ListeningData(song_artist=data.song_artist, plays=sp.csr_array(listeners))
    return [make_split(listening_data, number, n_relevant=n_relevant, seed=0) for number in range(QUICK.n_splits)]


def as_native(data: TrainingData, split: Split) -> np.ndarray:
    """Return embeddings in the native model that would be made of a split's training songs."""
    projection, _ = learn_projection(np.sqrt(histograms_of(data))[split.training.queries])
    return projection.project(np.sqrt(histograms_of(data)))


def artist_means(data: TrainingData, n_relevant: int, database: str, embeddings_of) -> list[float]:
    """Score embeddings again, from nothing but the splits."""
    found: dict[int, list[float]] = {}
    for split in splits_of(data, n_relevant):
        ranking = getattr(split, f"test_{database}")
        scores = ranking.score_vectors(embeddings_of(data, split)).per_query["auc"]
        for query, auc in zip(ranking.queries, scores, strict=True):
            if not np.isnan(auc):
                found.setdefault(data.song_artist[query], []).append(auc)
    return [float(np.mean(values)) for values in found.values()]


def test_the_native_scores_are_those_of_the_native_model_that_would_answer(data, trained):
    for database in ("known", "unknown"):
        means = artist_means(data, trained.report.n_relevant, database, as_native)
        estimate = trained.report.estimate("native", database)
        assert estimate.mean == pytest.approx(np.mean(means), abs=1e-12)
        assert estimate.artists == len(means)
        assert estimate.low < np.mean(means) < estimate.high


def test_test_artists_are_scored_once_for_the_metric_that_validation_chose(encoder, data, monkeypatch):
    scored = []
    original = Ranking.score_embeddings

    def watch(self, queries, database):
        scored.append((tuple(self.queries), tuple(self.database)))
        return original(self, queries, database)

    monkeypatch.setattr(Ranking, "score_embeddings", watch)
    monkeypatch.setattr(held_out_artists, "popularity_terciles", lambda *_: ())
    settings = replace(QUICK, n_splits=1, losses=("auc", "mrr"))
    report = fit_model(encoder, data, settings).report
    counts = sorted(scored.count(pair) for pair in set(scored))
    assert counts == [2, 2, 4, 4]  # native and the chosen one in two databases; two losses x two C on validation
    assert len(report.choices) == 1


def test_the_best_on_average_over_the_splits_is_what_learns_from_all(encoder, data, trained):
    report = trained.report
    assert {choice.split for choice in report.choices} == {0, 1, 2}
    assert report.loss == "auc"
    means = {}
    for C in QUICK.Cs:
        alone = evaluate(encoder, data, QUICK, method="paper", choice={"loss": "auc", "C": C})
        means[C] = np.mean([choice.validation for choice in alone.choices])
    assert max(means, key=means.get) == report.C


def test_two_runs_give_the_same_report_and_the_same_bytes(encoder, data, trained):
    again = fit_model(encoder, data, QUICK)
    assert replace(again.report, seconds={}) == replace(trained.report, seconds={})
    np.testing.assert_array_equal(again.model.project(data.vectors), trained.model.project(data.vectors))


def test_the_report_is_stored_as_json(trained):
    assert TrainingReport.from_json(json.loads(json.dumps(trained.report.as_json()))) == trained.report
    assert trained.report.seconds["total"] >= trained.report.seconds["judging"] > 0


def test_where_sound_says_nothing_about_listeners_the_native_metric_stays(encoder):
    for seed in range(3):
        trained = fit_model(encoder, planted(related=False, seed=seed), QUICK)
        assert trained.model is None
        assert trained.report.decision == "native"
        assert trained.report.reason in ("no_gain", "only_popularity", "worse_on_new")
        assert trained.report.rows


def test_eight_artists_are_too_few_and_that_is_no_error(encoder):
    trained = fit_model(encoder, planted(8))
    assert trained.model is None
    assert (trained.report.decision, trained.report.reason) == ("native", "few_artists")
    assert trained.report.artists_known == 8
    assert trained.report.rows == ()


def few_listeners() -> TrainingData:
    data = planted()
    return replace(data, artist_plays=sp.csr_array(np.ones((4, 60), dtype=bool)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (few_listeners(), "few_listeners"),
        (replace(planted(), vectors=np.full((180, V), 1 / V, dtype=np.float32)), "same_sound"),
        (TrainingData(np.empty((0, V)), np.empty(0, int), sp.csr_array((0, 0), dtype=bool)), "few_artists"),
    ],
)
def test_too_little_of_anything_keeps_the_native_metric(encoder, data, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained = fit_model(encoder, data, QUICK)
    assert trained.model is None
    assert trained.report.reason == reason
    assert evaluate(encoder, data, QUICK, method="paper", choice={"loss": "auc", "C": 10.0}).reason == reason


def test_listeners_who_relate_nothing_leave_nothing_to_judge(encoder):
    data = planted(30)
    of_pair = np.repeat(np.eye(15, dtype=bool), 2, axis=1)  # everybody knows one pair of artists and nothing else
    alone = replace(data, artist_plays=sp.csr_array(np.tile(of_pair, (6, 1))))
    trained = fit_model(encoder, alone, replace(QUICK, n_splits=2))
    assert trained.model is None
    assert (trained.report.decision, trained.report.reason) == ("native", "nothing_to_judge")


def test_splits_that_cannot_be_used_are_in_the_report(encoder, data, monkeypatch):
    monkeypatch.setattr(held_out_artists, "n_usable", lambda ranking: 0)
    report = fit_model(encoder, data, QUICK).report
    assert report.notes == ("3 of the 3 splits could not be used: too few songs are related.",)


def test_a_last_fit_that_ended_early_is_in_the_report(encoder, data):
    hasty = replace(QUICK, n_splits=1, final_tol=1e-9, final_max_rounds=3)
    report = fit_model(encoder, data, hasty).report
    assert [note for note in report.notes if note.startswith("Training stopped after 3 rounds, ")]


def test_songs_can_be_the_units(encoder):
    data = planted(by_song=True)
    trained = fit_model(encoder, data, replace(QUICK, unit="song"))
    report = trained.report
    assert report.unit == "song"
    assert report.decision == "learned"
    assert trained.model.trained_on["unit"] == "song"
    assert fit_model(encoder, data, QUICK).report.unit == "artist"  # 180 songs are too few for "auto"


def test_examples_are_test_songs_and_their_nearest_training_songs(data, trained):
    split = splits_of(data, trained.report.n_relevant)[0]
    ranking, embeddings = split.test_known, as_native(data, split)
    assert len(trained.report.examples) == 8
    artists = set()
    for example in trained.report.examples:
        query = example.query - 1000
        artists.add(data.song_artist[query])
        row = list(ranking.queries).index(query)
        distances = np.linalg.norm(embeddings[ranking.database] - embeddings[query], axis=1)
        nearest = np.argsort(distances, kind="stable")[:5]
        assert example.native == tuple(1000 + ranking.database[nearest])
        assert example.native_relevant == tuple(ranking.relevant.toarray()[row][nearest])
        assert set(example.learned) <= set(1000 + ranking.database)
        assert len(example.learned_relevant) == 5
    assert len(artists) == 8


def test_progress_counts_every_loss_of_every_split_and_ends(encoder, data):
    seen: list[tuple[str, int, int]] = []
    fit_model(
        encoder, data, replace(QUICK, n_splits=2, losses=("auc", "mrr")), progress=lambda *step: seen.append(step)
    )
    assert seen == [("learning", done, 7) for done in range(8)]  # two splits, two losses in each, the final fit


def test_ctrl_c_ends_every_fit_and_leaves_no_thread(encoder, data, monkeypatch):
    before = threading.active_count()
    ended: list[str] = []

    def fit_for_long(*arguments, after_round, **others):
        for _ in range(2000):
            time.sleep(0.01)
            after_round()
        ended.append("by itself")

    monkeypatch.setattr(learning_in_splits, "learn_grid", fit_for_long)
    interrupt = threading.Timer(0.3, _thread.interrupt_main)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        fit_model(encoder, data, replace(QUICK, n_splits=4))
    interrupt.join()
    assert ended == []
    wait_for(lambda: threading.active_count() == before)  # a thread that has just ended may be counted for a moment


def test_evaluation_measures_again_and_decides_nothing(encoder, data, trained):
    report = evaluate(encoder, data, QUICK, method="paper", choice=trained.report.choice)
    assert (report.decision, report.reason) == ("none", "asked")
    assert report.estimate("native") == trained.report.estimate("native")
    assert report.score("learned") == pytest.approx(trained.report.score("learned"), abs=0.02)


def test_without_a_method_nothing_is_learned(encoder, data):
    report = evaluate(encoder, data, QUICK)
    assert [row.name for row in report.rows] == ["random", "popularity", "native", "ceiling"]
    assert report.loss is None
    assert report.examples == ()


def test_an_imported_model_is_scored_as_it_is(encoder, data):
    projection = Projection(
        encoder_index=0, applies_phi=True, mean=np.zeros(V), basis=np.eye(V), factor=3.0 * np.eye(V)
    )
    report = evaluate(encoder, data, QUICK, model=SimilarityModel(encoder, MetricProjector([projection])))
    assert [row.name for row in report.rows] == ["random", "popularity", "native", "imported", "ceiling"]
    for database in ("known", "unknown"):
        complete = artist_means(data, report.n_relevant, database, lambda data, _: np.sqrt(histograms_of(data)))
        assert report.score("imported", database) == pytest.approx(np.mean(complete), abs=1e-6)
        gain = report.score("imported", database) - report.score("native", database)
        assert report.score("imported - native", database) == pytest.approx(gain, abs=1e-12)
    deaf = replace(projection, factor=np.zeros((1, V)))
    report = evaluate(encoder, data, QUICK, model=SimilarityModel(encoder, MetricProjector([deaf])))
    assert report.score("imported") == 0.5


def test_the_report_of_a_model_that_has_seen_these_listens_says_so(encoder, data):
    projection = Projection(encoder_index=0, applies_phi=True, mean=np.zeros(V), basis=np.eye(V), factor=np.eye(V))
    model = SimilarityModel(encoder, MetricProjector([projection]))
    unseen, seen = (evaluate(encoder, data, QUICK, model=model, seen=seen) for seen in (False, True))
    assert unseen.notes == ()
    assert seen.notes == (SEEN,)
    assert SEEN in sentences(TrainingReport.from_json(json.loads(json.dumps(seen.as_json()))))
    with pytest.raises(
        InvalidInputError, match="seen=True needs a model; give the one that was trained on these songs"
    ):
        evaluate(encoder, data, QUICK, seen=True)


def row(name: str, *ends: tuple[float, float] | None) -> ReportRow:
    known, unknown = (None if pair is None else Estimate(sum(pair) / 2, *pair, 30) for pair in ends)
    return ReportRow(name, known, unknown)


@pytest.mark.parametrize(
    ("native", "popularity", "reason"),
    [
        (((0.05, 0.09), (0.01, 0.11)), (-0.1, -0.05), "only_popularity"),  # half as wide again, it reaches 0
        (((0.05, 0.09), (0.03, 0.09)), (-0.1, -0.05), "gain"),
        (((0.05, 0.09), (-0.02, 0.03)), (0.01, 0.05), "gain"),
        (((0.05, 0.09), (-0.02, 0.03)), (-0.01, 0.05), "only_popularity"),
        (((0.05, 0.09), (-0.05, -0.01)), (0.01, 0.05), "worse_on_new"),
        (((0.05, 0.09), None), (0.01, 0.05), "gain"),
        (((-0.09, 0.05), (0.03, 0.09)), (0.01, 0.05), "no_gain"),
        ((None, (0.03, 0.09)), (0.01, 0.05), "nothing_to_judge"),
    ],
)
def test_the_rule_by_which_the_learned_metric_is_taken(native, popularity, reason):
    differences = (row("learned - native", *native), row("learned - popularity", popularity, None))
    assert training.verdict(TrainingReport("native", "", differences=differences)) == reason


def test_what_cannot_be_asked_is_refused(encoder, data):
    with pytest.raises(InvalidInputError, match=r"choice={'C': 1.0} is of no method; give method too, or no choice"):
        evaluate(encoder, data, choice={"C": 1.0})
    with pytest.raises(InvalidInputError, match="unit='song' needs listens that name songs"):
        fit_model(encoder, data, TrainingSettings(unit="song"))
