"""Embeddings and the weights of a listener's songs -> a score of every song, and the liked song it is nearest to.

A song is drawn to the songs that a listener likes and away from those they dislike, the more the nearer it is. With
the weights w, the bandwidth b, and t the typical squared distance of two songs::

    liked(x), disliked(x) = sum_i |w_i| exp(-|x - x_i|^2 / (b t))  over w_i > 0, and over w_i < 0
    score(x) = (liked(x) - min(disliked(x), liked(x) / 2)) / sum_i |w_i|

Dislikes take away half at most: what is near the only liked song does not fall behind what is
far from it, however many there are.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray

BANDWIDTH = 0.5
"""Share of the typical squared distance at which the pull of a song has fallen to 1/e."""

MAX_LOST_SHARE = 0.5
"""Share of the pull of what is liked that dislikes may take away."""

MAX_TASTE_SONGS = 500
"""Songs of a taste; of more, those with the largest weights."""

SAMPLE_PAIRS = 2_000
"""Random pairs of songs whose distances tell what is typical."""

_BLOCK_NUMBERS = 4_000_000

Floats = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Taste:
    """Points that a listener is drawn to or away from.

    Attributes
    ----------
    points : array of shape (n_points, rank)
        Embeddings.
    weights : array of shape (n_points,)
        Above 0 for what the listener likes, below 0 for what they dislike.
    """

    points: Floats
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.weights.shape != (len(self.points),):
            raise InvalidInputError(
                f"points of shape {self.points.shape} and weights of shape {self.weights.shape} do not belong "
                "together; give a weight for each point."
            )


def strongest_rows(weights: FloatArray, max_songs: int = MAX_TASTE_SONGS) -> Rows:
    """Return the rows with the largest weights, above or below 0, ascending; ties go to the lower row.

    Neither what is liked nor what is disliked takes more than half of the rows from the other.

    Parameters
    ----------
    weights : array of shape (n_songs,)
        0 for songs that the listener told nothing about.
    max_songs : int
    """
    order = np.argsort(-np.abs(weights), kind="stable")
    liked, disliked = order[weights[order] > 0], order[weights[order] < 0]
    n_disliked = min(len(disliked), max(max_songs // 2, max_songs - len(liked)))
    return np.sort(np.concatenate([liked[: max_songs - n_disliked], disliked[:n_disliked]])).astype(np.int64)


def typical_squared_distance(embeddings: Floats) -> float:
    """Return the median squared distance of random pairs of songs; 1 if there are none or all are at one point."""
    if len(embeddings) < 2:
        return 1.0
    first, second = np.random.default_rng(0).integers(len(embeddings), size=(2, SAMPLE_PAIRS))
    differ = first != second
    differences = embeddings[first[differ]].astype(np.float64) - embeddings[second[differ]]
    return float(np.median(np.square(differences).sum(axis=1))) or 1.0


def taste_scores(
    embeddings: Floats, taste: Taste, typical: float | None = None, bandwidth: float = BANDWIDTH
) -> FloatArray:
    """Return the score of every song.

    Parameters
    ----------
    embeddings : array of shape (n_songs, rank)
    taste : Taste
        If nothing is liked, songs score the higher the less they are like what is disliked.
    typical : float, optional
        Typical squared distance, by default that of ``embeddings``.
    bandwidth : float

    Returns
    -------
    array of shape (n_songs,)
        From -1 to 1; 0 for a taste without points.

    Examples
    --------
    >>> songs = np.array([[0.0], [1.0], [3.0]])
    >>> taste = Taste(songs[:1], np.array([2.0]))
    >>> taste_scores(songs, taste, typical=2.0).round(2).tolist()
    [1.0, 0.37, 0.0]
    """
    total = float(np.abs(taste.weights).sum())
    liked, disliked = pulls(embeddings, taste, typical, bandwidth)
    scores = without_disliked(liked, disliked) if (taste.weights > 0).any() else -disliked
    return scores / (total or 1.0)


def pulls(
    embeddings: Floats, taste: Taste, typical: float | None = None, bandwidth: float = BANDWIDTH
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the pulls on every song of what is liked, and of what is disliked, (n_songs,) each."""
    found = np.zeros((len(embeddings), 2))
    if taste.weights.any():
        width = bandwidth * (typical_squared_distance(embeddings) if typical is None else typical)
        weights = np.maximum(np.stack([taste.weights, -taste.weights], axis=1), 0).astype(embeddings.dtype)
        step = max(1, _BLOCK_NUMBERS // len(weights))
        for first in range(0, len(embeddings), step):
            squares = squared_distances(embeddings[first : first + step], taste.points)
            np.exp(np.multiply(squares, -1.0 / width, out=squares), out=squares)
            found[first : first + step] = squares @ weights
    return found[:, 0], found[:, 1]


def without_disliked(liked: FloatArray, disliked: FloatArray) -> FloatArray:
    """Return how much songs are liked, less what dislikes take away: never more than a share of it.

    Parameters
    ----------
    liked, disliked : arrays of shape (n_songs,)
        At least 0.

    Examples
    --------
    >>> without_disliked(np.array([1.0, 1.0, 0.1]), np.array([0.2, 9.0, 0.0])).tolist()
    [0.8, 0.5, 0.1]
    """
    scores: FloatArray = liked - np.minimum(disliked, MAX_LOST_SHARE * liked)
    return scores


def nearest_liked(embeddings: Floats, taste: Taste) -> Rows:
    """Return for each song (n_songs, rank) the nearest liked point of the taste, (n_songs,); -1 for none."""
    liked = np.flatnonzero(taste.weights > 0)
    if not len(liked):
        return np.full(len(embeddings), -1, np.int64)
    squares = squared_distances(embeddings, taste.points[liked])
    nearest: Rows = liked[np.argmin(squares, axis=1)].astype(np.int64)
    return nearest


def squared_distances(first: Floats, second: Floats) -> Floats:
    """Return the squared distances (n_first, n_second) of all pairs of rows, by one matrix product."""
    origin = second.mean(axis=0)  # near the points, float32 resolves small distances
    left, right = first - origin, second - origin
    squares: Floats = left @ right.T
    squares *= -2
    squares += np.einsum("ij,ij->i", left, left)[:, None]
    squares += np.einsum("ij,ij->i", right, right)
    return np.maximum(squares, 0, out=squares)
