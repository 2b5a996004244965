"""Song embeddings -> a map in two dimensions (t-SNE), its dense regions and positions for labels (paper Fig. 4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from nearsong.evaluation.distance_keys import distance_keys
from nearsong.experiment.report.reading import Showcase
from nearsong.reduction.principal_components import PrincipalComponents
from nearsong.reduction.tsne import tsne

MAP_SEED = 0
MAX_SONGS = 3000  # t-SNE of more takes minutes, and points hide each other
_MIN_SONGS = 30
_MAX_DIMENSIONS = 50  # principal components given to t-SNE
_REGION_SONGS = 14
_MAX_REGIONS = 3
_OTHER = "all others"

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Region:
    """A window of the map: its centre and size, the songs in it, and their most frequent group."""

    centre: tuple[float, float]
    half_width: float
    half_height: float
    songs: list[int]
    group: str
    n_of_group: int

    def overlaps(self, other: "Region") -> bool:
        """Return whether two windows overlap."""
        return (
            abs(self.centre[0] - other.centre[0]) <= self.half_width + other.half_width
            and abs(self.centre[1] - other.centre[1]) <= self.half_height + other.half_height
        )


@dataclass(frozen=True)
class LabelPosition:
    """The lower left corner of a label, and the ends of the line to its point unless it is next to it."""

    song: int
    x: float
    y: float
    leader: tuple[tuple[float, float], tuple[float, float]] | None


def songs_on_map(n_songs: int) -> npt.NDArray[np.int64]:
    """Return the rows of the songs on a map: all, or a random sample with a fixed seed.

    Examples
    --------
    >>> songs_on_map(4)
    array([0, 1, 2, 3])
    """
    if n_songs <= MAX_SONGS:
        return np.arange(n_songs)
    return np.sort(np.random.default_rng(MAP_SEED).choice(n_songs, MAX_SONGS, replace=False))


def tsne_map(vectors: npt.NDArray[np.float64]) -> Points | None:
    """Project vectors to two dimensions so that neighbours stay neighbours; deterministic.

    Parameters
    ----------
    vectors : array of shape (n_songs, d)

    Returns
    -------
    array of shape (n_songs, 2) or None
        None for fewer than 30 songs, or if all vectors are equal.

    Examples
    --------
    >>> import numpy as np
    >>> tsne_map(np.random.default_rng(0).standard_normal((40, 5))).shape
    (40, 2)
    >>> tsne_map(np.zeros((40, 5))) is None
    True
    """
    n, d = vectors.shape
    if n < _MIN_SONGS or d == 0 or np.ptp(vectors, axis=0).max() == 0:
        return None
    rows = vectors if d > 1 else np.column_stack([vectors, np.zeros(n)])
    with threadpool_limits(1):  # the same components with any number of processors
        components = PrincipalComponents.fit(rows, min(_MAX_DIMENSIONS, rows.shape[1], n - 1)).transform(rows)
    return tsne(components, components[:, :2], perplexity=min(30.0, (n - 1) / 3))


def song_groups(showcase: Showcase, max_groups: int) -> tuple[list[str], list[str], str]:
    """Return the group of each song, the groups by size, and their kind ("genre" or "artist").

    Genres, or artists if no song has a genre; all but the ``max_groups`` largest form one group, which is last.
    """
    kind = "genre" if any(showcase.genre) else "artist"
    names = showcase.genre if kind == "genre" else showcase.artist
    counts = Counter(name for name in names if name)
    largest = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:max_groups]]
    groups = [name if name in largest else _OTHER for name in names]
    return groups, largest + [_OTHER] * (_OTHER in groups), kind


def dense_regions(points: Points, groups: Sequence[str], artists: Sequence[str], aspect: float) -> list[Region]:
    """Choose dense windows that do not overlap, preferably with songs of one group by many artists.

    Parameters
    ----------
    points : array of shape (n_songs, 2)
    groups, artists : sequence of str
        The group and the artist of each song.
    aspect : float
        Width of a window divided by its height.
    """
    half_heights, neighbours = _windows(points, aspect)
    main_groups = [_main_group(groups, songs) for songs in neighbours]
    k = neighbours.shape[1]
    merits = np.array(
        [count / k * len({artists[i] for i in songs}) / k
         for (_, count), songs in zip(main_groups, neighbours, strict=True)]
    )  # fmt: skip
    merits[half_heights > np.quantile(half_heights, 0.4)] *= 0.2  # prefer the denser part of the map
    regions: list[Region] = []
    for song in np.argsort(-merits, kind="stable"):
        group = main_groups[song][0]
        region = _region(points, groups, group, int(song), float(half_heights[song]) * 1.15, aspect)
        is_new = group == _OTHER or group not in {other.group for other in regions}
        if is_new and not any(region.overlaps(other) for other in regions):
            regions.append(region)
        if len(regions) == _MAX_REGIONS:
            break
    return regions


def _windows(points: Points, aspect: float) -> tuple[Points, npt.NDArray[np.int64]]:
    """Return half the height of each song's smallest window with enough songs, and the songs in it."""
    k = min(_REGION_SONGS, len(points))
    squeezed = points / [aspect, 1.0]
    result: Any = cKDTree(squeezed).query(squeezed, k=[*range(1, k + 1)], p=np.inf)
    distances, neighbours = result
    return np.maximum(distances[:, -1], 1e-9), neighbours


