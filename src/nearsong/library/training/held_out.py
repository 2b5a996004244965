"""Splits by artist -> every method learned on the training artists, and its ranking scores on held-out artists."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nearsong.executor import ClusterCalls
from nearsong.library.neighbours.exact import squared_distances
from nearsong.library.training.candidates import Candidates, Embeddings, metric_candidates
from nearsong.library.training.data import TrainingData, TrainingSet
from nearsong.library.training.fused import vectors_for
from nearsong.library.training.learning import SplitLearner, SplitSongs
from nearsong.library.training.report import DATABASES, HeldOutExample, ReportRow, SplitChoice, TrainingReport
from nearsong.library.training.retraining.active_model import ActiveModel
from nearsong.library.training.settings import METHODS, TrainingSettings
from nearsong.library.training.tally import Tally
from nearsong.library.training.threads import Result, Steps, StopSignal, one_thread_each, run_in_threads
from nearsong.model import SimilarityModel, SongEncoder
from nearsong.model.held_out import Ranking, Score, Split, make_split, n_usable, popularity_terciles
from nearsong.model.selection import Learned, ceiling_score, popularity_score, random_score

ACTIVE_AS_IT_IS = (
    "The model in use could not be learned again without the held-out artists, so it was scored as it is, and its "
    "score may be too high."
)

_EXAMPLES, _NEAREST = 8, 5


class HeldOut:
    """Splits by artist, what each method learns in them, and their scores.

    Parameters
    ----------
    encoder, training_set, settings
        What to learn from, and how.
    methods : sequence of str
        What to learn with.
    cluster : ClusterCalls, optional
        Where to learn; by default in threads of this process. The results are the same.
    """

    def __init__(
        self,
        encoder: SongEncoder,
        training_set: TrainingSet,
        settings: TrainingSettings,
        methods: Sequence[str],
        cluster: ClusterCalls | None = None,
    ) -> None:
        self._encoder, self._training_set, self._settings = encoder, training_set, settings
        self._cluster = cluster
        self._methods = tuple(name for name in METHODS if name in methods)
        with one_thread_each():
            splits = [self._split(number) for number in range(training_set.n_splits)]
        self._splits = [split for split in splits if n_usable(split.training) and n_usable(split.validation)]
        self._stop = StopSignal()
        self._learners = [
            SplitLearner(
                encoder=encoder,
                training_set=training_set,
                settings=settings,
                methods=self._methods,
                split=split,
                stop=self._stop,
            )
            for split in self._splits
        ]
        self._songs: list[SplitSongs] = []
        self._found: list[dict[str, Candidates]] = [{} for _ in self._splits]
        self._imported: dict[str, list[Embeddings]] = {}
        self._notes: list[str] = []
        if len(self._splits) < len(splits):
            unused = f"{len(splits) - len(self._splits)} of the {len(splits)} splits"
            self._notes.append(f"{unused} could not be used: too few songs are related.")

    def _split(self, number: int) -> Split:
        training_set = self._training_set
        return make_split(
            training_set.listening_data, number, n_relevant=training_set.n_relevant, seed=self._settings.seed
        )

    # ---- learning

    def n_steps(self) -> int:
        """Return the number of steps of :meth:`learn`: a split, a loss of MLR in it, or another method in it."""
        n_metrics = len(self._metric_methods()) * len(self._settings.losses)
        n_spaces = ("listener_space" in self._methods) + ("combined" in self._methods)
        return len(self._splits) * (1 + n_metrics + n_spaces)

    def learn(self, steps: Steps) -> None:
        """Fit every method with every choice in every split; Ctrl-C stops a fit here after the current round."""
        self._songs = self._run([partial(SplitLearner.prepare, learner) for learner in self._learners], steps)
        splits = list(zip(self._learners, self._songs, self._found, strict=True))
        tasks = [
            (number, name, partial(SplitLearner.metric_grid, learner, songs, name, loss))
            for number, (learner, songs, _) in enumerate(splits)
            for name in self._metric_methods()
            for loss in self._settings.losses
        ]
        grids: dict[tuple[int, str], list[Learned]] = {}
        for (number, name, _), grid in zip(tasks, self._run([task for _, _, task in tasks], steps), strict=True):
            grids.setdefault((number, name), []).extend(grid)
        for (number, name), grid in grids.items():
            learner, songs, found = splits[number]
            found[name] = metric_candidates(songs.metric_songs[name], grid, learner.validation)
        if "listener_space" in self._methods:
            spaces = self._run([partial(SplitLearner.spaces, learner, songs) for learner, songs, _ in splits], steps)
            for (_, _, found), space in zip(splits, spaces, strict=True):
                found["listener_space"] = space
        if "combined" in self._methods:
            both = self._run([partial(SplitLearner.combined, *of_split) for of_split in splits], steps)
            for (_, _, found), space in zip(splits, both, strict=True):
                found["combined"] = space

    def _run(self, tasks: Sequence["partial[Result]"], steps: Steps) -> list[Result]:
        if self._cluster is not None:
            return self._cluster.run(tasks, steps.step)
        return run_in_threads(tasks, self._stop, steps.step)

    def _metric_methods(self) -> tuple[str, ...]:
        return tuple(name for name in ("paper", "mlr") if name in self._methods)

    # ---- choosing

    def validation_means(self) -> dict[str, float]:
        """Return the mean over the splits of each method's validation score."""
        return {name: float(np.mean([found[name].score for found in self._found])) for name in self._learned()}

    def choice(self, name: str) -> dict[str, Any]:
        """Return the parameters of a method with the best mean validation score; of ties, the first."""
        own = [found[name] for found in self._found]
        means = np.mean([candidates.validation for candidates in own], axis=0)
        chosen: dict[str, Any] = dict(own[0].choices[int(np.argmax(means))])
        if name == "combined":
            chosen = {**self.choice("mlr"), **self.choice("listener_space"), **chosen}
        ratios = [songs.pretrained_ratio for songs in self._songs]
        if name != "paper" and ratios[0] is not None:
            values, counts = np.unique(np.array(ratios, dtype=np.float64), return_counts=True)
            chosen["pretrained_ratio"] = float(values[np.argmax(counts)])
        return chosen

    def _learned(self) -> tuple[str, ...]:
        return tuple(name for name in self._methods if self._found and name in self._found[0])

    def _best(self, index: int) -> str:
        """Return the method with the best validation score in a split; the first of equals."""
        return max(self._learned(), key=lambda name: self._found[index][name].score)

    # ---- scoring

    def add_model(self, name: str, model: SimilarityModel) -> None:
        """Also score a model unchanged."""
        self._imported[name] = [self._embedded(model, index) for index in range(len(self._splits))]

    def add_active(self, active: ActiveModel) -> None:
        """Also score the active model, in each split as it would be without the held-out artists."""
        tables, n_unchanged = [], 0
        for index, split in enumerate(self._splits):
            self._stop.check()
            again = active.without(self._encoder, self._training_set, split.training.queries, self._settings)
            n_unchanged += again is None
            tables.append(self._embedded(again or active.model, index))
        self._imported["active"] = tables
        if n_unchanged:
            self._notes.append(ACTIVE_AS_IT_IS)

    def _embedded(self, model: SimilarityModel, index: int) -> Embeddings:
        vectors = vectors_for(model, self._encoder, self._training_set.vectors)
        queries = model.project(vectors)
        if not model.projector.uses_artists:
            return Embeddings.of(queries)
        return Embeddings(queries, model.project_database(vectors, self._learners[index].database_artists()))

    def report(self, report: TrainingReport, data: TrainingData) -> TrainingReport:
        """Score the test artists of every split and return the completed report."""
        tally = Tally(self._training_set.listening_data.n_artists, self._settings.seed)
        learned = self._learned()
        choices = []
        with one_thread_each():
            for index in range(len(self._splits)):
                scores = self._score_split(index, tally)
                if learned:
                    choices.append(self._split_choice(index, *scores))
            examples = self._examples(data) if choices else ()
        rows, differences = self._compared(tally)
        means = self.validation_means() if choices else {}
        method = max(means, key=lambda name: means[name]) if means else None
        chosen = {} if method is None else self.choice(method)
        return replace(
            report,
            rows=rows,
            differences=differences,
            method=method,
            choice=chosen,
            validation=means,
            loss=chosen.get("loss"),
            C=chosen.get("C"),
            choices=tuple(choices),
            examples=examples,
            parts=self._parts(),
            n_splits=len(self._splits),
            notes=tuple(self._notes),
        )

    def _compared(self, tally: Tally) -> tuple[tuple[ReportRow, ...], tuple[ReportRow, ...]]:
        """Return a row for each method, and the paired differences to what it is compared with."""
        learned = [*self._learned(), "learned"] if self._learned() else []
        names = ["random", "popularity", "native", *self._imported, *learned, "ceiling"]
        rows = tuple(row for row in map(tally.row, names) if row.known or row.unknown)
        present = {row.name for row in rows}
        pairs = [(name, other) for name in (*self._imported, *learned) for other in ("native", "popularity", "paper")]
        pairs.append(("learned", "active"))
        differences = [tally.difference(*pair) for pair in pairs if pair[0] != pair[1] and present.issuperset(pair)]
        return rows, tuple(differences)

    def _score_split(self, index: int, tally: Tally) -> list[float | None]:
        """Add a split's scores to the tally; return those of the best method, one per database."""
        split, training_set, seed = self._splits[index], self._training_set, self._settings.seed
        k = training_set.n_relevant
        scorers: dict[str, Score] = {
            "random": random_score(split, seed),
            "popularity": popularity_score(training_set.listening_data, split, k),
            "ceiling": ceiling_score(training_set.listening_data, split, n_relevant=k, seed=seed),
            "native": Embeddings.of(self._songs[index].native).score,
        }
        scorers |= {name: tables[index].score for name, tables in self._imported.items()}
        scorers |= {name: self._found[index][name].embeddings.score for name in self._learned()}
        chosen: list[float | None] = []
        for database, ranking in zip(DATABASES, (split.test_known, split.test_unknown), strict=True):
            artists = training_set.listening_data.song_artist[ranking.queries]
            terciles = popularity_terciles(training_set.listening_data, ranking)
            for name, scorer in scorers.items():
                scores = scorer(ranking)
                within = [scorer(part) for part in terciles]
                tally.add(name, database, artists, scores)
                tally.add_terciles(name, database, artists, within)
                if self._learned() and name == self._best(index):
                    tally.add("learned", database, artists, scores)
                    tally.add_terciles("learned", database, artists, within)
                    chosen.append(None if scores is None else scores.auc)
        return chosen

    def _split_choice(self, index: int, known: float | None, unknown: float | None) -> SplitChoice:
        name = self._best(index)
        own = self._found[index][name]
        found = dict(own.choice)
        if name == "combined":
            found = {**self._found[index]["mlr"].choice, **self._found[index]["listener_space"].choice, **found}
        return SplitChoice(
            split=self._splits[index].number,
            method=name,
            choice=found,
            validation=own.score,
            known=known,
            unknown=unknown,
        )

    def _examples(self, data: TrainingData) -> tuple[HeldOutExample, ...]:
        """Return the nearest songs to one song each of randomly drawn test artists, in the first split."""
        ranking, song_artist = self._splits[0].test_known, self._training_set.listening_data.song_artist
        usable = np.flatnonzero(np.diff(ranking.relevant.indptr))
        random = np.random.default_rng([self._settings.seed, 37])
        shuffled = random.permutation(usable)
        first = np.sort(np.unique(song_artist[ranking.queries[shuffled]], return_index=True)[1])
        ids = np.arange(len(data.vectors)) if data.song_ids is None else np.asarray(data.song_ids)
        names = ids[self._training_set.songs]
        tables = [Embeddings.of(self._songs[0].native), self._found[0][self._best(0)].embeddings]
        return tuple(_example(ranking, query, tables, names) for query in shuffled[first][:_EXAMPLES])

    def _parts(self) -> dict[str, dict[str, float]]:
        """Return the mean number of artists and songs in each part of a split."""
        song_artist = self._training_set.listening_data.song_artist
        parts: dict[str, dict[str, float]] = {}
        for name in ("training", "validation", "test_known"):
            queries = [getattr(split, name).queries for split in self._splits]
            if queries:
                parts[name.removesuffix("_known")] = {
                    "artists": float(np.mean([len(np.unique(song_artist[songs])) for songs in queries])),
                    "songs": float(np.mean([len(songs) for songs in queries])),
                }
        return parts


def _example(ranking: Ranking, query: int, tables: Sequence[Embeddings], names: Any) -> HeldOutExample:
    song = ranking.queries[query]
    relevant = ranking.relevant[[query]].toarray().ravel()
    columns: list[tuple[Any, ...]] = []
    for table in tables:
        squares = squared_distances(table.database[ranking.database], table.queries[song])
        nearest = np.argsort(squares, kind="stable")[:_NEAREST]
        columns.append(tuple(int(names[ranking.database[i]]) for i in nearest))
        columns.append(tuple(bool(relevant[i]) for i in nearest))
    return HeldOutExample(int(names[song]), *columns)
