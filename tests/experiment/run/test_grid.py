import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nearsong.errors import DatasetError, InvalidInputError
from nearsong.experiment import make_dataset
from nearsong.experiment.methods.learned import PPK_MLR
from nearsong.experiment.methods.method import LearnedMethod, Need, Quantization
from nearsong.experiment.methods.registry import DEFAULT_METHODS, METHODS
from nearsong.experiment.run.grid import Task, list_tasks, run_experiment, run_task
from nearsong.experiment.run.learning import learn_grid, vectors_to_learn_on
from nearsong.experiment.run.prepared import load_prepared
from nearsong.experiment.run.protocol import make_split
from nearsong.experiment.run.results import ResultsFile
from nearsong.experiment.run.settings import Settings
from nearsong.model.held_out import Ranking
from nearsong.model.selection import MAX_AUC_BELOW_BEST, averaged_factor, best_of, compress

SETTINGS = Settings(
    codebooks=(16, 32),
    taus=(1, 2),
    losses=("auc", "mrr"),
    Cs=(10.0, 1e3),
    n_splits=2,
    min_listeners=25,
    n_relevant=4,
    curve=(0.5, 1.0),
)

ONE_CELL = Settings(**{**SETTINGS.__dict__, "codebooks": (16,), "taus": (1,), "losses": ("auc",), "Cs": (1e3,)})
"""One cell for each method: for what is not about choosing among cells."""

FEW_METHODS = Settings(
    **{
        **ONE_CELL.__dict__,
        "methods": ("random", "native", "tags_cosine", "mlr", "ppk_mlr", "tags_mlr", "shuffled", "listener_space"),
    }
)
"""A method of each kind, and one cell each: for what is about how tasks are run."""


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "world"
    make_dataset(folder, n_artists=60, n_users=400, frames_per_song=60, n_tags=12, seed=3)
    return folder


@pytest.fixture(scope="session")
def finished(world, tmp_path_factory) -> Path:
    return run_experiment(world, tmp_path_factory.mktemp("run") / "run", SETTINGS, jobs=1)


@pytest.fixture(scope="session")
def few_methods(world, tmp_path_factory) -> Path:
    return run_experiment(world, tmp_path_factory.mktemp("few") / "run", FEW_METHODS, jobs=1)


def numbers(run: Path) -> dict[str, list]:
    """Return all rows without their times, by task."""
    found: dict[str, list] = {}
    for row in ResultsFile(run / "results.jsonl").rows():
        found.setdefault(row["task"], []).append({name: row[name] for name in sorted(row) if name != "seconds"})
    return found


def test_the_results_have_every_cell_and_every_method(finished):
    rows = ResultsFile(finished / "results.jsonl").rows()
    cells = Counter((row["method"], row["codebook"], row["tau"]) for row in rows if row["kind"] == "cell")
    for method in ("mlr", "ppk_mlr"):
        for codebook in (16, 32):
            for tau in (1, 2):
                assert cells[method, codebook, tau] == 2 * 2 * 2  # splits, losses, C
    picked = {row["method"] for row in rows if row["kind"] == "pick"}
    assert picked == {*DEFAULT_METHODS, "averaged"}
    assert {row["split"] for row in rows if row["kind"] == "split"} == {0, 1}
    for row in rows:
        if row["kind"] == "cell":
            assert {"rounds", "gap", "seconds", "dimension", "rank"} <= row.keys()
        if row["kind"] == "pick":
            assert 0 <= row["test"]["known"]["auc"] <= 1
            assert 0 <= row["test"]["unknown"]["auc"] <= 1


