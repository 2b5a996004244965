"""The cutting plane of a metric: its value and gradient from the definitions, the bound it gives on all other
metrics, and the query lists it is made from.
"""

from contextlib import closing
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from threadpoolctl import threadpool_limits

from nearsong.metric import order_feature
from nearsong.metric.order_feature import RankingOracle
from nearsong.metric.queries import ItemLists, QuerySet

every_loss = pytest.mark.parametrize(
    ("loss", "k"),
    [
        ("auc", None),
        ("mrr", None),
        ("map", None),
        *((loss, k) for loss in ("ndcg", "precision_at_k") for k in (None, 1, 2, 100)),
    ],
)
full_and_diagonal = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


def query_set(relevant, ignored=None):
    """Read dense 0/1 relations."""
    ignored = np.zeros_like(relevant) if ignored is None else ignored
    return QuerySet.from_lists(*(ItemLists.from_relation(sp.csr_array(table)) for table in (relevant, ignored)))


def random_relations(rng, n):
    """Relevant and ignored pairs that overlap and name the queries themselves; two songs are always usable."""
    relevant = rng.random((n, n)) < rng.uniform(0.2, 0.6, (n, 1))
    ignored = rng.random((n, n)) < 0.15
    relevant[:2, 2], relevant[:2, 3], ignored[:2, 2:4] = True, False, False
    return relevant, ignored


def random_factor(rng, d, diagonal, rank=None):
    """L of a random rank and size."""
    size = 10.0 ** rng.uniform(-1.5, 1.0)
    if diagonal:
        return size * np.abs(rng.standard_normal(d)) * (rng.random(d) < 0.8)
    return size * rng.standard_normal((rng.integers(1, d + 2) if rank is None else rank, d))


def metric(factor):
    return factor * factor if factor.ndim == 1 else factor.T @ factor


def inner(gradient, W):
    return float(np.vdot(gradient, W))


def plane(X, queries, loss, k, factor, batch=None):
    with closing(RankingOracle(X, queries, loss, k, diagonal=factor.ndim == 1)) as oracle:
        return oracle.cutting_plane(factor, batch)


def assert_same_plane(one, other, exactly=False):
    tolerance = 0.0 if exactly else 1e-12
    size = np.abs(other.gradient).max() + 1e-300
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=tolerance * size)
    np.testing.assert_allclose([one.loss, one.slack], [other.loss, other.slack], rtol=tolerance, atol=tolerance)


# The plane from the definitions


@cache
def measure(loss, relevances, k):
    """Score a list of 0/1 from the top down; scikit-learn is the reference where it has the measure."""
    scores = -np.arange(len(relevances))
    if loss == "auc":
        return roc_auc_score(relevances, scores)
    if loss == "map":
        return average_precision_score(relevances, scores)
    if loss == "ndcg":
        return ndcg_score([relevances], [scores], k=k)
    if loss == "mrr":
        return 1 / (1 + relevances.index(1))
    k = len(relevances) if k is None else k
    return sum(relevances[:k]) / k


def by_definition(x, near, far, W, loss, k):
    """Return Delta, psi(y) - psi(y_q) and slack of the worst order y of all songs for a query x."""
    songs = np.concatenate([near, far])
    phi = -np.einsum("ia,ib->iab", x - songs, x - songs)
    P, N = len(near), len(far)
    worst = None
    for order in permutations(range(P + N)):
        rank = np.argsort(order)
        psi, correct = np.zeros_like(W), np.zeros_like(W)
        for i in range(P):
            for j in range(P, P + N):
                y = 1.0 if rank[i] < rank[j] else -1.0
                psi += y * (phi[i] - phi[j]) / (P * N)
                correct += (phi[i] - phi[j]) / (P * N)
        relevances = tuple(int(song < P) for song in order)
        loss_here = measure(loss, tuple(sorted(relevances, reverse=True)), k) - measure(loss, relevances, k)
        violation = loss_here + np.vdot(W, psi) - np.vdot(W, correct)
        if worst is None or violation > worst[2] + 1e-13:
            worst = loss_here, psi - correct, violation
    return worst