def _main_group(groups: Sequence[str], songs: npt.NDArray[np.int64]) -> tuple[str, int]:
    """Return the most frequent named group of some songs and its number of songs."""
    counts = Counter(groups[i] for i in songs if groups[i] != _OTHER) or Counter([_OTHER])
    return counts.most_common(1)[0]


def _region(points: Points, groups: Sequence[str], group: str, song: int, half: float, aspect: float) -> Region:
    """Return the window around a song."""
    inside = (np.abs(points - points[song]) <= np.array([aspect, 1.0]) * half * 0.97).all(axis=1)
    songs = [int(i) for i in np.flatnonzero(inside)]
    return Region(
        centre=(float(points[song, 0]), float(points[song, 1])),
        half_width=half * aspect,
        half_height=half,
        songs=songs,
        group=group,
        n_of_group=sum(groups[i] == group for i in songs),
    )


def shortened(text: str, max_length: int) -> str:
    """Return text truncated to a maximum length, with an ellipsis at its end.

    Examples
    --------
    >>> shortened("Ornette Coleman", 10)
    'Ornette C…'
    """
    return text if len(text) <= max_length else text[: max_length - 1].rstrip() + "…"


def position_labels(
    points: Points, widths: Sequence[float], height: float, frame: tuple[float, float]
) -> list[LabelPosition]:
    """Position the labels of points so that they cover neither labels nor points; labels that do not fit are dropped.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates relative to the lower left corner of the frame.
    widths : sequence of float
        Width of each label.
    height : float
        Height of all labels.
    frame : (width, height)

    Examples
    --------
    >>> labels = position_labels(np.array([[10.0, 10.0], [60.0, 10.0]]), [30.0, 30.0], 5.0, (100.0, 40.0))
    >>> [(label.song, label.x, label.y) for label in labels]
    [(0, 15.0, 7.5), (1, 65.0, 7.5)]
    """
    middle = np.array(frame) / 2
    order = np.argsort(
        -np.abs(points - middle).max(axis=1), kind="stable"
    )  # points at the edge have the least choice
    dots: list[_Box] = [(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    occupied: list[_Box] = []
    labels = []
    for song in order:
        obstacles = occupied + dots[:song] + dots[song + 1 :]
        for label in _candidates(int(song), points[song], widths[song], height):
            box = (label.x, label.y, label.x + widths[song], label.y + height)
            boxes = [box, *_along(label.leader)]
            if _is_inside(box, frame) and not any(_overlap(own, other) for own in boxes for other in obstacles):
                occupied += boxes
                labels.append(label)
                break
    return sorted(labels, key=lambda label: label.song)


_Box = tuple[float, float, float, float]  # left, bottom, right, top


def _candidates(song: int, point: Points, width: float, height: float) -> list[LabelPosition]:
    """Return positions for a label, best first: beside its point, above and below it, then farther from it."""
    x, y = float(point[0]), float(point[1])
    low = y - height / 2
    labels = [LabelPosition(song, x + 5, low, None), LabelPosition(song, x - 5 - width, low, None)]
    for step in (1.0, 1.8, 2.7, 3.7, 4.8):
        for side in (1, -1):
            bottom = low + side * step * height
            for left in (x + 5, x - 5 - width, x - width / 2, x - width / 5, x - width * 4 / 5):
                end = (min(max(x, left), left + width), bottom if side > 0 else bottom + height)
                labels.append(LabelPosition(song, left, bottom, ((x, y), end)))
    return labels


def _along(leader: tuple[tuple[float, float], tuple[float, float]] | None) -> list[_Box]:
    """Return small boxes along a line, except at its end, where the label is."""
    if leader is None:
        return []
    (x, y), (to_x, to_y) = leader
    steps = [(x + t * (to_x - x), y + t * (to_y - y)) for t in (0.3, 0.45, 0.6, 0.75, 0.9)]
    return [(a - 0.5, b - 0.5, a + 0.5, b + 0.5) for a, b in steps]


def _is_inside(box: _Box, frame: tuple[float, float]) -> bool:
    return box[0] >= 2 and box[1] >= 2 and box[2] <= frame[0] - 2 and box[3] <= frame[1] - 2


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def neighbours_of_the_same_genre(showcase: Showcase, vectors: npt.NDArray[np.float64], k: int = 10) -> float:
    """Return the mean share of a song's ``k`` nearest songs by other artists with its genre; NaN without genres."""
    labelled = np.flatnonzero(np.array(showcase.genre) != "")
    if labelled.size == 0:
        return float("nan")
    genre, artist = np.array(showcase.genre)[labelled], np.array(showcase.artist)[labelled]
    keys = distance_keys(vectors[labelled], vectors[labelled], block=1)
    shares = []
    for song in range(len(labelled)):
        others = np.flatnonzero(artist != artist[song])
        if others.size < k:
            continue
        nearest = others[np.argpartition(keys(song, song + 1)[0, others], k - 1)[:k]]
        shares.append((genre[nearest] == genre[song]).mean())
    return float(np.mean(shares)) if shares else float("nan")