def test_what_is_known_to_be_true_is_found(tmp_path):
    make_dataset(tmp_path / "world", n_artists=140, n_users=900, frames_per_song=120, songs_per_artist=(2, 3), seed=5)
    settings = Settings(
        codebooks=(64,),
        taus=(1,),
        losses=("auc",),
        Cs=(1e2, 1e3, 1e4),
        n_splits=2,
        min_listeners=40,
        n_relevant=6,
        methods=("random", "ceiling", "native_ppk", "ppk_mlr", "shuffled"),
    )
    run = run_experiment(tmp_path / "world", tmp_path / "run", settings, jobs=1)
    rows = [row for row in ResultsFile(run / "results.jsonl").rows() if row["kind"] == "pick"]

    def auc(method):
        return np.mean([row["test"]["known"]["auc"] for row in rows if row["method"] == method])

    assert auc("ppk_mlr") > auc("native_ppk") + 0.05  # listeners' taste is in the sound, among much else
    assert auc("ppk_mlr") > auc("shuffled") + 0.05
    assert abs(auc("random") - 0.5) < 0.05
    assert auc("ceiling") > 0.9


def test_the_pick_is_the_best_on_validation(finished):
    rows = ResultsFile(finished / "results.jsonl").rows()
    for pick in rows:
        if pick["kind"] == "pick" and pick["method"] in ("mlr", "ppk_mlr", "tags_mlr"):
            same = ("split", "method", "codebook", "tau")
            cells = [row for row in rows if row["kind"] == "cell" and all(row[name] == pick[name] for name in same)]
            best = max(cell["validation"]["known"]["auc"] for cell in cells)
            assert pick["validation"]["known"]["auc"] == best


def test_test_queries_are_scored_once_for_the_pick(finished, monkeypatch):
    scored = []
    original = Ranking.score_vectors
    split = make_split(load_prepared(str(finished.resolve())).population, 0, SETTINGS)

    def watch(self, vectors):
        scored.append(tuple(self.queries))
        return original(self, vectors)

    monkeypatch.setattr(Ranking, "score_vectors", watch)
    run_task(str(finished.resolve()), Task(0, "mlr", 16, 1))
    counts = Counter(scored)
    assert counts[tuple(split.test_known.queries)] == 3 * (1 + 3)  # one metric, three databases and their terciles
    assert counts[tuple(split.validation.queries)] == 2 * 2 + 2


@pytest.mark.parametrize("method", ["native", "tfidf", "mlr", "ppk_mlr", "tags_tfidf", "tags_mlr"])
def test_what_is_fitted_sees_training_songs_only(finished, method):
    prepared = load_prepared(str(finished.resolve()))
    split = make_split(prepared.population, 0, SETTINGS)
    training = split.training.queries
    others = np.setdiff1d(np.arange(prepared.n_songs), training)
    chosen = METHODS[method]
    baseline, quantization = chosen.base if isinstance(chosen, LearnedMethod) else chosen, Quantization(16, 1)
    vectors = baseline.vectors(prepared, training, quantization)
    changed = ChangedSongs(prepared, others)
    np.testing.assert_array_equal(vectors[training], baseline.vectors(changed, training, quantization)[training])
    songs = compress(vectors, training)
    strange = vectors.copy()
    strange[others] = np.random.default_rng(0).normal(size=strange[others].shape)
    changed_songs = compress(strange, training)
    np.testing.assert_array_equal(songs.vectors[training], changed_songs.vectors[training])
    first = learn_grid(songs, split.training, split.validation, ["auc"], SETTINGS)
    second = learn_grid(changed_songs, split.training, split.validation, ["auc"], SETTINGS)
    for expected, actual in zip(first, second, strict=True):
        np.testing.assert_array_equal(actual.factor, expected.factor)


class ChangedSongs:
    """Prepared data in which songs that are not for training sound like something else."""

    def __init__(self, prepared, others):
        self._prepared, self._others = prepared, others
        self.tags = prepared.tags.copy()
        dense = self.tags.toarray()
        dense[others] = np.random.default_rng(1).random(dense[others].shape) < 0.5
        self.tags = type(prepared.tags)(dense)

    def histograms(self, codebook, tau):
        histograms = self._prepared.histograms(codebook, tau)
        histograms[self._others] = np.random.default_rng(2).dirichlet(np.ones(codebook), size=len(self._others))
        return histograms

    def __getattr__(self, name):
        return getattr(self._prepared, name)