@full_and_diagonal
@every_loss
def test_the_plane_is_the_mean_of_the_worst_order_features_of_the_queries(loss, k, diagonal):
    rng = np.random.default_rng(0)
    for n in (4, 4, 5, 5, 5, 5, 5, 5):
        X = rng.standard_normal((n, 3))
        relevant, ignored = random_relations(rng, n)
        queries = query_set(relevant, ignored)
        factor = random_factor(rng, 3, diagonal)
        W = np.diag(metric(factor)) if diagonal else metric(factor)
        parts = []
        for q in queries.usable:
            listed = ~ignored[q] & (np.arange(n) != q)
            parts.append(by_definition(X[q], X[listed & relevant[q]], X[listed & ~relevant[q]], W, loss, k))
        losses, gradients, slacks = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        found = plane(X, queries, loss, k, factor)
        assert found.slack == pytest.approx(slacks, abs=1e-11)
        assert found.loss == pytest.approx(losses, abs=1e-11)
        np.testing.assert_allclose(found.gradient, np.diag(gradients) if diagonal else gradients, atol=1e-11)


@full_and_diagonal
@every_loss
def test_the_gradient_is_the_literal_sum_over_all_pairs_of_songs(monkeypatch, loss, k, diagonal):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 4))
    queries = query_set(*random_relations(rng, 40))
    seen = np.zeros((40, 40))
    compiled = order_feature.most_violated

    def keep_coefficients(loss_code, cut, rows, squares, ids, *rest):
        compiled(loss_code, cut, rows, squares, ids, *rest)
        seen[ids] = rows

    monkeypatch.setattr(order_feature, "most_violated", keep_coefficients)
    factor = random_factor(rng, 4, diagonal)
    found = plane(X, queries, loss, k, factor)
    expected = np.zeros((4, 4))
    for q in queries.usable:
        for i in range(40):
            expected += seen[q, i] * np.outer(X[q] - X[i], X[q] - X[i]) / len(queries.usable)
    np.testing.assert_allclose(found.gradient, np.diag(expected) if diagonal else expected, atol=1e-12)


@full_and_diagonal
@every_loss
def test_the_slack_is_the_value_of_the_plane_where_it_was_made(loss, k, diagonal):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 6))
    queries = query_set(*random_relations(rng, 50))
    with closing(RankingOracle(X, queries, loss, k, diagonal)) as oracle:
        for _ in range(20):
            factor = random_factor(rng, 6, diagonal)
            found = oracle.cutting_plane(factor)
            value = found.loss + inner(found.gradient, metric(factor))
            assert found.slack == pytest.approx(value, rel=1e-11, abs=1e-11)
            np.testing.assert_allclose(found.gradient, found.gradient.T, rtol=0, atol=1e-13)


def test_the_auc_slack_is_the_literal_pairwise_hinge_for_few_and_many_relevant_songs():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((220, 5))
    relevant = rng.random((220, 220)) < rng.choice([0.02, 0.3, 0.7], 220)[:, None]
    ignored = rng.random((220, 220)) < 0.05
    queries = query_set(relevant, ignored)
    sizes = queries.relevant.stop - queries.relevant.start
    assert sizes.min() < 20
    assert sizes.max() > 120
    np.fill_diagonal(ignored, True)
    for factor in (np.zeros((1, 5)), 0.2 * rng.standard_normal((2, 5)), 5.0 * rng.standard_normal((5, 5))):
        distances = cdist(X @ factor.T, X @ factor.T, "sqeuclidean")
        hinges = []
        for q in queries.usable:
            near, far = distances[q, relevant[q] & ~ignored[q]], distances[q, ~relevant[q] & ~ignored[q]]
            hinges.append(np.maximum(0.0, 1.0 - 2.0 * (far - near[:, None])).mean())
        assert plane(X, queries, "auc", None, factor).slack == pytest.approx(np.mean(hinges), rel=1e-12)


# The plane as a bound


def random_oracle(rng, loss, k, diagonal):
    X = rng.standard_normal((24, 4))
    return closing(RankingOracle(X, query_set(*random_relations(rng, 24)), loss, k, diagonal))


