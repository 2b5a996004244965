"""Embeddings of songs -> positions on a map, and positions of group labels on it.

Nearest neighbours stay near (t-SNE). A map of many songs is laid out from an evenly spread sample; every other song
is positioned among its nearest neighbours in the sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import uniform_filter
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError
from nearsong.library.neighbours.index import NeighbourIndex
from nearsong.reduction.tsne import tsne
from nearsong.types import Progress, no_progress
from nearsong.validation import check_count

Points = npt.NDArray[np.float32]

MAX_TSNE_SONGS = 3000
"""Songs laid out by t-SNE; its time grows faster than linearly."""

_MIN_TSNE_SONGS = 12  # fewer songs are laid out by PCA
_MAX_DIMENSIONS = 50  # principal components given to t-SNE
_N_NEIGHBOURS = 8  # songs of the sample that position another song
_BLOCK_SONGS = 4096
_RANK_SHARE = 0.5  # of a position: its rank along the axis, not its distance
_MARGIN = 0.02  # around the map, as a share of its side


def layout(embeddings: npt.ArrayLike, seed: int = 0, progress: Progress = no_progress) -> Points:
    """Lay songs out in a square with nearest neighbours close together; deterministic for a seed.

    Parameters
    ----------
    embeddings : array of shape (n_songs, rank)
        The embeddings of the songs.
    seed : int, default=0
        For t-SNE, and for the small offsets that separate coinciding songs.
    progress : callable, optional
        Called as ``progress("map", done, total)``, in songs.

    Returns
    -------
    array of shape (n_songs, 2), float32
        In [0, 1]. Distances are approximate, and mean little between far groups.

    Examples
    --------
    >>> import numpy as np
    >>> two_kinds = np.repeat([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], 20, axis=0)
    >>> points = layout(two_kinds + np.random.default_rng(0).normal(size=(40, 3)))
    >>> points.shape, bool(np.ptp(points[:20], axis=0).max() < np.linalg.norm(points[0] - points[-1]))
    ((40, 2), True)
    """
    check_count(seed, "seed", minimum=0)
    array = np.asarray(embeddings)
    if array.ndim != 2:
        raise InvalidInputError(f"embeddings has shape {array.shape}; (n_songs, rank) is needed.")
    n = len(array)
    if not all(np.isfinite(array[part]).all() for part in _blocks(n)):
        raise InvalidInputError("embeddings has a NaN or infinite value; project the songs again.")
    progress("map", 0, n)
    # with one thread the products of matrices do not depend on how many processors there are
    with threadpool_limits(1):
        components = _principal_components(array)
        if n == 0 or not components.any():
            points = _sunflower(n)
        elif n <= MAX_TSNE_SONGS:
            points = _separated(_tsne(components, seed), seed)
        else:
            points = _layout_by_sample(components, seed, progress)
    progress("map", n, n)
    return _scaled_to_square(_opened(points))


def _opened(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Move points (n, 2) half-way to where they would be evenly spread along each axis; their order stays.

    Groups that are far apart would otherwise be drawn as a few dots in the corners of an empty map.
    """
    if len(points) < _MIN_TSNE_SONGS or not np.ptp(points, axis=0).all():
        return points
    shares = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0, kind="stable") / (len(points) - 1)
    return np.asarray((1 - _RANK_SHARE) * shares + _RANK_SHARE * ranks, dtype=np.float64)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK_SONGS, n)) for start in range(0, n, _BLOCK_SONGS))


def _principal_components(embeddings: npt.NDArray[Any]) -> Points:
    """Return up to fifty principal components of the embeddings, with a mean squared norm of 1.

    All zero if all embeddings are equal.
    """
    n, rank = embeddings.shape
    if n == 0 or rank == 0:
        return np.zeros((n, 1), dtype=np.float32)
    # scaled by the largest value, so that squares do not overflow
    unit = max((float(np.abs(embeddings[part]).max()) for part in _blocks(n)), default=0.0) or 1.0
    mean = np.zeros(rank)
    for part in _blocks(n):
        mean += (embeddings[part] / unit).sum(axis=0, dtype=np.float64) / n
    scatter = np.zeros((rank, rank))
    for part in _blocks(n):
        centred = embeddings[part] / unit - mean
        scatter += centred.T @ centred / n
    if np.trace(scatter) < 1e-24:  # equal embeddings differ from their mean by rounding only
        return np.zeros((n, 1), dtype=np.float32)
    directions = np.linalg.eigh(scatter)[1][:, ::-1][:, :_MAX_DIMENSIONS]
    heaviest = np.abs(directions).argmax(axis=0)  # makes the signs deterministic
    directions = directions * np.sign(directions[heaviest, np.arange(directions.shape[1])])
    result = np.empty((n, directions.shape[1]), dtype=np.float32)
    for part in _blocks(n):
        result[part] = (embeddings[part] / unit - mean) @ directions
    result /= np.sqrt(np.trace(scatter))
    return result


