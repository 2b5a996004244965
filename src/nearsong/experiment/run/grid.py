"""Data set and settings -> tasks -> rows of results; tasks run in parallel, and an interrupted run continues."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from nearsong import __version__
from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError
from nearsong.executor import run_tasks
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.methods.learned import ALL_ENCODERS_MLR, AVERAGED, SHUFFLED
from nearsong.experiment.methods.listener_space import SpaceMethod
from nearsong.experiment.methods.method import Baseline, LearnedMethod, Method, Need, Quantization
from nearsong.experiment.methods.registry import METHODS, main_method
from nearsong.experiment.run.encoders import choose_encoders
from nearsong.experiment.run.learning import learn_grid, pick_row, score_row, vectors_to_learn_on
from nearsong.experiment.run.prepare import prepare
from nearsong.experiment.run.prepared import CACHE_FORMAT, Prepared, load_prepared, write_population
from nearsong.experiment.run.protocol import (
    choose_population,
    describe_part,
    make_split,
    shuffled_training,
    training_on,
)
from nearsong.experiment.run.results import ResultsFile, Row
from nearsong.experiment.run.settings import Settings
from nearsong.experiment.run.showcase import write_showcase
from nearsong.experiment.run.spaces import LearnedMetric, space_rows
from nearsong.model.held_out import Split, n_usable
from nearsong.model.selection import Learned, PCAVectors, averaged_factor, best_of
from nearsong.types import Note, Progress, no_note, no_progress


@dataclass(frozen=True, order=True)
class Task:
    """A unit of work: one split and one ``Method.task``, statistics or learning curve. Lower priority runs first."""

    split: int
    name: str
    codebook: int | None = None
    tau: int | None = None
    priority: int = field(default=2, compare=False)

    @property
    def key(self) -> str:
        """Key in the results file."""
        parts = [f"split {self.split}", self.name]
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
    progress: Progress = no_progress,
    note: Note = no_note,
) -> Path:
    """Run the paper's experiment on a data-set folder; started again, it continues where it stopped.

    Parameters
    ----------
    dataset : path-like
        The folder of the data set.
    out : path-like
        The folder of the run; created if necessary.
    settings : Settings
        The grid and the protocol.
    jobs : int, optional
        Number of processes on this machine.
    cluster : str, optional
        Address of a Dask scheduler to use instead.
    progress : callable, optional
        Called with the name of a stage, the number of finished tasks and of all tasks.
    note : callable, optional
        Called with notes about the data for the user.

    Returns
    -------
    Path
        The folder of the run, with ``run.json``, ``results.jsonl`` and ``showcase.npz``.
    """
    run = Path(out)
    data = Dataset.open(dataset)
    population = choose_population(data, settings)
    settings, notes = _available_methods(data, len(population.codebook_songs), settings)
    settings = replace(settings, encoders=_encoders_of(data, settings))
    notes = [*data.notes, *notes]
    for text in notes:
        note(text)
    (run / "cache").mkdir(parents=True, exist_ok=True)
    _write_or_check_header(
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
    finished = results.finished_tasks()
    pending = [task for task in tasks if task.key not in finished]
    n_finished = len(tasks) - len(pending)
    progress("experiment", n_finished, len(tasks))
    work = partial(run_task, str(run.resolve()))
    for n, (task, (rows, costs)) in enumerate(run_tasks(work, pending, jobs=jobs, cluster=cluster), 1):
        results.append(task.key, rows, **costs)
        progress("experiment", n_finished + n, len(tasks))
    if not (run / "showcase.npz").exists():
        write_showcase(run, data, load_prepared(str(run.resolve())), results.rows())
    return run


def _available_methods(data: Dataset, n_codebook_songs: int, settings: Settings) -> tuple[Settings, list[str]]:
    """Drop the methods whose needs the data set does not meet; return the settings and notes for the user."""
    if data.content != "vectors" and n_codebook_songs == 0:
        raise InvalidInputError(
            f"Every artist has at least {settings.min_listeners} listeners, so no songs are left for the codebook; "
            "raise --min-listeners."
        )
    missing = {Need.SOUND: data.content == "vectors", Need.TAGS: data.tags is None}
    available: list[str] = []
    dropped: dict[Need, list[str]] = {}
    for name in settings.methods:
        unmet = [need for need in METHODS[name].needs if missing[need]]
        (dropped.setdefault(unmet[-1], []) if unmet else available).append(name)
    notes = [f"Skipped {', '.join(names)}: {need.value}." for need, names in dropped.items()]
    if not available:
        raise InvalidInputError(f"No method can be compared. {' '.join(notes)}")
    return replace(settings, methods=tuple(available)), notes


def _encoders_of(data: Dataset, settings: Settings) -> tuple[str, ...]:
    """Return the encoders of the run; none if no method joins them."""
    if settings.encoders or any(METHODS[name].uses_all_encoders for name in settings.methods):
        return choose_encoders(data, settings.encoders)
    return ()


def _write_or_check_header(
    run: Path, data: Dataset, settings: Settings, statistics: dict[str, int], notes: list[str]
) -> None:
    """Write ``run.json``, or check that an existing one has the same data and settings."""
    path = run / "run.json"
    fingerprint = data.fingerprint()
    if path.exists():
        _check_header(path, fingerprint, settings)
        return
    header = {
        "nearsong": __version__,
        "cache_format": CACHE_FORMAT,
        "dataset": {
            "name": data.name,
            "folder": str(data.folder),
            "fingerprint": fingerprint,
            "content": data.content,
            "n_songs": data.n_songs,
            "n_artists": len(data.artists),
            "n_users": data.n_users,
            "notes": notes,
        },
        "settings": settings.as_json(),
        "statistics": statistics,
    }
    with atomic_write(path) as file:
        file.write(json.dumps(header, indent=2).encode())


def _check_header(path: Path, fingerprint: str, settings: Settings) -> None:
    try:
        header = json.loads(path.read_text())
        stored, stored_fingerprint = header["settings"], header["dataset"]["fingerprint"]
        stored_methods = ",".join(stored["methods"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path} was not written by nearsong; choose another --out.") from error
    if header.get("cache_format") != CACHE_FORMAT:
        raise InvalidInputError(
            f"{path.parent} holds a run of another version of nearsong and cannot continue; choose another --out."
        )
    if stored_fingerprint != fingerprint:
        raise InvalidInputError(f"{path.parent} holds a run on other data; choose another --out.")
    changed = [name for name, value in settings.as_json().items() if stored.get(name) != value]
    if changed == ["methods"]:
        raise InvalidInputError(
            f"{path.parent} holds a run of other methods; continue it with --methods {stored_methods}, or choose "
            "another --out."
        )
    if changed:
        raise InvalidInputError(
            f"{path.parent} holds a run with other settings ({', '.join(changed)}); choose another --out."
        )


def list_tasks(prepared: Prepared) -> list[Task]:
    """Return all tasks of a run, long ones first."""
    splits = range(prepared.settings.n_splits)
    tasks = dict.fromkeys(task for number in splits for task in _tasks_of_split(prepared, number))
    return sorted(tasks, key=lambda task: (task.priority, task.split, -(task.codebook or 0), task.tau or 0))


def _tasks_of_split(prepared: Prepared, number: int) -> Iterator[Task]:
    settings = prepared.settings
    grid = [Quantization(size, tau) for size in settings.codebooks for tau in settings.taus]
    yield Task(number, "statistics")
    for method in prepared.methods:
        cells = grid if method.uses_codebook and prepared.has_sound else [Quantization()]
        for cell in cells:
            yield Task(number, method.task, cell.codebook, cell.tau, priority=method.priority)
    if main_method(prepared) in prepared.methods:
        yield Task(number, "curve", priority=SHUFFLED.priority)


def run_task(run: str, task: Task) -> tuple[list[Row], dict[str, float]]:
    """Run one task; return its rows, and how long it took: by the clock, and of the processor."""
    start, used = perf_counter(), process_time()
    prepared = load_prepared(run)
    split = make_split(prepared.population, task.split, prepared.settings)
    if task.name == "statistics":
        rows = [_statistics(prepared, split)]
    elif task.name == "curve":
        rows = _curve(prepared, split)
    else:
        quantization = Quantization(task.codebook, task.tau)
        methods = [method for method in prepared.methods if method.task == task.name]
        rows = [row for method in methods for row in _method_rows(prepared, split, method, quantization)]
    return rows, {"seconds": perf_counter() - start, "cpu_seconds": process_time() - used}


def _method_rows(prepared: Prepared, split: Split, method: Method, quantization: Quantization) -> list[Row]:
    if isinstance(method, LearnedMethod):
        return _learned(prepared, split, method, quantization)
    if isinstance(method, SpaceMethod):
        metric = None
        if method.with_metric:
            metric = LearnedMetric.of(*_fitted_grid(prepared, split, ALL_ENCODERS_MLR, Quantization()))
        return space_rows(prepared, split, method, metric)
    assert isinstance(method, Baseline)
    return [_baseline(prepared, split, method, quantization)]


def _statistics(prepared: Prepared, split: Split) -> Row:
    parts = {"training": split.training, "validation": split.validation, "test": split.test_known}
    described = {name: describe_part(ranking, prepared.population) for name, ranking in parts.items()}
    return {"kind": "split", "split": split.number, "parts": described}


def _configuration(method: str, quantization: Quantization) -> Row:
    return {
        "method": method,
        "codebook": quantization.codebook,
        "tau": quantization.tau,
        "loss": None,
        "C": None,
        "dimension": None,
        "rank": None,
    }


def _baseline(prepared: Prepared, split: Split, method: Baseline, quantization: Quantization) -> Row:
    scores = score_row(prepared, split, method.score(prepared, split, quantization))
    configuration = _configuration(method.reported_name(prepared), quantization)
    return {"kind": "pick", "split": split.number, **configuration, **scores}


def _main_quantization(prepared: Prepared) -> Quantization:
    return Quantization(*prepared.settings.main) if prepared.has_sound else Quantization()


def _main_loss(settings: Settings) -> tuple[str, ...]:
    return ("auc",) if "auc" in settings.losses else settings.losses[:1]


def _learned(prepared: Prepared, split: Split, method: LearnedMethod, quantization: Quantization) -> list[Row]:
    """Fit a method's full grid of losses and C; choose by validation; score the test queries once."""
    if method.shuffled:
        quantization = _main_quantization(prepared)
    songs, grid = _fitted_grid(prepared, split, method, quantization)
    configuration = {**_configuration(method.reported_name(prepared), quantization), "dimension": songs.dimension}
    rows = [{"kind": "cell", "split": split.number, **configuration, **learned.row} for learned in grid]
    best = best_of(grid)
    chosen = {**configuration, "loss": best.loss, "C": best.C, "rank": best.row["rank"]}
    rows.append(pick_row(prepared, split, songs, best.factor, chosen))
    if method is main_method(prepared):
        factor = averaged_factor(grid, songs, split.training.queries)
        averaged = {**configuration, "method": AVERAGED.name, "rank": len(factor)}
        rows.append(pick_row(prepared, split, songs, factor, averaged))
    return rows