def random_factors(rng, diagonal, n_metrics):
    """Metrics of every rank and size, zero among them."""
    zero = np.zeros(4) if diagonal else np.zeros((1, 4))
    return [zero, *(random_factor(rng, 4, diagonal) for _ in range(n_metrics))]


@full_and_diagonal
@every_loss
def test_no_slack_lies_below_any_plane(loss, k, diagonal):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        factors = random_factors(rng, diagonal, n_metrics=12)
        with random_oracle(rng, loss, k, diagonal) as oracle:
            planes = [oracle.cutting_plane(factor) for factor in factors]
        for factor, there in zip(factors, planes, strict=True):
            for here in planes:
                bound = here.loss + inner(here.gradient, metric(factor))
                assert there.slack >= bound - 1e-11 * (1.0 + abs(bound))
            assert there.slack >= -1e-12


@full_and_diagonal
@every_loss
def test_the_slack_is_convex_along_segments(loss, k, diagonal):
    rng = np.random.default_rng(9)
    with random_oracle(rng, loss, k, diagonal) as oracle:
        for one, other in combinations(random_factors(rng, diagonal, n_metrics=4), 2):
            slacks = [oracle.cutting_plane(factor).slack for factor in (one, other)]
            for t in (0.1, 0.5, 0.8):
                ends = np.sqrt(1.0 - t) * one, np.sqrt(t) * other
                between = oracle.cutting_plane(np.hypot(*ends) if diagonal else np.vstack(ends))
                chord = (1.0 - t) * slacks[0] + t * slacks[1]
                assert between.slack <= chord + 1e-11 * (1.0 + chord)


@every_loss
def test_the_diagonal_plane_is_the_diagonal_of_the_full_one(loss, k):
    rng = np.random.default_rng(10)
    X = rng.standard_normal((40, 5))
    queries = query_set(*random_relations(rng, 40))
    root = random_factor(rng, 5, diagonal=True)
    full, diagonal = plane(X, queries, loss, k, np.diag(root)), plane(X, queries, loss, k, root)
    assert diagonal.slack == pytest.approx(full.slack, rel=1e-12)
    np.testing.assert_allclose(diagonal.gradient, np.diag(full.gradient), rtol=0, atol=1e-12)


@every_loss
def test_only_the_metric_counts_not_its_factor_nor_the_origin_of_the_songs(loss, k):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 4))
    queries = query_set(*random_relations(rng, 40))
    factor = random_factor(rng, 4, diagonal=False, rank=3)
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ factor
    expected = plane(X, queries, loss, k, factor)
    moved = X + np.array([3.0, -1.0, 0.0, 8.0])
    for other in (plane(X, queries, loss, k, turned), plane(moved, queries, loss, k, factor)):
        assert other.slack == pytest.approx(expected.slack, rel=1e-10)
        np.testing.assert_allclose(other.gradient, expected.gradient, rtol=0, atol=1e-10)


# Blocks, threads and batches


@full_and_diagonal
@every_loss
def test_threads_and_block_size_change_nothing(monkeypatch, loss, k, diagonal):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((90, 5))
    queries = query_set(*random_relations(rng, 90))
    factor = random_factor(rng, 5, diagonal)
    found = []
    for n_threads in (1, 2, 3):
        for block_bytes in (0, 8 * 90 * 37, 1 << 24):  # blocks of 16 and 37 queries, and one of all
            monkeypatch.setattr(order_feature, "_BLOCK_BYTES", block_bytes)
            with (
                threadpool_limits(n_threads, user_api="blas"),
                closing(RankingOracle(X, queries, loss, k, diagonal)) as oracle,
            ):
                assert oracle.n_threads == n_threads
                found.append(oracle.cutting_plane(factor))
                assert_same_plane(oracle.cutting_plane(factor), found[-1], exactly=True)
    for other in found[1:]:
        assert_same_plane(other, found[0])