def _tsne(components: Points, seed: int) -> npt.NDArray[np.float64]:
    """Return the t-SNE of songs, or the first two principal components of very few."""
    n = len(components)
    if components.shape[1] == 1:
        components = np.column_stack([components, np.zeros(n, dtype=np.float32)])
    start = components[:, :2].astype(np.float64)
    if n < _MIN_TSNE_SONGS:
        return start
    # PCA as the start keeps the global arrangement and makes the map deterministic
    noise = np.random.default_rng(seed).normal(scale=0.01, size=(n, 2))  # points that start equal stay equal
    start = start / start[:, 0].std() + noise
    return tsne(components, start, perplexity=min(30.0, (n - 1) / 3), n_rounds=750)


def _layout_by_sample(components: Points, seed: int, progress: Progress) -> npt.NDArray[np.float64]:
    """Lay a sample out and position every other song among its nearest neighbours in the sample."""
    n = len(components)
    chosen = spread_sample(components, MAX_TSNE_SONGS)
    points = np.empty((n, 2))
    core = points[chosen] = _separated(_tsne(components[chosen], seed), seed)
    progress("map", len(chosen), n)
    # free radius around a song of the sample: half the distance to its third neighbour
    tree: Any = cKDTree(core)
    free_radius = tree.query(core, k=[4])[0][:, 0] / 2
    remaining = np.setdiff1d(np.arange(n), chosen)
    random = np.random.default_rng(seed)
    radius, angle = np.sqrt(random.random(len(remaining))), 2 * np.pi * random.random(len(remaining))
    index = NeighbourIndex.build(components[chosen], np.arange(len(chosen)))
    for part in _blocks(len(remaining)):
        songs = remaining[part]
        near, distances = index.nearest(components[songs], _N_NEIGHBOURS)
        points[songs] = robust_mean(distances**2, core[near])
        reach = (radius[part] * free_radius[near[:, 0]])[:, None]
        points[songs] += reach * np.column_stack([np.cos(angle[part]), np.sin(angle[part])])
        progress("map", len(chosen) + part.stop, n)
    return points


def robust_mean(squared: npt.NDArray[np.float64], corners: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a robust weighted mean of points (n x k x 2); weights fall with squared distances (n x k).

    Neighbours that t-SNE has separated would pull a song into the empty space between them, so outliers on the map
    are down-weighted.
    """
    lead = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-2 * lead / np.maximum(lead.mean(axis=1, keepdims=True), 1e-30))
    # start from the medoid
    apart = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=3)
    centre = (apart * weights[:, None]).sum(axis=2) / weights
    middle: npt.NDArray[np.float64] = corners[np.arange(len(corners)), centre.argmin(axis=1)]
    scale = np.median(apart, axis=(1, 2))[:, None] + 1e-12
    for _ in range(3):
        distance = np.linalg.norm(corners - middle[:, None], axis=2) / scale
        weight = weights / (1 + distance**2) ** 2
        middle = (weight[:, :, None] * corners).sum(axis=1) / weight.sum(axis=1, keepdims=True)
    return middle


def spread_sample(components: Points, size: int) -> npt.NDArray[np.int64]:
    """Return the sorted rows of ``size`` songs, one from each of ``size`` cells with equally many songs.

    Cells are found by recursive bisection along the dimension with the largest variance, so that the sample follows
    the density of the songs and is more even than a random one.
    """
    chosen = []
    pending = [(np.arange(len(components)), size)]
    while pending:
        songs, share = pending.pop()
        if share == 1:
            distance = ((components[songs] - components[songs].mean(axis=0)) ** 2).sum(axis=1)
            chosen.append(int(songs[distance.argmin()]))
            continue
        first_share = share // 2
        first = len(songs) * first_share // share
        values = components[songs, components[songs].var(axis=0).argmax()]
        order = np.argsort(values, kind="stable")
        pending += [
            (np.sort(songs[order[:first]]), first_share),
            (np.sort(songs[order[first:]]), share - first_share),
        ]
    return np.sort(np.array(chosen))


def _separated(points: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Separate points that coincide, or nearly, so that each can be seen and selected."""
    n = len(points)
    step = float(np.ptp(points, axis=0).max()) / max(4 * np.sqrt(n), 8)
    tree: Any = cKDTree(points)
    distance = tree.query(points, k=[2])[0][:, 0] if n > 1 else np.ones(n)
    crowded = np.flatnonzero(distance < step / 20)
    angle, radius = np.random.default_rng(seed).random((2, len(crowded)))
    moved = points.copy()
    moved[crowded] += (step * np.sqrt(radius) * np.stack([np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)])).T
    return moved


