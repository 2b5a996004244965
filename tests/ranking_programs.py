"""Small ranking problems, their optimum by means that share nothing with the solver, and the solver's answer."""

from itertools import permutations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.metric.queries import ItemLists, QuerySet
from nearsong.metric.solver import RankingSolver

LOSSES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
FULL_AND_DIAGONAL = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


# Problems and their optimum, by means that share nothing with the solver


def random_problem(seed, n=12, d=3, ignoring=0.15):
    """Songs with a directed relevance that X explains in part, and some ignored pairs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 3.0, d)
    hidden = X @ rng.standard_normal((d, 1)) + 0.7 * rng.standard_normal((n, 1))
    distances = np.abs(hidden - hidden.T) + rng.uniform(0.0, 0.5, (n, n))
    relevant = distances < np.quantile(distances, 0.35)
    return X, relevant, rng.random((n, n)) < ignoring


def query_lists(relevant, ignored):
    """Yield (query, relevant songs, irrelevant songs) of every query that has both."""
    n = len(relevant)
    for q in range(n):
        counted = ~ignored[q] & (np.arange(n) != q)
        good, bad = np.flatnonzero(relevant[q] & counted), np.flatnonzero(~relevant[q] & counted)
        if len(good) and len(bad):
            yield q, good, bad


def features(X, q, songs, diagonal):
    """Return rows f with d(q, song) = f . W."""
    offsets = X[songs] - X[q]
    if diagonal:
        return offsets**2
    return (offsets[:, :, None] * offsets[:, None, :]).reshape(len(songs), -1)


def hinge_rows(X, relevant, ignored, diagonal):
    """Return rows A and weights w with mean slack = w . max(0, 1 - 2 A W), one row for every pair of every query."""
    rows, weights = [], []
    for q, good, bad in query_lists(relevant, ignored):
        near, far = features(X, q, good, diagonal), features(X, q, bad, diagonal)
        rows.append((far[None] - near[:, None]).reshape(-1, near.shape[1]))
        weights.append(np.full(len(rows[-1]), 1.0 / len(rows[-1])))
    return np.concatenate(rows), np.concatenate(weights) / len(rows)


def score(hits, k, loss):
    """Score a ranking, given as 0/1 from the top down."""
    ranks = np.flatnonzero(hits) + 1
    n_relevant = len(ranks)
    if loss == "auc":
        return np.mean(ranks[:, None] < np.flatnonzero(~hits) + 1)
    if loss == "mrr":
        return 1.0 / ranks[0]
    if loss == "map":
        return np.mean(np.arange(1, n_relevant + 1) / ranks)
    if loss == "ndcg":
        ideal = np.sum(1.0 / np.log2(1.0 + np.arange(1, min(k, n_relevant) + 1)))
        return np.sum(1.0 / np.log2(1.0 + ranks[ranks <= k])) / ideal
    return np.sum(ranks <= k) / k


def ranking_rows(X, relevant, ignored, diagonal, loss, k):
    """Return (delta, row, query number) of every ranking of every query: slack_q >= delta + row . W."""
    deltas, rows, owners = [], [], []
    for owner, (q, good, bad) in enumerate(query_lists(relevant, ignored)):
        near, far = features(X, q, good, diagonal), features(X, q, bad, diagonal)
        songs = np.arange(len(good) + len(bad))
        best = score(songs < len(good), k, loss)
        seen = set()
        for ranking in permutations(songs):
            position = np.argsort(ranking)
            swapped = position[: len(good), None] > position[None, len(good) :]
            if swapped.tobytes() in seen:
                continue
            seen.add(swapped.tobytes())
            deltas.append(best - score(np.array(ranking) < len(good), k, loss))
            rows.append(2.0 * (swapped.sum(1) @ near - swapped.sum(0) @ far) / swapped.size)
            owners.append(owner)
    return np.array(deltas), np.array(rows), np.array(owners)


def metric_variable(d, diagonal):
    """Return W as a cvxpy variable, its entries as a vector, and its trace."""
    if diagonal:
        W = cp.Variable(d, nonneg=True)
        return W, W, cp.sum(W)
    W = cp.Variable((d, d), PSD=True)
    return W, cp.vec(W, order="C"), cp.trace(W)


def hinge_optimum(problem, C, diagonal):
    """Minimise trace + C * mean pairwise hinge as a semidefinite (or linear) program."""
    X = problem[0]
    rows, weights = hinge_rows(*problem, diagonal)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    program = cp.Problem(cp.Minimize(trace + C * weights @ cp.pos(1.0 - 2.0 * rows @ entries)))
    return program.solve(solver=cp.CLARABEL)


def hard_margin_optimum(problem, diagonal):
    """Minimise the trace among the metrics without slack: the limit of large C when there are any."""
    X = problem[0]
    rows, _ = hinge_rows(*problem, diagonal)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    return cp.Problem(cp.Minimize(trace), [2.0 * rows @ entries >= 1.0]).solve(solver=cp.CLARABEL)


def ranking_optimum(problem, C, diagonal, loss, k):
    """Minimise trace + C * mean slack with one constraint for every ranking of every query."""
    X = problem[0]
    deltas, rows, owners = ranking_rows(*problem, diagonal, loss, k)
    _, entries, trace = metric_variable(X.shape[1], diagonal)
    slack = cp.Variable(owners.max() + 1)
    program = cp.Problem(cp.Minimize(trace + C * cp.mean(slack)), [slack[owners] >= deltas + rows @ entries])
    return program.solve(solver=cp.CLARABEL)


def hinge_objective(problem, W, C):
    rows, weights = hinge_rows(*problem, diagonal=False)
    return np.trace(W) + C * weights @ np.maximum(0.0, 1.0 - 2.0 * rows @ W.ravel())


def ranking_objective(problem, W, C, loss, k):
    deltas, rows, owners = ranking_rows(*problem, False, loss, k)
    heights = deltas + rows @ W.ravel()
    return np.trace(W) + C * np.mean([heights[owners == owner].max() for owner in range(owners.max() + 1)])


# The solver's answer to the same problems


def solver_of(problem, loss="auc", k=None, diagonal=False):
    X, relevant, ignored = problem
    lists = [ItemLists.from_relation(sp.csr_array(relation)) for relation in (relevant, ignored)]
    return RankingSolver(X, QuerySet.from_lists(*lists), loss, k, diagonal)


def solve(problem, C, loss="auc", k=None, diagonal=False, tol=1e-4, max_rounds=600, **kwargs):
    with solver_of(problem, loss, k, diagonal) as solver:
        return solver.solve(C, tol, max_rounds, **kwargs)


def metric_of(solution):
    factor = solution.factor
    return np.diag(factor**2) if factor.ndim == 1 else factor.T @ factor


def zero_threshold(problem, loss="auc", k=None, diagonal=False):
    return solve(problem, 1e-12, loss, k, diagonal).zero_up_to


def assert_certified(solution, optimum, tol, slop=1e-6):
    """The optimum lies between bound and objective in every round, and the gap is what it is reported to be."""
    assert solution.converged
    assert 0.0 <= solution.gap <= tol
    assert solution.objective == pytest.approx(optimum, rel=tol + slop)
    assert solution.objective >= optimum * (1.0 - slop)
    assert solution.lower_bound <= optimum * (1.0 + slop)
    for record in solution.history:
        assert record.objective >= optimum * (1.0 - slop)
        assert record.lower_bound <= optimum * (1.0 + slop)
