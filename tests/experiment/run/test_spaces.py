"""Listener spaces of the experiment: what they are chosen by, and what they must not know."""

import gzip
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.experiment import make_dataset
from nearsong.experiment.methods.fused import fused_songs
from nearsong.experiment.methods.learned import ALL_ENCODERS_MLR
from nearsong.experiment.methods.listener_space import COMBINED, HYBRID, LISTENER_SPACE, outside_of_training
from nearsong.experiment.methods.method import Quantization
from nearsong.experiment.run.grid import run_experiment
from nearsong.experiment.run.learning import learn_grid, vectors_to_learn_on
from nearsong.experiment.run.prepared import load_prepared
from nearsong.experiment.run.protocol import make_split
from nearsong.experiment.run.results import ResultsFile
from nearsong.experiment.run.settings import Settings
from nearsong.experiment.run.spaces import LearnedMetric, SpaceLearner
from nearsong.model.held_out import mixed_ranking

SETTINGS = Settings(
    losses=("auc",),
    Cs=(10.0, 1e3),
    n_splits=2,
    min_listeners=25,
    n_relevant=4,
    encoders=("gaussian", "brought"),
    methods=("all_encoders", "all_encoders_mlr", "listener_space", "listener_space_hybrid", "listener_space_mlr"),
)
SPACES = [LISTENER_SPACE, HYBRID]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    make_dataset(folder / "world", n_artists=60, n_users=400, frames_per_song=60, n_tags=0, seed=3)
    with gzip.open(folder / "world" / "listens.csv.gz", "rt") as file:
        listens = file.read()
    random = np.random.default_rng(0)
    users = sorted({line.split(",")[0] for line in listens.splitlines()[1:]})
    outside = [f"{user},nobody {i},20" for user in users for i in np.flatnonzero(random.random(15) < 0.2)]
    with gzip.open(folder / "world" / "listens.csv.gz", "wt") as file:
        file.write(listens + "\n".join(outside) + "\n")
    n_songs = len((folder / "world" / "songs.csv").read_text().splitlines()) - 1
    np.save(folder / "world" / "brought.npy", np.random.default_rng(1).normal(size=(n_songs, 6)))
    return run_experiment(folder / "world", folder / "run", SETTINGS, jobs=1)


@pytest.fixture(scope="module")
def prepared(finished):
    return load_prepared(str(finished.resolve()))


@pytest.fixture(scope="module")
def split(prepared):
    return make_split(prepared.population, 0, SETTINGS)


class ChangedSongs:
    """Prepared data in which some songs sound like something else."""

    def __init__(self, prepared, songs):
        self._prepared, self._songs = prepared, songs

    def _changed(self, vectors):
        vectors = vectors.copy()
        vectors[self._songs] = np.random.default_rng(2).normal(size=vectors[self._songs].shape)
        return vectors

    def stored(self, feature):
        return {"vectors": self._changed(self._prepared.stored(feature)["vectors"])}

    def given_vectors(self, name):
        given = self._prepared.given_vectors(name)
        return None if given is None else (self._changed(given[0]), given[1])

    def __getattr__(self, name):
        return getattr(self._prepared, name)


def embeddings(space, ranking):
    """Return the embeddings of queries and database of a ranking, as they are scored."""
    found = []
    watched = replace(ranking)
    object.__setattr__(watched, "score_embeddings", lambda queries, database: found.extend([queries, database]))
    space.score(watched)
    return found


def fit_space(prepared, split, method, metric=None):
    learner = SpaceLearner(prepared, split, method, metric)
    return learner.balance(learner.fit({}))


def learned_metric(prepared, split):
    songs = vectors_to_learn_on(ALL_ENCODERS_MLR, prepared, split, Quantization())
    return LearnedMetric.of(songs, learn_grid(songs, split.training, split.validation, ["auc"], SETTINGS))


def test_every_method_has_a_score_for_every_split_and_database(finished):
    rows = [row for row in ResultsFile(finished / "results.jsonl").rows() if row["kind"] == "pick"]
    assert {(row["method"], row["split"]) for row in rows} == {(m, s) for m in SETTINGS.methods for s in (0, 1)}
    for row in rows:
        for part, databases in {"validation": ("known", "unknown"), "test": ("known", "unknown", "mixed")}.items():
            assert all(0 <= row[part][database]["auc"] <= 1 for database in databases)
        assert all(0 <= row["test"][database]["tercile_auc"] <= 1 for database in ("known", "unknown", "mixed"))


def test_by_sound_and_by_listeners_differ_for_known_artists_only(finished):
    rows = [row for row in ResultsFile(finished / "results.jsonl").rows() if row["kind"] == "pick"]
    by_sound, hybrid = ([row for row in rows if row["method"] == method.name] for method in SPACES)
    for first, second in zip(by_sound, hybrid, strict=True):
        assert first["test"]["known"] != second["test"]["known"]
        if first["choice"] == second["choice"]:
            assert first["test"]["unknown"] == second["test"]["unknown"]


def test_listeners_taste_is_found_in_the_sound(finished):
    rows = [row for row in ResultsFile(finished / "results.jsonl").rows() if row["kind"] == "pick"]
    aucs = {
        method: np.mean([row["test"]["known"]["auc"] for row in rows if row["method"] == method])
        for method in SETTINGS.methods
    }
    assert aucs["listener_space"] > aucs["all_encoders"] + 0.03
    assert aucs["listener_space_hybrid"] > aucs["all_encoders"] + 0.03