def _sunflower(n: int) -> npt.NDArray[np.float64]:
    """Return evenly spaced points (Fermat spiral), for songs that are all the same."""
    turn = np.arange(n) * np.pi * (3 - np.sqrt(5))
    points: npt.NDArray[np.float64] = np.sqrt(np.arange(n))[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return points


def _scaled_to_square(points: npt.NDArray[np.float64]) -> Points:
    """Scale points to fill the unit square up to a margin, keeping the aspect ratio."""
    if len(points) == 0:
        return np.zeros((0, 2), dtype=np.float32)
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    scaled: npt.NDArray[np.float64] = 0.5 + (1 - 2 * _MARGIN) * (points - (low + high) / 2) / size
    return np.asarray(np.clip(scaled, 0, 1), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class GroupLabel:
    """Position of the label of a group, at one of its clusters.

    Attributes
    ----------
    group : int
        The group.
    x, y : float
        Mean position of the songs of the cluster.
    songs : int
        Number of songs in the cluster.
    reach : float
        Root mean square distance of the songs from (x, y).
    """

    group: int
    x: float
    y: float
    songs: int
    reach: float


_GRID_CELLS = 48  # cells per side of the density grid
_CLUSTER_RADIUS = 0.06
_MAX_CLUSTER_RADIUS = 0.24  # of a group that is nowhere denser
_MAX_LABELS = 3  # per group
_MIN_FURTHER_SONGS = 5  # of a second or third cluster


def group_labels(
    points: npt.NDArray[Any], groups: Sequence[int] | npt.NDArray[Any], max_labels: int = 2000
) -> list[GroupLabel]:
    """Find positions for the labels of groups: where a group is dense, up to three per group.

    Parameters
    ----------
    points : array of shape (n_songs, 2)
        In [0, 1].
    groups : sequence of int
        Group of each song; -1 for none.
    max_labels : int, default=2000
        Maximum number of groups; the largest with at least three songs are labelled.

    Returns
    -------
    list of GroupLabel
        The largest clusters first.

    Examples
    --------
    >>> points = np.repeat([[0.25, 0.5], [0.75, 0.5]], 4, axis=0)
    >>> [(label.group, label.x, label.songs) for label in group_labels(points, [0] * 4 + [1] * 4)]
    [(0, 0.25, 4), (1, 0.75, 4)]
    """
    member = np.asarray(groups, dtype=np.int64)
    if member.shape != (len(points),):
        raise InvalidInputError(
            f"groups has shape {member.shape}; one group for each of {len(points)} songs is needed."
        )
    order = np.argsort(member, kind="stable")
    names, starts, counts = np.unique(member[order], return_index=True, return_counts=True)
    usable = np.flatnonzero((names >= 0) & (counts >= 3))
    largest = usable[np.argsort(-counts[usable], kind="stable")][:max_labels]
    labels = []
    for i in largest:
        songs = np.asarray(points, dtype=np.float64)[order[starts[i] : starts[i] + counts[i]]]
        labels += [GroupLabel(int(names[i]), *cluster) for cluster in _clusters(songs)]
    return sorted(labels, key=lambda label: (-label.songs, label.group))


def _clusters(points: npt.NDArray[np.float64]) -> Iterator[tuple[float, float, int, float]]:
    """Yield centre, size and radius of the densest cluster of a group, then of the rest while it is large enough."""
    least, radius, found = max(3.0, len(points) / 5), _CLUSTER_RADIUS, False
    for _ in range(_MAX_LABELS):
        cell = np.minimum((points * _GRID_CELLS).astype(np.int64), _GRID_CELLS - 1)
        filled = np.bincount(cell[:, 1] * _GRID_CELLS + cell[:, 0], minlength=_GRID_CELLS**2).reshape(
            _GRID_CELLS, _GRID_CELLS
        )
        dense = uniform_filter(filled.astype(np.float64), 3, mode="constant")
        # among equal cells the fuller one
        row, column = np.unravel_index((dense * 100 + filled).argmax(), dense.shape)
        middle = (np.array([column, row]) + 0.5) / _GRID_CELLS
        near, middle = _around(points, middle, radius)
        while near.sum() < least and 2 * radius <= _MAX_CLUSTER_RADIUS and not found:
            radius *= 2
            near, middle = _around(points, middle, radius)
        if near.sum() < least:
            break
        found = True
        reach = float(np.sqrt(((points[near] - middle) ** 2).sum(axis=1).mean()))
        yield float(middle[0]), float(middle[1]), int(near.sum()), reach
        points = points[~near & (np.linalg.norm(points - middle, axis=1) > 2 * radius)]
        least = max(least, _MIN_FURTHER_SONGS)
        if len(points) < least:
            break


def _around(
    points: npt.NDArray[np.float64], middle: npt.NDArray[np.float64], radius: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Return which points are near a centre, and the centre moved to their middle."""
    for _ in range(3):
        near = np.linalg.norm(points - middle, axis=1) < radius
        if near.any():
            middle = points[near].mean(axis=0)
    return near, middle
