"""Places of songs in the learned space -> points on a map, and where names of groups go on it.

Near songs stay near (t-SNE). A map of many songs is laid out from a sample that is spread over all of them; every
other song goes where its nearest songs of the sample are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import uniform_filter
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

Points = npt.NDArray[np.float32]
Progress = Callable[[str, int, int], None]

SAMPLE = 3000
"""Songs that t-SNE sees at most; twice as many take more than twice as long."""

_FEW = 12  # songs that t-SNE makes nothing of: their two main directions say more
_DIMENSIONS = 50  # what t-SNE gets to see at most
_NEAREST = 8  # songs of the sample that say where another one goes
_BLOCK = 4096  # songs at once
_MARGIN = 0.02  # free space around the map


def layout(places: npt.ArrayLike, seed: int = 0, progress: Progress | None = None) -> Points:
    """Lay songs out in a square so that near ones stay near; the same places and seed give the same map.

    Parameters
    ----------
    places : array of shape (n_songs, rank)
        Where the songs are in the learned space.
    seed : int, default=0
        For t-SNE, and for the small offsets that keep songs from covering each other.
    progress : callable, optional
        Called as ``progress("map", done, total)``, in songs.

    Returns
    -------
    array of shape (n_songs, 2), float32
        In [0, 1]. Distances on it are only roughly those of the space, and between far groups they mean little.

    Examples
    --------
    >>> import numpy as np
    >>> two_kinds = np.repeat([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], 20, axis=0)
    >>> points = layout(two_kinds + np.random.default_rng(0).normal(size=(40, 3)))
    >>> points.shape, bool(np.ptp(points[:20], axis=0).max() < np.linalg.norm(points[0] - points[-1]))
    ((40, 2), True)
    """
    report = progress or _silent
    check_count(seed, "seed", minimum=0)
    array = np.asarray(places)
    if array.ndim != 2:
        raise InvalidInputError(f"places has shape {array.shape}; songs x rank is needed, one row a song.")
    n = len(array)
    if not all(np.isfinite(array[part]).all() for part in _blocks(n)):
        raise InvalidInputError("places has a NaN or infinite value; project the songs anew.")
    report("map", 0, n)
    # t-SNE's threads wait for each other in a loop; one also gives the same bytes anywhere
    with threadpool_limits(1):
        seen = _main_directions(array)
        if n == 0 or not seen.any():
            points = _sunflower(n)
        elif n <= SAMPLE:
            points = _apart(_tsne(seen, seed), seed)
        else:
            points = _around_a_sample(seen, seed, report)
    report("map", n, n)
    return _into_the_square(points)


def _silent(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def _main_directions(places: npt.NDArray[Any]) -> Points:
    """Return places along their main directions, at most fifty of them, with a mean square of 1 a song.

    All zero where the songs are all in one place.
    """
    n, rank = places.shape
    if n == 0 or rank == 0:
        return np.zeros((n, 1), dtype=np.float32)
    # in units of the largest number, so that no square is out of range
    unit = max((float(np.abs(places[part]).max()) for part in _blocks(n)), default=0.0) or 1.0
    mean = np.zeros(rank)
    for part in _blocks(n):
        mean += (places[part] / unit).sum(axis=0, dtype=np.float64) / n
    scatter = np.zeros((rank, rank))
    for part in _blocks(n):
        centred = places[part] / unit - mean
        scatter += centred.T @ centred / n
    if np.trace(scatter) < 1e-24:  # songs in one place differ from their mean by rounding alone
        return np.zeros((n, 1), dtype=np.float32)
    directions = np.linalg.eigh(scatter)[1][:, ::-1][:, :_DIMENSIONS]
    heaviest = np.abs(directions).argmax(axis=0)  # a direction's sign is nobody's choice but this
    directions = directions * np.sign(directions[heaviest, np.arange(directions.shape[1])])
    result = np.empty((n, directions.shape[1]), dtype=np.float32)
    for part in _blocks(n):
        result[part] = (places[part] / unit - mean) @ directions
    result /= np.sqrt(np.trace(scatter))
    return result


def _tsne(seen: Points, seed: int) -> npt.NDArray[np.float64]:
    """Return the t-SNE of songs; of a handful, their places along the two main directions."""
    from sklearn.manifold import TSNE  # only who draws a map waits for it

    n = len(seen)
    if seen.shape[1] == 1:
        seen = np.column_stack([seen, np.zeros(n, dtype=np.float32)])
    start = seen[:, :2].astype(np.float64)
    if n < _FEW:
        return start
    # PCA as the start: far groups then lie roughly where they should, and the map is the same every time
    noise = np.random.default_rng(seed).normal(scale=1e-6, size=(n, 2))  # what starts in one point stays in one
    start = start / start[:, 0].std() * 1e-4 + noise
    tsne = TSNE(
        2,
        init=start.astype(np.float32),
        random_state=seed,
        perplexity=min(30.0, (n - 1) / 3),
        angle=0.6,
        max_iter=750,
    )
    return np.asarray(tsne.fit_transform(seen), dtype=np.float64)


def _around_a_sample(seen: Points, seed: int, report: Progress) -> npt.NDArray[np.float64]:
    """Lay a sample out and put every other song among its nearest ones of the sample."""
    n = len(seen)
    chosen = _spread_sample(seen, SAMPLE)
    points = np.empty((n, 2))
    core = points[chosen] = _apart(_tsne(seen[chosen], seed), seed)
    report("map", len(chosen), n)
    # how much room there is around a song of the sample: half way to the next few
    tree: Any = cKDTree(core)
    room = tree.query(core, k=[4])[0][:, 0] / 2
    others = np.setdiff1d(np.arange(n), chosen)
    random = np.random.default_rng(seed)
    radius, angle = np.sqrt(random.random(len(others))), 2 * np.pi * random.random(len(others))
    squares = np.einsum("ij,ij->i", seen[chosen], seen[chosen])
    for part in _blocks(len(others)):
        songs = others[part]
        squared = squares - 2 * seen[songs] @ seen[chosen].T  # but for the song's own square
        near = np.argpartition(squared, _NEAREST - 1, axis=1)[:, :_NEAREST]
        near.sort(axis=1)
        squared = np.take_along_axis(squared, near, axis=1).astype(np.float64)
        points[songs] = _robust_mean(squared, core[near])
        reach = (radius[part] * room[near[np.arange(len(songs)), squared.argmin(axis=1)]])[:, None]
        points[songs] += reach * np.column_stack([np.cos(angle[part]), np.sin(angle[part])])
        report("map", len(chosen) + part.stop, n)
    return points


def _robust_mean(squared: npt.NDArray[np.float64], corners: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a mean of points (n x k x 2), the near ones (n x k squared distances) and the unanimous ones first.

    Neighbours that t-SNE has torn apart would put a song into the empty space between them, so those far on the
    map from where most are lose their say.
    """
    lead = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-2 * lead / np.maximum(lead.mean(axis=1, keepdims=True), 1e-30))
    # from the neighbour that has the others around it
    apart = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=3)
    centre = (apart * weights[:, None]).sum(axis=2) / weights
    middle: npt.NDArray[np.float64] = corners[np.arange(len(corners)), centre.argmin(axis=1)]
    scale = np.median(apart, axis=(1, 2))[:, None] + 1e-12
    for _ in range(3):
        away = np.linalg.norm(corners - middle[:, None], axis=2) / scale
        say = weights / (1 + away**2) ** 2
        middle = (say[:, :, None] * corners).sum(axis=1) / say.sum(axis=1, keepdims=True)
    return middle