def test_the_choice_is_the_best_by_validation_and_others_are_written_down(finished):
    rows = ResultsFile(finished / "results.jsonl").rows()
    for pick in rows:
        if pick["kind"] == "pick" and pick["method"].startswith("listener_space"):
            same = [
                r
                for r in rows
                if r["kind"] == "space" and (r["method"], r["split"]) == (pick["method"], pick["split"])
            ]
            best = max(same, key=lambda row: row["validation_auc"])
            assert pick["choice"] == best["choice"]
            known, unknown = (pick["validation"][database]["auc"] for database in ("known", "unknown"))
            assert best["validation_auc"] == pytest.approx((known + unknown) / 2)


@pytest.mark.parametrize("method", [*SPACES, COMBINED], ids=lambda method: method.name)
def test_listens_of_held_out_artists_change_no_byte(prepared, split, method):
    outside = outside_of_training(prepared, split)
    plays = prepared.population.all_plays.toarray()
    plays[:, outside] = np.random.default_rng(0).random((len(plays), len(outside))) < 0.3
    changed = replace(prepared, population=replace(prepared.population, all_plays=sp.csr_array(plays)))
    metric = learned_metric(prepared, split) if method.with_metric else None
    fit = partial(fit_space, split=split, method=method, metric=metric)
    first, second = fit(prepared), fit(changed)
    for ranking in (split.test_known, split.test_unknown, mixed_ranking(prepared.population, split, 4)):
        for expected, actual in zip(embeddings(first, ranking), embeddings(second, ranking), strict=True):
            assert expected.tobytes() == actual.tobytes()


@pytest.mark.parametrize("method", [*SPACES, COMBINED], ids=lambda method: method.name)
def test_songs_of_held_out_artists_change_no_byte_of_others(prepared, split, method):
    """Validation songs sound otherwise: known songs and test queries keep their embeddings."""
    changed = ChangedSongs(prepared, split.validation.queries)
    spaces = []
    for data in (prepared, changed):
        metric = None
        if method.with_metric:
            songs = vectors_to_learn_on(ALL_ENCODERS_MLR, data, split, Quantization())
            grid = learn_grid(songs, split.training, split.training, ["auc"], SETTINGS)
            metric = LearnedMetric.of(songs, grid)
        spaces.append(fit_space(data, split, method, metric))
    for expected, actual in zip(*(embeddings(space, split.test_known) for space in spaces), strict=True):
        assert expected.tobytes() == actual.tobytes()
    queries, database = zip(*(embeddings(space, split.test_unknown) for space in spaces), strict=True)
    assert queries[0].tobytes() == queries[1].tobytes()
    assert database[0].tobytes() != database[1].tobytes()


def test_anchors_are_training_artists_and_artists_outside_the_experiment(prepared, split):
    space = fit_space(prepared, split, HYBRID).space
    outside = outside_of_training(prepared, split)
    training = np.unique(prepared.population.song_artist[split.training.queries])
    np.testing.assert_array_equal(space.artists_, training)
    assert not space.popularity_[outside].any()
    assert space.popularity_[prepared.population.n_artists :].any()


@pytest.mark.parametrize("method", SPACES, ids=lambda method: method.name)
def test_centroids_are_of_songs_in_the_database_only(prepared, split, method):
    """Without one song of each artist in the database, only those artists move."""
    space = fit_space(prepared, split, method)
    ranking = split.test_unknown
    artists = prepared.population.song_artist[ranking.database]
    chosen = artists[0]
    others = np.flatnonzero(artists != chosen)
    smaller = replace(
        ranking,
        database=ranking.database[others],
        relevant=ranking.relevant[:, others],
        ignored=ranking.ignored[:, others],
    )
    assert embeddings(space, smaller)[1].tobytes() == embeddings(space, ranking)[1][others].tobytes()


def test_the_vectors_are_joined_with_statistics_of_training_songs_only(prepared, split):
    training = split.training.queries
    others = np.setdiff1d(np.arange(prepared.n_songs), training)
    phi = fused_songs(prepared, SETTINGS.encoders, training)
    changed = fused_songs(ChangedSongs(prepared, others), SETTINGS.encoders, training)
    assert phi[training].tobytes() == changed[training].tobytes()
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1.0)


def test_a_metric_on_principal_components_is_the_same_on_phi(prepared, split):
    songs = vectors_to_learn_on(ALL_ENCODERS_MLR, prepared, split, Quantization())
    metric = LearnedMetric.of(songs, learn_grid(songs, split.training, split.validation, ["auc"], SETTINGS))
    phi = fused_songs(prepared, SETTINGS.encoders, split.training.queries)
    distances = np.linalg.norm(np.diff(phi, axis=0) @ metric.factor.T, axis=1)
    expected = np.linalg.norm(np.diff(songs.vectors, axis=0) @ metric.learned.factor.T, axis=1)
    np.testing.assert_allclose(distances, expected, rtol=1e-8)


def test_vectors_without_sound_have_a_listener_space_too(tmp_path):
    make_dataset(tmp_path / "data", n_artists=60, n_users=400, content="vectors", n_tags=0, seed=3)
    settings = replace(SETTINGS, encoders=(), n_splits=1)
    run = run_experiment(tmp_path / "data", tmp_path / "run", settings, jobs=1)
    assert load_prepared(str(run.resolve())).encoders == ("vectors",)
    picked = {row["method"] for row in ResultsFile(run / "results.jsonl").rows() if row["kind"] == "pick"}
    assert picked == set(SETTINGS.methods)
