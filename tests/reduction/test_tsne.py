import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, trustworthiness
from threadpoolctl import threadpool_limits

from nearsong.reduction import tsne as module
from nearsong.reduction.principal_components import PrincipalComponents
from nearsong.reduction.tsne import joint_probabilities, tsne


def clusters(n, n_dimensions=20, n_clusters=6, seed=0):
    random = np.random.default_rng(seed)
    centres = 2 * random.normal(size=(n_clusters, n_dimensions))
    return centres[random.integers(0, n_clusters, n)] + random.normal(size=(n, n_dimensions))


def divergence(vectors, positions, perplexity):
    """Return what t-SNE minimises, in double precision: the Kullback-Leibler divergence."""
    wanted = joint_probabilities(vectors, perplexity).tocoo()
    near = 1 / (1 + cdist(positions, positions, "sqeuclidean"))
    np.fill_diagonal(near, 0)
    return float((wanted.data * np.log(wanted.data / (near / near.sum())[wanted.row, wanted.col])).sum())


@pytest.mark.parametrize(
    ("vectors", "margin"),
    [
        (clusters(60), 0.01),
        (clusters(400), 0.01),
        (load_digits().data[:600], 0.01),
        (np.random.default_rng(0).normal(size=(600, 12)), 0.03),  # any two starts differ by as much
    ],
    ids=["sixty", "clusters", "digits", "no clusters"],
)
def test_positions_are_as_good_as_scikit_learns_from_the_same_start(vectors, margin):
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    start = PrincipalComponents.fit(vectors, 2).transform(vectors)
    ours = tsne(vectors, start, perplexity=perplexity, n_rounds=750)
    scaled = (1e-4 * start / start[:, 0].std()).astype(np.float32)
    with threadpool_limits(1):
        theirs = TSNE(2, init=scaled, perplexity=perplexity, angle=0.6, max_iter=750).fit_transform(vectors)
    trusts = [trustworthiness(vectors, positions, n_neighbors=10) for positions in (ours, theirs)]
    assert trusts[0] > trusts[1] - margin
    assert divergence(vectors, ours, perplexity) < divergence(vectors, theirs, perplexity) + 0.02


def test_the_same_start_gives_the_same_bytes():
    vectors = clusters(130)
    first, second = (tsne(vectors, vectors[:, :2], n_rounds=300) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_weights_have_the_entropy_that_the_perplexity_asks_for():
    squares = np.sort(np.random.default_rng(0).uniform(1, 900, size=(50, 91)), axis=1) * 1e-9
    shares = module._shares_of_neighbours(squares, np.log(30.0))
    np.testing.assert_allclose(np.exp(-(shares * np.log(shares)).sum(axis=1)), 30.0, rtol=1e-4)
    assert (np.diff(shares, axis=1) <= 0).all()


def test_attraction_is_symmetric_sums_to_one_and_never_to_oneself():
    joint = joint_probabilities(clusters(600, seed=1), 30.0)
    assert joint.sum() == pytest.approx(1.0)
    assert abs(joint - joint.T).max() == 0
    assert joint.diagonal().max() == 0


def test_the_push_of_each_point_is_the_sum_over_all_others():
    points = np.random.default_rng(0).normal(size=(2, 150)).astype(np.float32)
    push = np.empty_like(points)
    total = module._repulsion(points, push)
    apart = points.T[:, None].astype(np.float64) - points.T[None]
    near = 1 / (1 + (apart**2).sum(axis=2))
    assert total == pytest.approx(near.sum(), rel=1e-5)
    np.testing.assert_allclose(push.T, (near[:, :, None] ** 2 * apart).sum(axis=1), rtol=1e-3, atol=1e-4)


def test_copies_of_a_vector_come_together_wherever_they_start():
    vectors = np.repeat(clusters(20), 3, axis=0)
    start = np.random.default_rng(0).normal(size=(60, 2))
    positions = tsne(vectors, start, perplexity=10)
    nearest = cdist(positions, positions).argsort(axis=1, kind="stable")[:, :3]
    assert (nearest // 3 == np.arange(60)[:, None] // 3).mean() > 0.9


def test_vectors_that_are_all_equally_far_apart_have_positions():
    positions = tsne(np.eye(40), np.random.default_rng(0).normal(size=(40, 2)), perplexity=10)
    assert np.isfinite(positions).all()
