"""Songs in a space -> a map in two dimensions (t-SNE), its dense regions, and where labels fit (paper Fig. 4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from nearsong.experiment.report_run import Showcase

MAP_SEED = 0
MOST_SONGS = 3000  # on one map; t-SNE of more takes minutes and the points cover each other
_FEWEST_SONGS = 30  # fewer make no map
_SONGS_IN_A_REGION = 14
_OTHER = "all others"

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Region:
    """A window of the map: its centre, half its height, the songs in it, and which group most of them are of."""

    centre: tuple[float, float]
    half_width: float
    half_height: float
    songs: list[int]
    group: str
    share: int  # songs of that group


@dataclass(frozen=True)
class LabelPlace:
    """Where a label goes: its left lower corner, and the ends of the line to its point if it is not beside it."""

    song: int
    x: float
    y: float
    leader: tuple[tuple[float, float], tuple[float, float]] | None


def songs_on_map(n_songs: int) -> npt.NDArray[np.int64]:
    """Return which songs a map shows: all of them, or a fixed random choice of many.

    Examples
    --------
    >>> songs_on_map(4)
    array([0, 1, 2, 3])
    """
    if n_songs <= MOST_SONGS:
        return np.arange(n_songs)
    return np.sort(np.random.default_rng(MAP_SEED).choice(n_songs, MOST_SONGS, replace=False))


def tsne_map(vectors: npt.NDArray[np.float64]) -> Points | None:
    """Lay vectors out in two dimensions so that near ones stay near; the same vectors give the same map.

    Parameters
    ----------
    vectors : array of shape (n_songs, d)

    Returns
    -------
    array of shape (n_songs, 2) or None
        None where there is nothing to lay out: fewer than 30 songs, or all in one place.

    Examples
    --------
    >>> import numpy as np
    >>> tsne_map(np.random.default_rng(0).standard_normal((40, 5))).shape
    (40, 2)
    >>> tsne_map(np.zeros((40, 5))) is None
    True
    """
    n, d = vectors.shape
    if n < _FEWEST_SONGS or d == 0 or np.ptp(vectors, axis=0).max() == 0:
        return None
    scaled = (vectors - vectors.mean(axis=0)) / vectors.std()  # t-SNE's start is relative; tiny numbers would drown
    if d > 50:
        scaled = PCA(50 if n > 50 else n - 1, svd_solver="full").fit_transform(scaled)
    elif d == 1:
        scaled = np.column_stack([scaled, np.zeros(n)])
    tsne = TSNE(2, init="pca", random_state=MAP_SEED, perplexity=min(30.0, (n - 1) / 3))
    with threadpool_limits(1):  # its threads wait for each other in a loop: on a busy machine fifteen times slower
        layout = tsne.fit_transform(scaled)
    return np.asarray(layout, dtype=np.float64)


def song_groups(showcase: Showcase, most: int) -> tuple[list[str], list[str], str]:
    """Return each song's group, the groups by size, and what they are ("genre" or "artist").

    Genres, or where no song has one the most frequent artists; all but the ``most`` largest are one group, last.
    """
    kind = "genre" if any(showcase.genre) else "artist"
    names = showcase.genre if kind == "genre" else showcase.artist
    counts = Counter(name for name in names if name)
    largest = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]]
    groups = [name if name in largest else _OTHER for name in names]
    return groups, largest + [_OTHER] * (_OTHER in groups), kind


def dense_regions(
    points: Points, groups: Sequence[str], artists: Sequence[str], wide: float, how_many: int = 3
) -> list[Region]:
    """Find windows that are densely filled, by one group as far as possible, by several artists, and do not overlap.

    Parameters
    ----------
    points : array of shape (n_songs, 2)
    groups, artists : sequence of str
        Of each song.
    wide : float
        Width of a window divided by its height.
    how_many : int
        At most this many.
    """
    k = min(_SONGS_IN_A_REGION, len(points))
    squeezed = points / [wide, 1.0]
    found: Any = cKDTree(squeezed).query(squeezed, k=[*range(1, k + 1)], p=np.inf)
    reach, near = found
    heights = np.maximum(reach[:, -1], 1e-9)
    merits = np.empty(len(points))
    tops: list[tuple[str, int]] = []
    for song, around in enumerate(near):
        counts = Counter(groups[i] for i in around if groups[i] != _OTHER) or Counter([_OTHER])
        tops.append(counts.most_common(1)[0])
        merits[song] = tops[-1][1] / k * len({artists[i] for i in around}) / k
    merits[heights > np.quantile(heights, 0.4)] *= 0.2  # the denser part of the map first
    regions: list[Region] = []
    for song in np.argsort(-merits, kind="stable"):
        half = float(heights[song]) * 1.15
        x, y = (float(value) for value in points[song])
        apart = all(
            abs(x - r.centre[0]) > half * wide + r.half_width or abs(y - r.centre[1]) > half + r.half_height
            for r in regions
        )
        if apart and (tops[song][0] == _OTHER or tops[song][0] not in {r.group for r in regions}):
            inside = (np.abs(points - points[song]) <= np.array([wide, 1.0]) * half * 0.97).all(axis=1)
            songs = [int(i) for i in np.flatnonzero(inside)]
            share = sum(groups[i] == tops[song][0] for i in songs)
            regions.append(Region((x, y), half * wide, half, songs, tops[song][0], share))
        if len(regions) == how_many:
            break
    return regions


def shortened(text: str, most: int) -> str:
    """Return text of at most so many letters, its end replaced by an ellipsis.

    Examples
    --------
    >>> shortened("Ornette Coleman", 10)
    'Ornette C…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def place_labels(
    points: Points, widths: Sequence[float], height: float, frame: tuple[float, float]
) -> list[LabelPlace]:
    """Place a label at each point so that it covers no other label and no point; where there is no room, none.

    Parameters
    ----------
    points : array of shape (n, 2)
        Inside the frame, from its left lower corner.
    widths : sequence of float
        Of each label.
    height : float
        Of every label.
    frame : (width, height)

    Examples
    --------
    >>> places = place_labels(np.array([[10.0, 10.0], [60.0, 10.0]]), [30.0, 30.0], 5.0, (100.0, 40.0))
    >>> [(place.song, place.x, place.y) for place in places]
    [(0, 15.0, 7.5), (1, 65.0, 7.5)]
    """
    middle = np.array(frame) / 2
    order = np.argsort(-np.abs(points - middle).max(axis=1), kind="stable")  # the rim has the least choice
    dots: list[_Box] = [(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    taken: list[_Box] = []
    places = []
    for song in order:
        others = taken + dots[:song] + dots[song + 1 :]
        for place in _candidates(int(song), points[song], widths[song], height):
            box = (place.x, place.y, place.x + widths[song], place.y + height)
            inside = box[0] >= 2 and box[1] >= 2 and box[2] <= frame[0] - 2 and box[3] <= frame[1] - 2
            boxes = [box, *_along(place.leader)]
            if inside and not any(_overlap(own, other) for own in boxes for other in others):
                taken += boxes
                places.append(place)
                break
    return sorted(places, key=lambda place: place.song)


_Box = tuple[float, float, float, float]  # left, bottom, right, top


def _candidates(song: int, point: Points, width: float, height: float) -> list[LabelPlace]:
    """Return places for a label, best first: beside its point, above and below, then further away."""
    x, y = float(point[0]), float(point[1])
    low = y - height / 2
    places = [LabelPlace(song, x + 5, low, None), LabelPlace(song, x - 5 - width, low, None)]
    for step in (1.0, 1.8, 2.7, 3.7, 4.8):
        for side in (1, -1):
            bottom = low + side * step * height
            for left in (x + 5, x - 5 - width, x - width / 2, x - width / 5, x - width * 4 / 5):
                end = (min(max(x, left), left + width), bottom if side > 0 else bottom + height)
                places.append(LabelPlace(song, left, bottom, ((x, y), end)))
    return places


def _along(leader: tuple[tuple[float, float], tuple[float, float]] | None) -> list[_Box]:
    """Return small boxes along a line, short of its end, which is its label."""
    if leader is None:
        return []
    (x, y), (to_x, to_y) = leader
    steps = [(x + t * (to_x - x), y + t * (to_y - y)) for t in (0.3, 0.45, 0.6, 0.75, 0.9)]
    return [(a - 0.5, b - 0.5, a + 0.5, b + 0.5) for a, b in steps]


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def neighbours_of_the_same_genre(showcase: Showcase, vectors: npt.NDArray[np.float64], k: int = 10) -> float:
    """Return how many of a song's ``k`` nearest songs by other artists share its genre, as a mean share.

    NaN where no song has a genre.
    """
    genre, artist = np.array(showcase.genre), np.array(showcase.artist)
    shares = []
    squares = (vectors**2).sum(axis=1)
    for song in np.flatnonzero(genre != ""):
        others = np.flatnonzero((artist != artist[song]) & (genre != ""))
        if others.size < k:
            continue
        distances = squares[others] - 2 * vectors[others] @ vectors[song]
        nearest = others[np.argpartition(distances, k - 1)[:k]]
        shares.append((genre[nearest] == genre[song]).mean())
    return float(np.mean(shares)) if shares else float("nan")
