"""Metric learning to rank: rounds to a certified optimum, and what a round costs against its BLAS and LAPACK work.

    python benchmarks/bench_mlr.py --profile full

Prints one JSON line a case. The floor of a round is the work it cannot avoid, measured in the same run: the distance
GEMM at the rank of that round's metric, the gradient GEMMs, and one eigendecomposition.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from nearsong import MetricLearningToRank, ranking_scores
from nearsong.metric import Round
from planted import PlantedProblem, planted_problem

LOSSES = ("auc", "mrr", "precision_at_k", "ndcg", "map")


def report(case: str, **values: object) -> None:
    print(json.dumps({"case": case, **values}), flush=True)


def fit(problem: PlantedProblem, **parameters: object) -> tuple[MetricLearningToRank, float]:
    learner = MetricLearningToRank(**parameters)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(problem.X, problem.relevant, problem.ignored)
    return learner, time.perf_counter() - started


def seconds_of(work: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


class Floor:
    """Seconds of the unavoidable BLAS and LAPACK work of a round, for any rank of its metric."""

    def __init__(self, n: int, d: int) -> None:
        random = np.random.default_rng(0)
        self.X = random.normal(size=(n, d))
        self.A = random.normal(size=(n, n))
        gradient = seconds_of(lambda: self.X.T @ (self.A @ self.X)) + seconds_of(lambda: self.X.T @ self.X)
        symmetric = self.X.T @ self.X
        eigen = seconds_of(lambda: np.linalg.eigh(symmetric))
        self.fixed = gradient + eigen
        self.distances = cache(self._distances)

    def _distances(self, rank: int) -> float:
        projection = np.ascontiguousarray(self.A[: self.X.shape[1], :rank])

        def distances() -> None:
            projected = self.X @ projection
            projected @ projected.T

        return seconds_of(distances, repeats=5)

    def of(self, rounds: list[Round]) -> float:
        return sum(self.fixed + self.distances(record.rank) for record in rounds)


def bench_rounds(problem: PlantedProblem, limits: dict[float, int]) -> None:
    for C, limit in limits.items():
        learner, seconds = fit(problem, C=C)
        report(
            f"mlr_auc_C{C:.0e}",
            n=len(problem.X),
            d=problem.X.shape[1],
            relevant=round(problem.relevant.nnz / len(problem.X), 1),
            rounds=learner.n_rounds_,
            limit=limit,
            gap=float(f"{learner.gap_:.2e}"),
            objective=round(learner.objective_, 2),
            rank=len(learner.components_),
            seconds=round(seconds, 2),
        )


def bench_round_cost(problem: PlantedProblem, rounds: int) -> None:
    for loss in LOSSES:
        fit(problem, loss=loss, C=1e5, max_rounds=3)  # compile
        floor = Floor(*problem.X.shape)
        learner, _ = fit(problem, loss=loss, C=1e5, max_rounds=rounds)
        history = learner.history_
        oracle = sum(record.oracle_seconds for record in history)
        solver = sum(record.solver_seconds for record in history)
        report(
            f"round_cost_{loss}",
            rounds=len(history),
            milliseconds=round(1e3 * (oracle + solver) / len(history), 1),
            oracle_share=round(oracle / (oracle + solver), 2),
            floor_milliseconds=round(1e3 * floor.of(history) / len(history), 1),
            ratio=round((oracle + solver) / floor.of(history), 2),
            median_ratio=round(median((r.oracle_seconds + r.solver_seconds) / floor.of([r]) for r in history), 2),
            limit=8 if loss in ("ndcg", "map") else 3,
        )


def bench_path(problem: PlantedProblem, exponents: range) -> None:
    values = [10.0**e for e in exponents]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = MetricLearningToRank().fit_path(problem.X, problem.relevant, values, problem.ignored)
    warm_seconds = time.perf_counter() - started
    cold = [fit(problem, C=C) for C in values]
    report(
        "path_of_C",
        values=len(values),
        rounds=sum(learner.n_rounds_ for learner in path),
        cold_rounds=sum(learner.n_rounds_ for learner, _ in cold),
        seconds=round(warm_seconds, 1),
        cold_seconds=round(sum(seconds for _, seconds in cold), 1),
        ratio=round(warm_seconds / sum(seconds for _, seconds in cold), 2),
        largest_gap=float(f"{max(learner.gap_ for learner in path):.1e}"),
    )


def bench_batches(n_artists: int, d: int, budget: float) -> None:
    """Measure the large problem in a process of its own, for its peak memory."""
    command = [sys.executable, str(Path(__file__).resolve()), "--batches", str(n_artists), str(d), str(budget)]
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


def run_batches(n_artists: int, d: int, budget: float) -> None:
    import resource

    problem = planted_problem(n_artists=n_artists, d=d, seed=1)
    n = len(problem.X)
    unseen = np.zeros(n, dtype=bool)
    unseen[np.random.default_rng(2).choice(n, min(1000, n // 10), replace=False)] = True
    truth = problem.relevant[unseen][:, ~unseen], problem.ignored[unseen][:, ~unseen]
    native = ranking_scores(problem.X[unseen], problem.X[~unseen], *truth).auc
    started = time.perf_counter()
    learner = MetricLearningToRank(
        C=1e3, batch_size=500, random_state=0, callback=lambda _: time.perf_counter() - started > budget
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(problem.X[~unseen], problem.relevant[~unseen][:, ~unseen], problem.ignored[~unseen][:, ~unseen])
    seconds = time.perf_counter() - started
    learned = ranking_scores(learner.transform(problem.X[unseen]), learner.transform(problem.X[~unseen]), *truth).auc
    report(
        "mlr_batches",
        n=n,
        d=d,
        rounds=learner.n_rounds_,
        seconds=round(seconds, 1),
        native_auc=round(native, 4),
        learned_auc=round(learned, 4),
        peak_gb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    )


def bench_peers() -> None:
    """Rank held-out digits with what scikit-learn users would otherwise take."""
    X, y = load_digits(return_X_y=True)
    known, unseen, known_y, unseen_y = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    relevant = unseen_y[:, None] == known_y[None, :]
    methods = {
        "nearsong auc": MetricLearningToRank(C=10.0),
        "nearsong map": MetricLearningToRank("map", C=1e3),
        "sklearn NCA": NeighborhoodComponentsAnalysis(random_state=0),
        "sklearn LDA": LinearDiscriminantAnalysis(),
    }
    native = ranking_scores(unseen, known, relevant)
    report("digits_native", auc=round(native.auc, 3), map=round(native.map, 3))
    for name, method in methods.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            method.fit(known, known_y)
        seconds = time.perf_counter() - started
        scores = ranking_scores(method.transform(unseen), method.transform(known), relevant)
        report(f"digits_{name}", auc=round(scores.auc, 3), map=round(scores.map, 3), seconds=round(seconds, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=("smoke", "full"), default="full")
    parser.add_argument("--batches", nargs=3, type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.batches:
        run_batches(int(arguments.batches[0]), int(arguments.batches[1]), arguments.batches[2])
        return
    if arguments.profile == "smoke":
        small = planted_problem(n_artists=80, d=20, rank=4)
        fit(small, C=1e2)
        bench_rounds(small, {1e3: 60})
        bench_round_cost(small, rounds=10)
        bench_path(small, range(0, 4))
        bench_batches(300, 20, 5.0)
        return
    problem = planted_problem()
    fit(problem, C=1e3, max_rounds=3)  # compile
    bench_rounds(problem, {1e3: 30, 1e6: 120})
    bench_round_cost(problem, rounds=40)
    bench_path(problem, range(-2, 10))
    bench_peers()
    bench_batches(37_200, 100, 240.0)


if __name__ == "__main__":
    main()
