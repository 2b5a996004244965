"""Vectors -> positions in two dimensions where nearest neighbours stay near: t-SNE (van der Maaten and Hinton, 2008).

Attraction is between nearest neighbours, whose number follows from the perplexity; repulsion is between all pairs,
exactly. For the few thousand points of a map that is faster than approximating it with a tree (Barnes-Hut), since
the loop over pairs is a few instructions for eight pairs at a time, without branches.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit
from scipy.spatial.distance import cdist

from nearsong.types import FloatArray

EXAGGERATED_ROUNDS = 250
"""First rounds, in which attraction is multiplied so that clusters form before they are separated."""

_EXAGGERATION = 12.0
_START_DEVIATION = 1e-4  # of the first coordinate
_MIN_LEARNING_RATE = 50.0
_MOMENTA = (0.5, 0.8)  # in the first rounds, and later
_MIN_GAIN = 0.01
_NEIGHBOURS_PER_PERPLEXITY = 3
_MAX_BISECTIONS = 64
_ENTROPY_TOLERANCE = 1e-5
_BLOCK_ROWS = 512
_CHECKED_ROUNDS = 50
_MIN_GRADIENT_NORM = 1e-7  # below which points have collapsed and exaggeration ends
_LANES = 64  # points whose repulsion is summed together

_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)


def tsne(
    vectors: npt.ArrayLike, start: npt.ArrayLike, *, perplexity: float = 30.0, n_rounds: int = 1000
) -> FloatArray:
    """Return positions whose neighbours are those of the vectors; deterministic.

    Parameters
    ----------
    vectors : array of shape (n, n_features)
        At least four. Time grows with the square of their number.
    start : array of shape (n, 2)
        Where points begin, of any scale. Points that begin at the same point with the same vector stay together.
    perplexity : float, default=30.0
        Effective number of neighbours of a point, below n - 1.
    n_rounds : int, default=1000
        Steps of gradient descent.

    Returns
    -------
    array of shape (n, 2)

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> vectors = random.normal(size=(40, 5)) + np.repeat([[0.0], [9.0]], 20, axis=0)
    >>> positions = tsne(vectors, vectors[:, :2], perplexity=5)
    >>> sizes = np.ptp(positions[:20], axis=0), np.ptp(positions[20:], axis=0)
    >>> apart = np.linalg.norm(positions[:20].mean(axis=0) - positions[20:].mean(axis=0))
    >>> positions.shape, bool(apart > np.max(sizes))
    ((40, 2), True)
    """
    rows = np.asarray(vectors, dtype=np.float64)
    attractions = joint_probabilities(rows, perplexity)
    begin = np.asarray(start, dtype=np.float64)
    begin = _START_DEVIATION * (begin - begin.mean(axis=0)) / begin[:, 0].std()
    points = np.ascontiguousarray(begin.T, dtype=np.float32)
    learning_rate = max(len(rows) / _EXAGGERATION / 4, _MIN_LEARNING_RATE)
    first = min(EXAGGERATED_ROUNDS, n_rounds)
    for rounds, exaggeration, momentum, least_gradient in (
        (first, _EXAGGERATION, _MOMENTA[0], _MIN_GRADIENT_NORM),
        (n_rounds - first, 1.0, _MOMENTA[1], 0.0),
    ):
        shares = (attractions.data * exaggeration).astype(np.float32)
        pairs = attractions.indptr, attractions.indices, shares
        _descend(points, *pairs, rounds, learning_rate, momentum, least_gradient)
    return points.T.astype(np.float64)


def joint_probabilities(vectors: FloatArray, perplexity: float) -> sp.csr_array:
    """Return how near each pair of neighbours is: symmetric, (n, n), with the sum 1."""
    n = len(vectors)
    k = min(n - 1, int(_NEIGHBOURS_PER_PERPLEXITY * perplexity) + 1)
    neighbours = np.empty((n, k), dtype=np.int64)
    squares = np.empty((n, k))
    for start in range(0, n, _BLOCK_ROWS):
        block = np.arange(start, min(start + _BLOCK_ROWS, n))
        distances = cdist(vectors[block], vectors, "sqeuclidean")
        distances[np.arange(len(block)), block] = np.inf  # not its own neighbour
        neighbours[block] = np.argpartition(distances, k - 1, axis=1)[:, :k]
        squares[block] = np.take_along_axis(distances, neighbours[block], axis=1)
    shares = _shares_of_neighbours(squares, np.log(perplexity))
    directed = sp.csr_array((shares.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = sp.csr_array(directed + directed.T)
    joint.sort_indices()
    return sp.csr_array(joint / joint.sum())


def _shares_of_neighbours(squares: FloatArray, wanted_entropy: float) -> FloatArray:
    """Return each row as Gaussian weights with sum 1, as narrow as its entropy asks for (bisection).

    Parameters
    ----------
    squares : array of shape (n, k)
        Squared distances of points to neighbours.
    wanted_entropy : float
        Of every row of the result; neighbours that are all equally far keep equal weights.
    """
    lead = squares - squares.min(axis=1, keepdims=True)  # shares do not change, and none vanishes
    scale = lead.mean(axis=1, keepdims=True)
    lead /= np.where(scale > 0, scale, 1.0)
    low, high, narrowness = np.zeros(len(lead)), np.full(len(lead), np.inf), np.ones(len(lead))
    for _ in range(_MAX_BISECTIONS):
        weights = np.exp(-lead * narrowness[:, None])
        totals = weights.sum(axis=1)
        excess = np.log(totals) + narrowness * (weights * lead).sum(axis=1) / totals - wanted_entropy
        if np.abs(excess).max() < _ENTROPY_TOLERANCE:
            break
        low = np.where(excess > 0, narrowness, low)
        high = np.where(excess > 0, high, narrowness)
        narrowness = np.where(np.isinf(high), 2 * narrowness, (low + np.minimum(high, 1e300)) / 2)
    shares: FloatArray = weights / totals[:, None]
    return shares


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(points, starts, neighbours, shares, n_rounds, learning_rate, momentum, least_gradient):  # type: ignore[no-untyped-def]
    """Move points (2, n) against the gradient, in place, until it is small or all rounds are done."""
    n = points.shape[1]
    rate, momentum = np.float32(learning_rate), np.float32(momentum)
    moves, gains = np.zeros_like(points), np.ones_like(points)
    gradient = np.empty_like(points)
    for n_done in range(1, n_rounds + 1):
        total = _repulsion(points, gradient)
        scale = np.float32(1.0 / max(total - n, 1e-30))  # without each point's nearness to itself, which is 1
        for i in range(n):
            x, y = points[0, i], points[1, i]
            pull_x = pull_y = _ZERO
            for at in range(starts[i], starts[i + 1]):
                dx, dy = x - points[0, neighbours[at]], y - points[1, neighbours[at]]
                weight = shares[at] / (_ONE + dx * dx + dy * dy)
                pull_x += weight * dx
                pull_y += weight * dy
            gradient[0, i] = np.float32(4.0) * (pull_x - gradient[0, i] * scale)
            gradient[1, i] = np.float32(4.0) * (pull_y - gradient[1, i] * scale)
        squares = 0.0
        for axis in range(2):
            squares += _move(points[axis], gradient[axis], moves[axis], gains[axis], rate, momentum)
        if n_done % _CHECKED_ROUNDS == 0 and squares < least_gradient**2:
            break


@njit(cache=True, nogil=True, error_model="numpy")
def _repulsion(points, push):  # type: ignore[no-untyped-def]
    """Fill in the unscaled repulsion of each point (2, n); return the sum of the nearness 1 / (1 + d^2) of all pairs.

    The inner loop is over points that receive, in one array per tile: so it is compiled to vector instructions, and
    as each sum keeps its order, they change no bit of it.
    """
    n = points.shape[1]
    tile = np.empty(5 * _LANES, dtype=np.float32)  # x, y, nearness, and both repulsions of each lane
    total = 0.0
    for start in range(0, n, _LANES):
        n_here = min(_LANES, n - start)
        tile[:] = _ZERO
        for lane in range(n_here):
            tile[lane] = points[0, start + lane]
            tile[lane + _LANES] = points[1, start + lane]
        for j in range(n):
            x, y = points[0, j], points[1, j]
            for lane in range(_LANES):
                dx, dy = tile[lane] - x, tile[lane + _LANES] - y
                near = _ONE / (_ONE + dx * dx + dy * dy)
                tile[lane + 2 * _LANES] += near
                near *= near
                tile[lane + 3 * _LANES] += near * dx
                tile[lane + 4 * _LANES] += near * dy
        for lane in range(n_here):
            total += tile[lane + 2 * _LANES]
            push[0, start + lane] = tile[lane + 3 * _LANES]
            push[1, start + lane] = tile[lane + 4 * _LANES]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _move(coordinates, gradient, moves, gains, rate, momentum):  # type: ignore[no-untyped-def]
    """Take a step along one axis; return the sum of squares of the gradient, each entry times its gain.

    The gain of a coordinate grows while it goes on, and falls when it turns.
    """
    squares = 0.0
    for i in range(len(coordinates)):
        turns = moves[i] * gradient[i] >= _ZERO
        gain = gains[i] * np.float32(0.8) if turns else gains[i] + np.float32(0.2)
        gains[i] = max(gain, np.float32(_MIN_GAIN))
        slope = gains[i] * gradient[i]
        squares += slope * slope
        moves[i] = momentum * moves[i] - rate * slope
        coordinates[i] += moves[i]
    return squares