def test_averaging_is_the_mean_of_metrics_scaled_to_the_same_spread(finished):
    prepared = load_prepared(str(finished.resolve()))
    split = make_split(prepared.population, 0, SETTINGS)
    songs = vectors_to_learn_on(PPK_MLR, prepared, split, Quantization(32, 1))
    grid = learn_grid(songs, split.training, split.validation, ["auc", "mrr"], SETTINGS)
    factor = averaged_factor(grid, songs, split.training.queries)
    near = [cell for cell in grid if cell.auc >= best_of(grid).auc - MAX_AUC_BELOW_BEST]
    covariance = np.cov(songs.vectors[split.training.queries].T, bias=True)
    metrics = [cell.factor.T @ cell.factor for cell in near]
    expected = np.mean([metric / np.trace(metric @ covariance) for metric in metrics], axis=0)
    np.testing.assert_allclose(factor.T @ factor, expected, atol=1e-8 * np.abs(expected).max())


def test_started_again_nothing_is_done_twice(finished, world):
    before = (finished / "results.jsonl").read_bytes()
    run_experiment(world, finished, SETTINGS, jobs=1)
    assert (finished / "results.jsonl").read_bytes() == before


def test_two_processes_give_the_same_numbers(few_methods, world, tmp_path):
    run_experiment(world, tmp_path / "run", FEW_METHODS, jobs=2)
    assert numbers(tmp_path / "run") == numbers(few_methods)


def test_a_cluster_gives_the_same_numbers_though_a_worker_dies(few_methods, world, tmp_path, dask_cluster):
    address, workers = dask_cluster()
    stages = []

    def kill_one(stage, done, total):
        stages.append(stage)
        if stage == "experiment" and done == 3:
            os.kill(workers[0].pid, signal.SIGKILL)

    run_experiment(world, tmp_path / "run", FEW_METHODS, cluster=address, progress=kill_one)
    assert workers[0].wait(timeout=60) == -signal.SIGKILL
    assert numbers(tmp_path / "run") == numbers(few_methods)


def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_numbers(few_methods, world, tmp_path):
    code = (
        "import sys\n"
        "from nearsong.experiment.run.grid import run_experiment\n"
        "from nearsong.experiment.run.settings import Settings\n"
        "import json\n"
        "settings = Settings.from_json(json.loads(sys.argv[3]))\n"
        "run_experiment(sys.argv[1], sys.argv[2], settings, jobs=1)\n"
    )
    run = tmp_path / "run"
    command = [sys.executable, "-c", code, world, run, json.dumps(FEW_METHODS.as_json())]
    results, killed = run / "results.jsonl", 0
    for n_rows in (0, 1, 5):  # before there is a result, after the first, after some more
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                if run.exists() and (
                    not n_rows or (results.exists() and results.read_bytes().count(b"\n") >= n_rows)
                ):
                    process.send_signal(signal.SIGKILL)
                    killed += 1
                    break
                time.sleep(0.01)
    assert killed == 3
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"kind": "pick", "task": "split 0, contr')  # as if cut in the middle of a write
    run_experiment(world, run, FEW_METHODS, jobs=1)
    assert numbers(run) == numbers(few_methods)


