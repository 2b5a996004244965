"""The experiment as tasks: made from the settings, run anywhere, each done once however often the run is started."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from nearsong import __version__
from nearsong.errors import InvalidInputError
from nearsong.executor import run_tasks
from nearsong.experiment.dataset import Dataset
from nearsong.experiment.methods import judge, learn_grid, pick_row, plain_vectors
from nearsong.experiment.prepare import Prepared, Progress, load_prepared, prepare, save_whole, write_population
from nearsong.experiment.protocol import choose_population, describe_part, make_split, shuffled_training, training_on
from nearsong.experiment.results import ResultsFile, Row
from nearsong.experiment.settings import Settings
from nearsong.experiment.showcase import write_showcase
from nearsong.model.held_out import Split, n_usable
from nearsong.model.selection import (
    averaged_factor,
    best_of,
    ceiling_score,
    compress,
    popularity_score,
    random_score,
)

TAG_METHODS = ("tags_cosine", "tags_tfidf", "tags_mlr")
SMD_METHODS = ("smd", "smd_mlr")


@dataclass(frozen=True, order=True)
class Task:
    """One piece of work; its name is its key in the results."""

    split: int
    what: str
    codebook: int | None = None
    tau: int | None = None

    @property
    def key(self) -> str:
        """Name it in the results file."""
        parts = [f"split {self.split}", self.what]
        if self.codebook is not None:
            parts += [f"codebook {self.codebook}", f"tau {self.tau}"]
        return ", ".join(parts)


def run_experiment(
    dataset: str | Path,
    out: str | Path,
    settings: Settings,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda text: None,
) -> Path:
    """Run the paper's experiment on a data-set folder; started again, it goes on where it was.

    Parameters
    ----------
    dataset : path-like
        The folder of the data set.
    out : path-like
        The folder of the run; made if it is not there.
    settings : Settings
        The grid and the protocol.
    jobs : int, optional
        Processes on this machine.
    cluster : str, optional
        Address of a Dask scheduler instead.
    progress : callable, optional
        Called with a stage's name, tasks done and tasks in all.
    note : callable, optional
        Called with what a user should know about the data.

    Returns
    -------
    Path
        The folder of the run, with ``run.json``, ``results.jsonl`` and ``showcase.npz``.
    """
    run = Path(out)
    data = Dataset.open(dataset)
    population = choose_population(data, settings)
    settings, notes = _what_the_data_can_do(data, len(population.codebook_songs), settings)
    notes = [*data.notes, *notes]
    for text in notes:
        note(text)
    (run / "cache").mkdir(parents=True, exist_ok=True)
    _claim(
        run,
        data,
        settings,
        {
            "experiment_artists": population.n_artists,
            "experiment_songs": len(population.songs),
            "codebook_artists": len(np.unique(population.codebook_artists)),
        },
        notes,
    )
    if not (run / "cache" / "population.npz").exists():
        write_population(run / "cache", data, population)
    load_prepared.cache_clear()
    prepare(run.resolve(), jobs=jobs, cluster=cluster, progress=progress)
    results = ResultsFile(run / "results.jsonl")
    tasks = list_tasks(load_prepared(str(run.resolve())))
    done = results.done()
    todo = [task for task in tasks if task.key not in done]
    progress("experiment", len(tasks) - len(todo), len(tasks))
    work = partial(run_task, str(run.resolve()))
    for n, (task, (rows, seconds)) in enumerate(run_tasks(work, todo, jobs=jobs, cluster=cluster), 1):
        results.append(task.key, rows, seconds)
        progress("experiment", len(tasks) - len(todo) + n, len(tasks))
    if not (run / "showcase.npz").exists():
        write_showcase(run, data, load_prepared(str(run.resolve())), results.rows())
    return run


def _what_the_data_can_do(data: Dataset, n_codebook_songs: int, settings: Settings) -> tuple[Settings, list[str]]:
    """Leave out methods that the data set has nothing for, and say so."""
    lacking: dict[str, str] = {}
    if data.content == "vectors":
        reason = "the data set has vectors and no sound"
        lacking |= dict.fromkeys(("native_ppk", "tfidf", "ppk_mlr", "gmm", *SMD_METHODS), reason)
    elif n_codebook_songs == 0:
        raise InvalidInputError(
            f"every artist has {settings.min_listeners} listeners or more, so no songs are left for the codebook; "
            "raise --min-listeners."
        )
    if data.tags is None:
        lacking |= dict.fromkeys((*TAG_METHODS, *SMD_METHODS), "the data set has no tags")
    kept = tuple(method for method in settings.methods if method not in lacking)
    notes = [
        f"left out {', '.join(method for method in settings.methods if lacking.get(method) == reason)}: {reason}."
        for reason in dict.fromkeys(lacking[method] for method in settings.methods if method in lacking)
    ]
    if not kept:
        raise InvalidInputError(f"nothing is left to compare: {'; '.join(notes)}")
    return Settings(**{**settings.__dict__, "methods": kept}), notes


def _claim(run: Path, data: Dataset, settings: Settings, statistics: dict[str, int], notes: list[str]) -> None:
    """Write what the run is about, or make sure that it is about the same."""
    facts = {
        "nearsong": __version__,
        "dataset": {
            "name": data.name,
            "folder": str(data.folder),
            "fingerprint": data.fingerprint(),
            "content": data.content,
            "n_songs": data.n_songs,
            "n_artists": len(data.artists),
            "n_users": data.n_users,
            "notes": notes,
        },
        "settings": settings.as_json(),
        "statistics": statistics,
    }
    path = run / "run.json"
    if path.exists():
        try:
            before = json.loads(path.read_text())
            known = (before["settings"], before["dataset"]["fingerprint"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{path} is not one of ours; choose another --out.") from error
        if known[1] != facts["dataset"]["fingerprint"]:  # type: ignore[index]
            raise InvalidInputError(f"{run} holds a run on other data; choose another --out.")
        changed = [name for name, value in settings.as_json().items() if known[0].get(name) != value]
        if changed:
            raise InvalidInputError(
                f"{run} holds a run with other settings ({', '.join(changed)}); choose another --out."
            )
        return
    save_whole(path, lambda file: file.write(json.dumps(facts, indent=2).encode()))


def list_tasks(prepared: Prepared) -> list[Task]:
    """Return all tasks of a run, long ones first."""
    settings = prepared.settings
    grid = (
        [(size, tau) for size in settings.codebooks for tau in settings.taus]
        if prepared.has_sound
        else [(None, None)]
    )
    tasks = []
    for number in range(settings.n_splits):
        tasks += [Task(number, what) for what in ("statistics", "controls")]
        for method in ("mlr", "ppk_mlr"):
            if method in settings.methods:
                tasks += [Task(number, method, size, tau) for size, tau in grid]
        if prepared.wants("native", "native_ppk", "tfidf"):
            tasks += [Task(number, "plain", size, tau) for size, tau in grid]
        for what, methods in {"gmm": ("gmm",), "smd": ("smd",), "tags": ("tags_cosine", "tags_tfidf")}.items():
            if prepared.wants(*methods) and (what != "smd" or len(prepared.tag_columns())):
                tasks.append(Task(number, what))
        tasks += [Task(number, method) for method in ("smd_mlr", "tags_mlr", "shuffled") if _can(prepared, method)]
        if _curve_method(prepared) in settings.methods:
            tasks.append(Task(number, "curve"))
    order = {"ppk_mlr": 0, "mlr": 0, "curve": 1, "shuffled": 1}
    return sorted(tasks, key=lambda task: (order.get(task.what, 2), task.split, -(task.codebook or 0), task.tau or 0))


def _can(prepared: Prepared, method: str) -> bool:
    if method not in prepared.settings.methods:
        return False
    return method != "smd_mlr" or len(prepared.tag_columns()) > 0


def _curve_method(prepared: Prepared) -> str:
    return "ppk_mlr" if prepared.has_sound else "mlr"


def run_task(run: str, task: Task) -> tuple[list[Row], float]:
    """Do one task; return its rows and how long it took."""
    start = perf_counter()
    prepared = load_prepared(run)
    split = make_split(prepared.population, task.split, prepared.settings)
    if task.what == "statistics":
        rows = [_statistics(prepared, split)]
    elif task.what == "controls":
        rows = _controls(prepared, split)
    elif task.what in ("plain", "gmm", "smd", "tags"):
        rows = _plain(prepared, split, task)
    elif task.what == "curve":
        rows = _curve(prepared, split)
    else:
        rows = _learned(prepared, split, task)
    return rows, perf_counter() - start


def _statistics(prepared: Prepared, split: Split) -> Row:
    parts = {"training": split.training, "validation": split.validation, "test": split.test_known}
    described = {name: describe_part(ranking, prepared.population) for name, ranking in parts.items()}
    return {"kind": "split", "split": split.number, "parts": described}


def _facts(method: str, codebook: int | None = None, tau: int | None = None) -> Row:
    # without a codebook they are about the vectors that came with the data
    name = {"native": "native_vectors", "mlr": "vectors_mlr"}.get(method, method) if codebook is None else method
    return {
        "method": name,
        "codebook": codebook,
        "tau": tau,
        "loss": None,
        "C": None,
        "dimension": None,
        "rank": None,
    }


def _plain_row(split: Split, facts: Row, score: Any) -> Row:
    return {"kind": "pick", "split": split.number, **facts, **judge(split, score)}


def _controls(prepared: Prepared, split: Split) -> list[Row]:
    population, n_relevant, seed = prepared.population, prepared.settings.n_relevant, prepared.settings.seed
    controls = {
        "random": random_score(split, seed),
        "popularity": popularity_score(population, split, n_relevant),
        "ceiling": ceiling_score(population, split, n_relevant=n_relevant, seed=seed),
    }
    return [_plain_row(split, _facts(name), score) for name, score in controls.items() if prepared.wants(name)]


def _plain(prepared: Prepared, split: Split, task: Task) -> list[Row]:
    if task.what == "gmm":
        table = prepared.mixture_distances()
        return [_plain_row(split, _facts("gmm"), lambda ranking: ranking.score_distances(table))]
    group = {"plain": ("native", "native_ppk", "tfidf"), "smd": ("smd",), "tags": ("tags_cosine", "tags_tfidf")}
    rows = []
    for method in group[task.what]:
        if prepared.wants(method):
            vectors = plain_vectors(prepared, split, method, task.codebook, task.tau)
            facts = _facts(method, task.codebook, task.tau)
            rows.append(_plain_row(split, facts, lambda ranking, vectors=vectors: ranking.score_vectors(vectors)))
    return rows


def _learned(prepared: Prepared, split: Split, task: Task) -> list[Row]:
    """Fit a method's whole grid of losses and C; choose by validation; score the test queries once."""
    settings = prepared.settings
    codebook, tau = task.codebook, task.tau
    teacher = split.training
    losses = settings.losses
    if task.what == "shuffled":
        teacher = shuffled_training(prepared.population, split, settings)
        losses = ("auc",) if "auc" in losses else losses[:1]
        codebook, tau = settings.main if prepared.has_sound else (None, None)
    source = task.what if prepared.has_sound or task.what != "shuffled" else "mlr"
    vectors = plain_vectors(prepared, split, source, codebook, tau)
    keep = None if not prepared.has_sound and source == "mlr" else 0.95
    songs = compress(vectors, split.training.queries, keep)
    grid = learn_grid(songs, teacher, split.validation, losses, prepared.settings)
    facts = {**_facts(task.what, codebook, tau), "dimension": songs.dimension}
    rows = [{"kind": "cell", "split": split.number, **facts, **learned.row} for learned in grid]
    best = best_of(grid)
    rows.append(
        pick_row(split, songs, best.factor, {**facts, "loss": best.loss, "C": best.C, "rank": best.row["rank"]})
    )
    if task.what == _curve_method(prepared):
        factor = averaged_factor(grid, songs, split.training.queries)
        rows.append(pick_row(split, songs, factor, {**facts, "method": "averaged", "rank": len(factor)}))
    return rows


def _curve(prepared: Prepared, split: Split) -> list[Row]:
    """Learn from some of the training artists only; the database stays as it is."""
    settings, population = prepared.settings, prepared.population
    method = _curve_method(prepared)
    codebook, tau = settings.main if prepared.has_sound else (None, None)
    vectors = plain_vectors(prepared, split, method, codebook, tau)
    artists = np.unique(population.song_artist[split.training.queries])
    order = np.random.default_rng([settings.seed, split.number, 17]).permutation(artists)
    losses = ("auc",) if "auc" in settings.losses else settings.losses[:1]
    rows = []
    for share in settings.curve:
        known = np.sort(order[: max(4, round(share * len(order)))])
        teacher = training_on(population, split, known, settings)
        if n_usable(teacher) == 0:  # so few artists that all are each other's nearest
            continue
        songs = compress(vectors, teacher.queries, 0.95 if prepared.has_sound else None)
        best = best_of(learn_grid(songs, teacher, split.validation, losses, prepared.settings))
        facts = {**_facts(method, codebook, tau), "loss": best.loss, "C": best.C}
        row = pick_row(split, songs, best.factor, facts)
        rows.append({**row, "kind": "curve", "artists": len(known), "songs": len(teacher.queries)})
    return rows
