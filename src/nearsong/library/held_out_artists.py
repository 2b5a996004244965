"""Songs of artists that are held out -> how well metrics rank them that learned from other artists."""

import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nearsong.encoding import ProductKernelMap
from nearsong.evaluation import RankingScores
from nearsong.executor import available_processors
from nearsong.library.held_out_report import DATABASES, HeldOutExample, SplitChoice, Tally, TrainingReport
from nearsong.library.training_data import FloatArray, Taught, TrainingData, TrainingSettings
from nearsong.model.held_out import Ranking, Score, Split, make_split, n_usable
from nearsong.model.selection import (
    Compressed,
    Learned,
    best_of,
    ceiling_score,
    compress,
    learn_grid,
    popularity_score,
    random_score,
)

Progress = Callable[[str, int, int], None]

_MOST_THREADS = 4  # beyond, they wait for one another's Python
_LOOK_UP = 0.2  # seconds after which an interrupt is noticed
_EXAMPLES, _NEAREST = 8, 5


class HeldOut:
    """Splits of the artists, what is learned in each, and how it ranks."""

    def __init__(self, taught: Taught, settings: TrainingSettings) -> None:
        self._taught, self._settings = taught, settings
        vectors: FloatArray = ProductKernelMap().transform(taught.histograms)
        with one_thread_each():
            splits = [self._split(number) for number in range(taught.n_splits)]
            usable = [split for split in splits if n_usable(split.training) and n_usable(split.validation)]
            self._songs = [compress(vectors, split.training.queries) for split in usable]
        self._splits: list[Split] = usable
        self._grids: list[list[Learned]] = [[] for _ in usable]
        self._places: dict[str, FloatArray] = {}
        self._notes: list[str] = []
        if len(usable) < len(splits):
            few = f"{len(splits) - len(usable)} of the {len(splits)} times that artists were held out"
            self._notes.append(f"{few} could not be used: too few songs are related.")

    def _split(self, number: int) -> Split:
        taught = self._taught
        return make_split(taught.audience, number, n_relevant=taught.n_relevant, seed=self._settings.seed)

    def add_places(self, name: str, places: FloatArray) -> None:
        """Score places of all songs (songs x d) too."""
        self._places[name] = places

    def learn(self, losses: tuple[str, ...], Cs: tuple[float, ...], steps: "Steps") -> None:
        """Fit every loss and C in every split.

        Threads do it: a fit spends its time in compiled code that lets others run, and unlike processes they start at
        once and need nothing of the program that calls. Ctrl-C ends every fit after its round.
        """
        stop = threading.Event()

        def heed() -> None:
            if stop.is_set():
                raise CancelledError

        def fit(place: int, loss: str) -> list[Learned]:
            split = self._splits[place]
            return learn_grid(
                self._songs[place],
                split.training,
                split.validation,
                (loss,),
                Cs,
                tol=self._settings.tol,
                max_rounds=self._settings.max_rounds,
                after_round=heed,
            )

        with one_thread_each(), ThreadPoolExecutor(min(available_processors(), _MOST_THREADS)) as pool:
            tasks = [[pool.submit(fit, place, loss) for loss in losses] for place in range(len(self._splits))]
            left = {task for of_split in tasks for task in of_split}
            try:
                while left:
                    # with a timeout, because a wait without end cannot be interrupted on every system
                    done, left = wait(left, timeout=_LOOK_UP, return_when=FIRST_COMPLETED)
                    for task in done:
                        task.result()
                        steps.step()
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._grids = [[each for task in of_split for each in task.result()] for of_split in tasks]

    def report(self, report: TrainingReport, data: TrainingData) -> TrainingReport:
        """Score the test artists, once, and sum up."""
        tally = Tally(self._taught.audience.n_artists, self._settings.seed)
        choices = []
        with one_thread_each():
            for place in range(len(self._splits)):
                scores = self._score_split(place, tally)
                if self._grids[place]:
                    choices.append(self._choice(place, *scores))
            examples = self._examples(data) if choices else ()
        others = list(self._places)
        names = ["random", "popularity", "native", *others, *(["learned"] if choices else []), "ceiling"]
        rows = tuple(row for row in map(tally.row, names) if row.known or row.unknown)
        judged = [name for name in ("learned", *others) if any(row.name == name for row in rows)]
        differences = tuple(tally.difference(name, other) for name in judged for other in ("native", "popularity"))
        loss, C = self._best_on_average() if choices else (None, None)
        return replace(
            report,
            rows=rows,
            differences=differences,
            loss=loss,
            C=C,
            choices=tuple(choices),
            examples=examples,
            parts=self._parts(),
            n_splits=len(self._splits),
            notes=tuple(self._notes),
        )

    def _score_split(self, place: int, tally: Tally) -> list[float | None]:
        """Add a split's scores; return those of the metric that was chosen, by database."""
        split, taught, seed = self._splits[place], self._taught, self._settings.seed
        k = taught.n_relevant
        scorers: dict[str, Score] = {
            "random": random_score(split, seed),
            "popularity": popularity_score(taught.audience, split, k),
            "ceiling": ceiling_score(taught.audience, split, n_relevant=k, seed=seed),
        }
        places = {"native": self._native_places(place), **self._places}
        if self._grids[place]:
            places["learned"] = self._learned_places(place)
        for name, where in places.items():
            scorers[name] = partial(_score_places, where)
        chosen: list[float | None] = []
        for database, ranking in zip(DATABASES, (split.test_known, split.test_unknown), strict=True):
            artists = taught.audience.song_artist[ranking.queries]
            for name, scorer in scorers.items():
                scores = scorer(ranking)
                tally.add(name, database, artists, scores)
                if name == "learned":
                    chosen.append(None if scores is None else scores.auc)
        return chosen

    def _native_places(self, place: int) -> FloatArray:
        """Return places in the native model of the split's training songs: compressed, as the one that answers."""
        return self._songs[place].vectors

    def _learned_places(self, place: int) -> FloatArray:
        songs: Compressed = self._songs[place]
        return songs.vectors @ best_of(self._grids[place]).factor.T

    def _choice(self, place: int, known: float | None, unknown: float | None) -> SplitChoice:
        best = best_of(self._grids[place])
        return SplitChoice(self._splits[place].number, best.loss, best.C, best.auc, known, unknown)

    def _best_on_average(self) -> tuple[str, float]:
        """Return the loss and C with the highest mean validation AUC; the first of equals."""
        means = np.mean([[learned.auc for learned in grid] for grid in self._grids], axis=0)
        best = self._grids[0][int(np.argmax(means))]
        return best.loss, best.C

    def _examples(self, data: TrainingData) -> tuple[HeldOutExample, ...]:
        """Return what comes nearest to songs of some test artists, drawn by chance, in the first split."""
        ranking, song_artist = self._splits[0].test_known, self._taught.audience.song_artist
        usable = np.flatnonzero(np.diff(ranking.relevant.indptr))
        random = np.random.default_rng([self._settings.seed, 37])
        mixed = random.permutation(usable)
        first = np.sort(np.unique(song_artist[ranking.queries[mixed]], return_index=True)[1])
        ids = np.arange(len(data.vectors)) if data.song_ids is None else np.asarray(data.song_ids)
        names = ids[self._taught.songs]
        tables = [self._native_places(0), self._learned_places(0)]
        return tuple(_example(ranking, query, tables, names) for query in mixed[first][:_EXAMPLES])

    def _parts(self) -> dict[str, dict[str, float]]:
        """Return artists and songs of each part, on average over the splits."""
        whose = self._taught.audience.song_artist
        parts: dict[str, dict[str, float]] = {}
        for name in ("training", "validation", "test_known"):
            songs = [getattr(split, name).queries for split in self._splits]
            if songs:
                parts[name.removesuffix("_known")] = {
                    "artists": float(np.mean([len(np.unique(whose[each])) for each in songs])),
                    "songs": float(np.mean([len(each) for each in songs])),
                }
        return parts


def _score_places(places: FloatArray, ranking: Ranking) -> RankingScores | None:
    return ranking.score_vectors(places)


def _example(ranking: Ranking, query: int, tables: list[FloatArray], names: Any) -> HeldOutExample:
    song = ranking.queries[query]
    relevant = ranking.relevant[[query]].toarray().ravel()
    found: list[tuple[Any, ...]] = []
    for places in tables:
        distances = np.linalg.norm(places[ranking.database] - places[song], axis=1)
        nearest = np.argsort(distances, kind="stable")[:_NEAREST]
        found.append(tuple(int(names[ranking.database[i]]) for i in nearest))
        found.append(tuple(bool(relevant[i]) for i in nearest))
    return HeldOutExample(int(names[song]), *found)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep BLAS to one thread, so that results do not depend on the machine, and fits' warnings to the report."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zero metrics and unfinished fits, which validation judges
        yield


class Steps:
    """Counts what is done of one stage."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total
        progress("learning", 0, total)

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        self._progress("learning", self._done, self._total)

    def finish(self) -> None:
        """All is done."""
        self._progress("learning", self._total, self._total)
