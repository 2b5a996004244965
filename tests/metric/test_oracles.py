"""Every separation oracle against all rankings of small cases, straight from the definitions, and against a
dynamic programme over all rankings of large ones.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest

from nearsong.metric.oracles.kernel import most_violated
from nearsong.metric.oracles.losses import LOSS_CODES
from nearsong.metric.queries import ItemLists
from oracle_numbers import DISTANCES

COMPLETE = 1000  # a cut beyond the end of every list here
LOSSES_AND_CUTS = [
    ("auc", COMPLETE),
    ("mrr", COMPLETE),
    ("map", COMPLETE),
    *((loss, k) for loss in ("ndcg", "precision_at_k") for k in (1, 2, 3, 5, COMPLETE)),
]
every_loss = pytest.mark.parametrize(("loss", "k"), LOSSES_AND_CUTS)


# The definitions


@cache
def measure(loss, relevances, k):
    """Score one list of 0/1 from the top down."""
    ranks = [rank for rank, relevance in enumerate(relevances, 1) if relevance]
    if loss == "auc":
        return np.mean([i < j for i in ranks for j, relevance in enumerate(relevances, 1) if not relevance])
    if loss == "mrr":
        return 1 / ranks[0]
    if loss == "map":
        return np.mean([sum(relevances[:rank]) / rank for rank in ranks])
    if loss == "ndcg":
        ideal = sum(1 / np.log2(1 + rank) for rank in range(1, min(len(ranks), k) + 1))
        return sum(1 / np.log2(1 + rank) for rank in ranks if rank <= k) / ideal
    return sum(relevances[:k]) / k


def delta(loss, relevances, k):
    """What a list scores less than the one with all relevant songs on top."""
    return measure(loss, tuple(sorted(relevances, reverse=True)), k) - measure(loss, relevances, k)


@dataclass(frozen=True)
class Rankings:
    """Rankings of P relevant and N irrelevant songs: as 0/1 from the top down, and as y_ij = +1 or -1."""

    relevances: list[tuple[int, ...]]
    pairs: np.ndarray

    @classmethod
    def from_orders(cls, n_relevant, orders):
        """Song 0..P-1 are the relevant ones; an order names the songs from the top down."""
        orders = np.array(orders)
        ranks = np.argsort(orders, axis=1)
        before = ranks[:, :n_relevant, None] < ranks[:, None, n_relevant:]
        return cls([tuple(row) for row in (orders < n_relevant).astype(int).tolist()], np.where(before, 1.0, -1.0))


@cache
def all_orders(n_relevant, n_irrelevant):
    return Rankings.from_orders(n_relevant, list(permutations(range(n_relevant + n_irrelevant))))


@cache
def all_interleavings(n_relevant, n_irrelevant):
    """Every order in which songs of a kind stay in ascending order among themselves."""
    n = n_relevant + n_irrelevant
    orders = []
    for slots in combinations(range(n), n_relevant):
        relevant, irrelevant = iter(range(n_relevant)), iter(range(n_relevant, n))
        orders.append([next(relevant if slot in slots else irrelevant) for slot in range(n)])
    return Rankings.from_orders(n_relevant, orders)


@cache
def all_deltas(loss, k, n_relevant, n_irrelevant, rankings):
    return np.array([delta(loss, row, k) for row in rankings(n_relevant, n_irrelevant).relevances])


def violations(loss, k, near, far, rankings):
    """Delta(y) + <W, psi(y)> - <W, psi(y_q)> of every ranking y, where <W, phi_i> = -distance_i."""
    scores = -near[:, None] + far[None, :]
    pairs = rankings(len(near), len(far)).pairs
    psi = np.einsum("yij,ij->y", pairs, scores) / scores.size
    return all_deltas(loss, k, len(near), len(far), rankings) + psi - scores.sum() / scores.size


def best_staircase(loss, k, near, far):
    """Return the largest violation by dynamic programming: b irrelevant songs before the i-th relevant one."""
    P, N = len(near), len(far)
    insertions, first = np.arange(N + 1)[None, :], np.arange(1, P + 1)[:, None]
    ranks = first + insertions
    if loss == "auc":
        share = np.broadcast_to(insertions / (P * N), ranks.shape)
    elif loss == "mrr":
        share = np.where(first == 1, 1 - 1 / ranks, 0.0)
    elif loss == "map":
        share = (1 - first / ranks) / P
    elif loss == "ndcg":
        discount = np.where(ranks <= k, 1 / np.log2(1 + ranks), 0.0)
        share = (discount[:, :1] - discount) / discount[:, 0].sum()
    else:
        share = ((first <= k) - 1.0 * (ranks <= k)) / k
    skipped = np.concatenate([[0.0], np.cumsum(np.sort(far))])
    terms = share + 2 / (P * N) * (insertions * np.sort(near)[:, None] - skipped)
    best = terms[0]
    for term in terms[1:]:
        best = np.maximum.accumulate(best) + term
    return best.max()


# Random cases for the oracles


@dataclass(frozen=True)
class Answers:
    """What the oracle was asked and answered: row r is a query."""

    distances: np.ndarray
    relevant: list[np.ndarray]
    irrelevant: list[np.ndarray]
    coefficients: np.ndarray
    losses: np.ndarray
    slacks: np.ndarray
    column_sums: np.ndarray

    def __iter__(self):
        """Give coefficients and distances of the relevant songs, the same of the others, loss and slack."""
        for r, (near, far) in enumerate(zip(self.relevant, self.irrelevant, strict=True)):
            a, d = self.coefficients[r], self.distances[r]
            yield a[near], d[near], a[far], d[far], self.losses[r], self.slacks[r]


def as_lists(rows):
    """Pack one list of songs a query, each ascending."""
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return ItemLists(bounds[:-1], bounds[1:], np.concatenate(rows).astype(np.int32))


def most_violated_of(loss, k, distances, queries, relevant, ignored):
    """Return coefficients, losses, slacks and column sums; row r of ``distances`` belongs to ``queries[r]``."""
    rows = distances / -2.0  # as if all squared norms were zero: the distance is -2 * inner product
    losses, slacks = np.empty(len(rows)), np.empty(len(rows))
    squares, sums = np.zeros((2, rows.shape[1]))
    code, longest = LOSS_CODES[loss], relevant.longest
    most_violated(code, k, rows, squares, queries, relevant, ignored, longest, losses, slacks, sums)
    return rows, losses, slacks, sums


def ask(rng, loss, k, n_relevant, n_irrelevant, kind, n_ignored=None):
    """Ask the oracle for up to 12 queries with random lists and distances.

    The relevant list may name the query itself and ignored songs, the ignored one the query itself.
    """
    n_ignored = rng.integers(0, 3) if n_ignored is None else n_ignored
    n = 1 + n_relevant + n_irrelevant + n_ignored
    queries = rng.permutation(n)[:12]
    relevant, irrelevant = [], []
    named_relevant, named_ignored = ([np.empty(0, int)] * n for _ in range(2))
    for q in queries:
        others = rng.permutation(np.delete(np.arange(n), q))
        near, far, ignored = np.split(others, [n_relevant, n_relevant + n_irrelevant])
        relevant.append(np.sort(near))
        irrelevant.append(np.sort(far))
        noise = np.append(ignored, q)
        named_relevant[q] = np.sort(np.append(near, noise[rng.random(len(noise)) < 0.4]))
        named_ignored[q] = np.sort(noise if rng.random() < 0.4 else ignored)
    distances = DISTANCES[kind](rng, (len(queries), n))
    found = most_violated_of(loss, k, distances, queries, as_lists(named_relevant), as_lists(named_ignored))
    return Answers(distances, relevant, irrelevant, *found)


def slacks_of(loss, k, near, far):
    """Return the slacks of queries with given distances: song 0 asks, its relevant songs come next."""
    P = near.shape[1]
    distances = np.hstack([np.zeros((len(near), 1)), near, far])
    zero = np.zeros(1, np.int64)
    relevant = ItemLists(zero, zero + P, np.arange(1, P + 1, dtype=np.int32))
    queries = np.zeros(len(distances), np.int64)
    return most_violated_of(loss, k, distances, queries, relevant, ItemLists.empty(1))[2]


def small_shapes(largest):
    return [(P, N) for P in range(1, largest) for N in range(1, largest) if sum((P, N)) <= largest]


@cache
def small_answers(loss, k, largest=8):
    """All shapes up to ``largest`` songs in all kinds of distances: some 1,800 queries for 8 songs."""
    rng = np.random.default_rng(largest)
    return [row for shape in small_shapes(largest) for kind in DISTANCES for row in ask(rng, loss, k, *shape, kind)]


def rounding(*distances):
    """Return what sums of a few hundred terms of this size may differ by."""
    return 1e-12 * (1.0 + max(np.abs(d).max() for d in distances))


# Exactness


@every_loss
def test_the_slack_is_the_largest_violation_over_all_orders_of_the_songs(loss, k):
    for _, near, _, far, _, slack in small_answers(loss, k, largest=6):
        assert abs(slack - violations(loss, k, near, far, all_orders).max()) <= rounding(near, far)


@every_loss
def test_the_slack_is_the_largest_violation_over_all_interleavings(loss, k):
    for _, near, _, far, _, slack in small_answers(loss, k):
        largest = violations(loss, k, np.sort(near), np.sort(far), all_interleavings).max()
        assert abs(slack - largest) <= rounding(near, far)
        assert abs(best_staircase(loss, k, near, far) - largest) <= rounding(near, far)


@pytest.mark.parametrize("kind", DISTANCES)
@every_loss
def test_the_slack_of_long_lists_is_the_largest_over_all_staircases(loss, k, kind):
    rng = np.random.default_rng(2)
    for shape in [(1, 60), (60, 1), (7, 70), (40, 45), (96, 30), (97, 30)]:
        for _, near, _, far, _, slack in ask(rng, loss, k, *shape, kind, n_ignored=2):
            assert abs(slack - best_staircase(loss, k, near, far)) <= rounding(near, far)


@pytest.mark.parametrize("k", [8, 20, 60, 149])
@pytest.mark.parametrize("loss", ["ndcg", "precision_at_k"])
def test_a_cut_inside_a_long_list_is_exact(loss, k):
    rng = np.random.default_rng(3)
    for shape in [(5, 100), (30, 119), (100, 40)]:
        for scale in 10.0 ** np.arange(-3, 2):
            near = scale * rng.random((6, shape[0]))
            far = scale * (rng.random((6, shape[1])) + rng.choice([-0.3, 0.0, 0.3]))
            largest = [best_staircase(loss, k, *row) for row in zip(near, far, strict=True)]
            np.testing.assert_allclose(slacks_of(loss, k, near, far), largest, rtol=0, atol=1e-11)


@every_loss
def test_coefficients_encode_a_ranking_that_has_the_returned_loss(loss, k):
    for up, near, down, far, returned, slack in small_answers(loss, k):
        pairs = len(near) * len(far)
        before, behind = up * pairs / 2, -down * pairs / 2  # irrelevant songs before i, relevant ones behind j
        assert np.abs(before - np.rint(before)).max() < 1e-9
        assert np.abs(behind - np.rint(behind)).max() < 1e-9
        before, behind = np.sort(np.rint(before)).astype(int), -np.sort(-np.rint(behind)).astype(int)
        relevances = np.zeros(len(near) + len(far), int)
        relevances[np.arange(len(near)) + before] = 1
        assert relevances.sum() == len(near)
        still_to_come = len(near) - np.cumsum(relevances)
        assert (behind == still_to_come[relevances == 0]).all()
        assert abs(returned - delta(loss, tuple(relevances.tolist()), k)) <= 1e-12
        assert abs(slack - (returned + up @ near + down @ far)) <= rounding(near, far)


@every_loss
def test_songs_of_a_kind_are_ranked_by_distance_and_ties_by_index(loss, k):
    for up, near, down, far, _, _ in small_answers(loss, k):
        assert (np.diff(up[np.argsort(near, kind="stable")]) >= 0).all()
        assert (np.diff(down[np.argsort(far, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("kind", DISTANCES)
@every_loss
def test_coefficients_sum_to_zero_and_spare_the_query_and_the_ignored(loss, k, kind):
    rng = np.random.default_rng(6)
    for shape in [(1, 1), (2, 5), (5, 2), (60, 70), (110, 20)]:
        answers = ask(rng, loss, k, *shape, kind, n_ignored=3)
        assert np.abs(answers.coefficients.sum(axis=1)).max() < 1e-12
        np.testing.assert_allclose(answers.column_sums, answers.coefficients.sum(axis=0), rtol=0, atol=1e-12)
        for row, near, far in zip(answers.coefficients, answers.relevant, answers.irrelevant, strict=True):
            ranked = np.concatenate([near, far])
            assert (np.delete(row, ranked) == 0).all()
            assert len(np.delete(row, ranked)) == 4
            assert (row[near] >= 0).all()
            assert (row[far] <= 0).all()


@every_loss
def test_the_slack_is_not_negative_and_not_below_the_loss_of_the_metric_s_own_ranking(loss, k):
    for _, near, _, far, _, slack in small_answers(loss, k):
        kinds = np.repeat([0, 1], [len(far), len(near)])  # irrelevant first: ties count against the metric
        order = np.argsort(np.concatenate([far, near]), kind="stable")
        assert slack >= delta(loss, tuple(kinds[order].tolist()), k) - rounding(near, far)


@every_loss
def test_equal_distances_give_the_worst_loss_of_all(loss, k):
    rng = np.random.default_rng(8)
    for shape in small_shapes(7):
        worst = all_deltas(loss, k, *shape, all_interleavings).max()
        answers = ask(rng, loss, k, *shape, "equal")
        np.testing.assert_allclose(answers.losses, worst, rtol=0, atol=1e-12)
        np.testing.assert_allclose(answers.slacks, worst, rtol=0, atol=1e-12)


@every_loss
def test_adding_a_constant_to_all_distances_changes_no_slack(loss, k):
    rng = np.random.default_rng(9)
    near, far = rng.random((200, 4)), rng.random((200, 9))
    plain = slacks_of(loss, k, near, far)
    for shift in (-1e-3, -5.0, 1e4):
        moved = slacks_of(loss, k, near + shift, far + shift)
        np.testing.assert_allclose(moved, plain, rtol=0, atol=1e-12 * (1 + abs(shift)))


@pytest.mark.parametrize("loss", ["mrr", "map", "ndcg", "precision_at_k"])
def test_distances_that_overflowed_to_nan_end_no_process(loss):
    relevant = ItemLists(np.zeros(1, int), np.full(1, 5), np.arange(1, 6, dtype=np.int32))
    for broken in (slice(None), slice(1, 6), slice(6, None), 3):
        distances = np.random.default_rng(10).random((1, 13))
        distances[:, broken] = np.nan
        row = most_violated_of(loss, COMPLETE, distances, np.zeros(1, int), relevant, ItemLists.empty(1))[0][0]
        assert (np.abs(row) <= 2.0 / 5).all()  # no song is put beyond the end of the list


# AUC in closed form


@pytest.mark.parametrize("kind", DISTANCES)
@pytest.mark.parametrize("n_relevant", [1, 30, 130])
def test_the_auc_slack_is_the_mean_hinge_over_all_pairs(n_relevant, kind):
    for up, near, down, far, _, slack in ask(np.random.default_rng(12), "auc", 1, n_relevant, 40, kind):
        hinge = np.maximum(0.0, 1.0 - 2.0 * (far[None, :] - near[:, None]))
        assert abs(slack - hinge.mean()) <= rounding(near, far)
        wrong = far[None, :] < near[:, None] + 0.5
        np.testing.assert_allclose(up, 2.0 * wrong.sum(axis=1) / wrong.size, rtol=1e-14)
        np.testing.assert_allclose(down, -2.0 * wrong.sum(axis=0) / wrong.size, rtol=1e-14)