@full_and_diagonal
@every_loss
def test_batches_average_to_the_total(loss, k, diagonal):
    rng = np.random.default_rng(13)
    X = rng.standard_normal((60, 4))
    queries = query_set(*random_relations(rng, 60))
    factor = random_factor(rng, 4, diagonal)
    batches = np.split(rng.permutation(queries.usable), [1, 3, 20])
    parts = [plane(X, queries, loss, k, factor, batch) for batch in batches]
    shares = np.array([len(batch) for batch in batches]) / len(queries.usable)
    complete = plane(X, queries, loss, k, factor)
    for name in ("loss", "slack", "gradient"):
        mixed = sum(share * getattr(part, name) for share, part in zip(shares, parts, strict=True))
        np.testing.assert_allclose(mixed, getattr(complete, name), rtol=0, atol=1e-12 * (1.0 + abs(complete.slack)))


# Queries


def listed(lists, q):
    return lists.items[lists.start[q] : lists.stop[q]].tolist()


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=30), st.booleans())
@settings(max_examples=150, deadline=None)
def test_labels_and_the_same_relation_give_the_same_lists(labels, name_the_query):
    labels = np.array(labels)
    relation = (labels[:, None] == labels) & (labels >= 0)[:, None]
    from_labels = ItemLists.from_labels(labels)
    for q in range(len(labels)):
        assert listed(from_labels, q) == np.flatnonzero(relation[q]).tolist()
    assert from_labels.longest == relation.sum(axis=1).max()
    if not name_the_query:
        np.fill_diagonal(relation, False)
    one = QuerySet.from_lists(from_labels, ItemLists.empty(len(labels)))
    other = query_set(relation)
    assert one.usable.tolist() == other.usable.tolist()
    assert one.n_skipped == other.n_skipped


@full_and_diagonal
@every_loss
def test_labels_and_the_same_relation_give_the_same_plane(loss, k, diagonal):
    rng = np.random.default_rng(14)
    labels = rng.integers(-1, 4, 50)
    relation = (labels[:, None] == labels) & (labels >= 0)[:, None]
    X = rng.integers(0, 3, (50, 4)).astype(float)  # many songs are equally far
    ignored = rng.random((50, 50)) < 0.1
    by_labels = QuerySet.from_lists(ItemLists.from_labels(labels), ItemLists.from_relation(sp.csr_array(ignored)))
    factor = random_factor(rng, 4, diagonal)
    one = plane(X, by_labels, loss, k, factor)
    assert_same_plane(one, plane(X, query_set(relation, ignored), loss, k, factor), exactly=True)


@given(st.integers(1, 9).flatmap(lambda n: hnp.arrays(bool, (2, n, n))))
@settings(max_examples=300, deadline=None)
def test_usable_queries_have_a_relevant_and_an_irrelevant_song(relations):
    relevant, ignored = relations
    usable = []
    for q in range(len(relevant)):
        songs = set(range(len(relevant))) - {q} - set(np.flatnonzero(ignored[q]))
        near = songs & set(np.flatnonzero(relevant[q]))
        if near and songs - near:
            usable.append(q)
    queries = query_set(relevant, ignored)
    assert queries.usable.tolist() == usable
    assert queries.n_skipped == len(relevant) - len(usable)


def test_an_ignored_song_counts_for_nothing_even_where_it_is_relevant():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((20, 3))
    relevant, ignored = random_relations(rng, 20)
    factor = random_factor(rng, 3, diagonal=False)
    for loss in ("auc", "mrr", "map", "ndcg", "precision_at_k"):
        expected = plane(X, query_set(relevant & ~ignored, ignored), loss, 4, factor)
        for named in (relevant, relevant | ignored, relevant | np.eye(20, dtype=bool)):
            for left_out in (ignored, ignored | np.eye(20, dtype=bool)):
                assert_same_plane(plane(X, query_set(named, left_out), loss, 4, factor), expected, exactly=True)


def test_empty_lists_hold_nothing():
    lists = ItemLists.empty(3)
    assert [listed(lists, q) for q in range(3)] == [[], [], []]
    assert lists.longest == 0
    assert QuerySet.from_lists(lists, lists).n_skipped == 3