def _spread_sample(seen: Points, size: int) -> npt.NDArray[np.int64]:
    """Return ``size`` songs, sorted: one of each of as many cells, all equally full.

    The cells come of cutting the songs in two across their widest direction, again and again. So a sample is as
    dense as the songs, and more evenly spread than by chance.
    """
    chosen = []
    pending = [(np.arange(len(seen)), size)]
    while pending:
        songs, share = pending.pop()
        if share == 1:
            away = ((seen[songs] - seen[songs].mean(axis=0)) ** 2).sum(axis=1)
            chosen.append(int(songs[away.argmin()]))
            continue
        first_share = share // 2
        first = len(songs) * first_share // share
        values = seen[songs, seen[songs].var(axis=0).argmax()]
        order = np.argsort(values, kind="stable")
        pending += [
            (np.sort(songs[order[:first]]), first_share),
            (np.sort(songs[order[first:]]), share - first_share),
        ]
    return np.sort(np.array(chosen))


def _apart(points: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Move points that coincide, or nearly, a little apart: each can then be seen and met."""
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
    """Return points as evenly apart as a sunflower's seeds, for songs that are all the same."""
    turn = np.arange(n) * np.pi * (3 - np.sqrt(5))
    points: npt.NDArray[np.float64] = np.sqrt(np.arange(n))[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return points


def _into_the_square(points: npt.NDArray[np.float64]) -> Points:
    """Scale points, both directions alike, to fill the unit square but for a margin."""
    if len(points) == 0:
        return np.zeros((0, 2), dtype=np.float32)
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    scaled: npt.NDArray[np.float64] = 0.5 + (1 - 2 * _MARGIN) * (points - (low + high) / 2) / size
    return np.asarray(np.clip(scaled, 0, 1), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class GroupLabel:
    """Where a group's name goes: one of the places where its songs are many.

    Attributes
    ----------
    group : int
        Which group.
    x, y : float
        The middle of those songs.
    songs : int
        How many they are.
    reach : float
        How far from the middle they are, as a root mean square.
    """

    group: int
    x: float
    y: float
    songs: int
    reach: float


_CELLS = 48  # a side of the grid that finds where a group's songs are many
_REACH = 0.06  # songs this near belong to the same place
_PLACES = 3  # a name is written this often at most


def group_labels(
    points: npt.NDArray[Any], groups: Sequence[int] | npt.NDArray[Any], most: int = 2000
) -> list[GroupLabel]:
    """Find where names of groups go on a map: where a group is dense, up to three times if it is in several places.

    Parameters
    ----------
    points : array of shape (n_songs, 2)
        In [0, 1].
    groups : sequence of int
        Each song's group; -1 for none.
    most : int, default=2000
        Groups that get a name; the largest ones do, if they have three songs.

    Returns
    -------
    list of GroupLabel
        The places with most songs first.

    Examples
    --------
    >>> points = np.repeat([[0.25, 0.5], [0.75, 0.5]], 4, axis=0)
    >>> [(label.group, label.x, label.songs) for label in group_labels(points, [0] * 4 + [1] * 4)]
    [(0, 0.25, 4), (1, 0.75, 4)]
    """
    member = np.asarray(groups, dtype=np.int64)
    if member.shape != (len(points),):
        raise InvalidInputError(f"groups has shape {member.shape}; one for each of {len(points)} songs is needed.")
    order = np.argsort(member, kind="stable")
    names, starts, counts = np.unique(member[order], return_index=True, return_counts=True)
    usable = np.flatnonzero((names >= 0) & (counts >= 3))
    largest = usable[np.argsort(-counts[usable], kind="stable")][:most]
    labels = []
    for i in largest:
        songs = np.asarray(points, dtype=np.float64)[order[starts[i] : starts[i] + counts[i]]]
        labels += [GroupLabel(int(names[i]), *place) for place in _dense_places(songs)]
    return sorted(labels, key=lambda label: (-label.songs, label.group))


def _dense_places(points: npt.NDArray[np.float64]) -> Iterator[tuple[float, float, int, float]]:
    """Yield the middle of a group's songs where they are densest, then of what is left while it is a fair part."""
    whole = len(points)
    for _ in range(_PLACES):
        cell = np.minimum((points * _CELLS).astype(np.int64), _CELLS - 1)
        filled = np.bincount(cell[:, 1] * _CELLS + cell[:, 0], minlength=_CELLS**2).reshape(_CELLS, _CELLS)
        dense = uniform_filter(filled.astype(np.float64), 3, mode="constant")
        # of equal cells the one that is fuller itself
        row, column = np.unravel_index((dense * 100 + filled).argmax(), dense.shape)
        middle = (np.array([column, row]) + 0.5) / _CELLS
        for _ in range(3):
            near = np.linalg.norm(points - middle, axis=1) < _REACH
            if near.any():
                middle = points[near].mean(axis=0)
        if near.sum() < max(3, whole / 5):
            break
        reach = float(np.sqrt(((points[near] - middle) ** 2).sum(axis=1).mean()))
        yield float(middle[0]), float(middle[1]), int(near.sum()), reach
        points = points[~near & (np.linalg.norm(points - middle, axis=1) > 2 * _REACH)]
        if len(points) < 3:
            break