def test_other_settings_or_other_data_need_another_folder(finished, world, tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"holds a run with other settings \(n_splits\); choose another --out"
    ):
        run_experiment(world, finished, Settings(**{**SETTINGS.__dict__, "n_splits": 3}), jobs=1)
    fewer = Settings(**{**SETTINGS.__dict__, "methods": DEFAULT_METHODS[1:]})
    with pytest.raises(
        InvalidInputError, match=rf"other methods; continue it with --methods {','.join(DEFAULT_METHODS)}"
    ):
        run_experiment(world, finished, fewer, jobs=1)
    make_dataset(tmp_path / "other", n_artists=60, n_users=400, frames_per_song=60, n_tags=12, seed=4)
    with pytest.raises(InvalidInputError, match="holds a run on other data"):
        run_experiment(tmp_path / "other", finished, SETTINGS, jobs=1)
    header = json.loads((finished / "run.json").read_text())
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.json").write_text(json.dumps(header | {"cache_format": 1}))
    with pytest.raises(InvalidInputError, match="run of another version of nearsong and cannot continue"):
        run_experiment(world, tmp_path / "old", SETTINGS, jobs=1)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "run.json").write_text("[]")
    with pytest.raises(InvalidInputError, match=r"run\.json was not written by nearsong"):
        run_experiment(world, tmp_path / "odd", SETTINGS, jobs=1)


def test_vectors_skip_the_codebook(tmp_path):
    make_dataset(tmp_path / "data", n_artists=60, n_users=400, content="vectors", n_tags=12, seed=3)
    notes: list[str] = []
    run = run_experiment(tmp_path / "data", tmp_path / "run", ONE_CELL, jobs=1, note=notes.append)
    need_sound = [name for name, method in METHODS.items() if method.is_default and Need.SOUND in method.needs]
    assert f"Skipped {', '.join(need_sound)}: the data set has vectors instead of sound." in notes
    rows = ResultsFile(run / "results.jsonl").rows()
    picked = {row["method"] for row in rows if row["kind"] == "pick"}
    assert picked == {
        *("random", "popularity", "ceiling", "native_vectors", "vectors_mlr", "averaged", "shuffled"),
        *("tags_cosine", "tags_tfidf", "tags_mlr", "all_encoders", "all_encoders_mlr"),
        *("listener_space", "listener_space_hybrid", "listener_space_mlr"),
    }
    assert all(row["codebook"] is None for row in rows if row["kind"] == "pick")


def test_the_showcase_holds_plain_arrays(finished):
    with np.load(finished / "showcase.npz", allow_pickle=False) as stored:
        n = len(stored["song_id"])
        assert stored["native"].shape[0] == stored["learned"].shape[0] == n
        assert stored["relevant"].shape == (len(stored["queries"]), n)
        assert stored["is_test"][stored["queries"]].all()
        assert not stored["relevant"][:, stored["is_test"]].any()


def test_nothing_left_to_compare_and_no_codebook_songs_are_reported(world, tmp_path):
    make_dataset(tmp_path / "data", n_artists=40, n_users=300, content="vectors", n_tags=0, seed=3)
    only_tags = Settings(**{**SETTINGS.__dict__, "methods": ("tags_cosine",)})
    with pytest.raises(InvalidInputError, match="No method can be compared"):
        run_experiment(tmp_path / "data", tmp_path / "run", only_tags, jobs=1)
    with pytest.raises((InvalidInputError, DatasetError), match="no songs are left for the codebook"):
        run_experiment(world, tmp_path / "all", Settings(**{**SETTINGS.__dict__, "min_listeners": 1}), jobs=1)


def test_every_stage_is_seen_to_end(world, tmp_path):
    seen: dict[str, tuple[int, int]] = {}
    small = Settings(**{**SETTINGS.__dict__, "methods": ("native",), "n_splits": 1, "codebooks": (16,), "taus": (1,)})
    run_experiment(
        world,
        tmp_path / "run",
        small,
        jobs=1,
        progress=lambda stage, done, total: seen.update({stage: (done, total)}),
    )
    assert {"frames for the codebooks", "codebooks", "songs", "experiment"} <= seen.keys()
    assert all(done == total for done, total in seen.values())


def test_the_longest_tasks_come_first(finished):
    tasks = list_tasks(load_prepared(str(finished.resolve())))
    assert len({task.key for task in tasks}) == len(tasks)
    assert {task.name for task in tasks[:16]} == {"mlr", "ppk_mlr"}