@lru_cache(maxsize=1)  # the methods of a task may need the same metrics
def _fitted_grid(
    prepared: Prepared, split: Split, method: LearnedMethod, quantization: Quantization
) -> tuple[PCAVectors, list[Learned]]:
    """Return the songs that a method learns on, and its metrics for every loss and C."""
    settings = prepared.settings
    training, losses = split.training, settings.losses
    if method.shuffled:
        training, losses = shuffled_training(prepared.population, split, settings), _main_loss(settings)
    songs = vectors_to_learn_on(method, prepared, split, quantization)
    return songs, learn_grid(songs, training, split.validation, losses, settings)


def _curve(prepared: Prepared, split: Split) -> list[Row]:
    """Learn from a part of the training artists; the database stays the same."""
    settings, population = prepared.settings, prepared.population
    method, quantization = main_method(prepared), _main_quantization(prepared)
    artists = np.unique(population.song_artist[split.training.queries])
    order = np.random.default_rng([settings.seed, split.number, 17]).permutation(artists)
    rows = []
    for share in settings.curve:
        known = np.sort(order[: max(4, round(share * len(order)))])
        training = training_on(population, split, known, settings)
        if n_usable(training) == 0:  # few artists may all be relevant to each other
            continue
        songs = vectors_to_learn_on(method, prepared, split, quantization, training.queries)
        best = best_of(learn_grid(songs, training, split.validation, _main_loss(settings), settings))
        configuration = _configuration(method.reported_name(prepared), quantization)
        row = pick_row(prepared, split, songs, best.factor, {**configuration, "loss": best.loss, "C": best.C})
        rows.append({**row, "kind": "curve", "artists": len(known), "songs": len(training.queries)})
    return rows
