"""Songs, their points and their nearest songs -> one page with a map to look around in, without any other file.

The page (``map.html``) asks nothing of the network: its script, its style and its songs are inside it. Songs are in
columns of packed numbers and each name is written once, so that 100,000 of them take about 13 MB.
"""

import base64
import hashlib
import html
import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.map_layout import GroupLabel, group_labels
from nearsong.library.records import Song

STEPS = 65535
"""Positions and distances are written in so many steps."""

_LONGEST = 300  # letters of a name; what is longer is no name


def write_map(
    path: str | os.PathLike[str],
    songs: Sequence[Song],
    positions: npt.ArrayLike,
    neighbours: npt.ArrayLike,
    distances: npt.ArrayLike,
    *,
    title: str = "Map of songs",
    facts: Mapping[str, object] | None = None,
    similarities: npt.ArrayLike | None = None,
) -> None:
    """Write the map of a library; whoever opens the file finds the old one or the new one, never half of it.

    A link to ``map.html#select=17`` opens the map at the song with id 17.

    Parameters
    ----------
    path : path-like
        Where the page goes.
    songs : sequence of Song
        In the order of the arrays.
    positions : array of shape (n_songs, 2)
        Where they are on the map, in [0, 1]; :func:`nearsong.library.map_layout.layout` makes them.
    neighbours : array of int and shape (n_songs, k)
        Each song's nearest songs as places in ``songs``, nearest first; -1 where there are fewer than ``k``. A song
        among its own neighbours is left out.
    distances : array of shape (n_songs, k)
        How far they are.
    title : str
        What the page is called.
    facts : mapping, optional
        What is said beside the map before a song is chosen, in this order.
    similarities : array of shape (n_songs, k), optional
        How alike they are, from 0 to 1; shown instead of distances.

    Raises
    ------
    InvalidInputError
        If the arrays do not fit the songs, or no file can be at ``path`` (:func:`check_page`).
    LibraryError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> def song(i, title):
    ...     return Song(i, f"{i}.ogg", "Anna", title, "", "folk", 1999, 61.0, "anna")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "map.html"
    ...     write_map(page, [song(7, "Sea"), song(9, "Sky")], [[0, 0], [1, 1]], [[1], [0]], [[2.0], [2.0]])
    ...     page.read_text().startswith("<!doctype html>")
    True
    """
    check_page(path)
    points, near, nearness = _checked(len(songs), positions, neighbours, distances, similarities)
    columns = _columns(songs, points) | _nearest(near, nearness, len(songs), similarities is not None)
    columns["facts"] = [[_clean(str(name)), _clean(str(value))] for name, value in (facts or {}).items()]
    _write(Path(path), _page(_clean(title), columns))


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no page can be written, before the work that a map is.

    Raises
    ------
    InvalidInputError
        If it is a folder, or its folder does not exist.
    """
    page = Path(path)
    name, inside, folder = (_clean(str(each)) for each in (page, page / "map.html", page.parent))
    if os.path.isdir(page):  # unlike Path.is_dir, it takes names that no file can have for no folder
        raise InvalidInputError(f"{name} is a folder; name the file, such as {inside}.")
    if not os.path.isdir(page.parent):
        raise InvalidInputError(f"{name}: there is no folder {folder}; make it or choose another.")


def _checked(
    n: int, positions: npt.ArrayLike, neighbours: npt.ArrayLike, distances: npt.ArrayLike, alike: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return points, neighbours and what is said of them, in the shapes they need."""
    points = np.asarray(positions, dtype=np.float64)
    if points.size == 0 and n == 0:
        points = points.reshape(0, 2)
    if points.shape != (n, 2) or not ((points >= 0) & (points <= 1)).all():
        raise InvalidInputError(
            f"positions has shape {points.shape} or values outside 0 to 1; two numbers for each of {n} songs are "
            "needed, as layout gives them."
        )
    near = np.asarray(neighbours)
    values = np.asarray(distances if alike is None else alike, dtype=np.float64)
    if n == 0:
        return points, np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
    name = "distances" if alike is None else "similarities"
    if near.ndim != 2 or len(near) != n or values.shape != near.shape:
        raise InvalidInputError(
            f"neighbours has shape {near.shape} and {name} {values.shape}; both need a row for each of {n} songs and "
            "as many columns as each other."
        )
    near = near.astype(np.int64)
    if near.size and (near.min() < -1 or near.max() >= n):
        raise InvalidInputError(f"neighbours names a song outside 0 to {n - 1}; -1 stands for none.")
    near = np.where(near == np.arange(n)[:, None], -1, near)
    values = np.where(near < 0, 0.0, values)
    top = np.inf if alike is None else 1.0
    if not ((values >= 0) & (values <= top) & np.isfinite(values)).all():
        raise InvalidInputError(f"{name} has a value below 0, above {top:g} or not finite.")
    return points, near, values


# ---- columns


def _columns(songs: Sequence[Song], points: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return what the page says of the songs, in columns."""
    shared, artist_names, artist_of = song_columns(songs, points)
    artists, artist = _numbered([_clean(song.artist) for song in songs])
    albums, album = _numbered([_clean(song.album) for song in songs])
    group_of_name = np.zeros(len(artists), dtype=np.int64)
    group_of_name[artist] = artist_of
    return {
        "songs": len(songs),
        **shared,
        "artists": artists,
        "artist": packed(artist),
        "artist_group": group_of_name.tolist(),
        "artist_names": artist_names,
        "albums": albums,
        "album": packed(album),
    }


def song_columns(
    songs: Sequence[Song], points: npt.NDArray[np.float64]
) -> tuple[dict[str, Any], list[str], npt.NDArray[np.int64]]:
    """Return what every map says of songs, in columns, and their artists: names, and each song's place in them."""
    artists, artist = _grouped(
        [_clean(song.artist) for song in songs], lambda i, name: songs[i].artist_key or name.casefold()
    )
    genres, genre = _grouped([_clean(song.genre) for song in songs], lambda _, name: name.casefold())
    columns = {
        "ids": packed([song.id for song in songs]),
        "titles": [_clean(song.title) for song in songs],
        "years": packed([song.year if song.year and 0 < song.year < 10_000 else 0 for song in songs]),
        "seconds": packed([round(song.seconds) if 0 < song.seconds < 10**6 else 0 for song in songs]),
        "genres": genres,
        "genre": packed(genre),
        "genre_labels": _labels(points, genre),
        "artist_labels": _labels(points, artist),
        "positions": packed(np.round(points * STEPS).ravel()),
    }
    return columns, artists, artist


def _nearest(near: npt.NDArray[np.int64], values: npt.NDArray[np.float64], n: int, alike: bool) -> dict[str, Any]:
    """Return each song's nearest songs, in columns; ``n`` stands for none."""
    most = 1.0 if alike else float(values.max(initial=0.0))
    return {
        "near_each": near.shape[1],
        "near": packed(np.where(near < 0, n, near).ravel()),
        "nearness": packed(np.round(values.ravel() / (most or 1.0) * STEPS)),
        "nearness_most": most,
        "nearness_is": "similarity" if alike else "distance",
    }


def _clean(text: str) -> str:
    """Return a text that can be written: one line, of bearable length, without half characters of odd file names."""
    short = " ".join(text.split())[:_LONGEST]
    return short.encode("utf-8", "replace").decode("utf-8")


def _numbered(names: Iterable[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return each name once, the empty one first, and each song's number among them.

    Examples
    --------
    >>> _numbered(["b", "", "a", "b"])[0], _numbered(["b", "", "a", "b"])[1].tolist()
    (['', 'b', 'a'], [1, 0, 2, 1])
    """
    known = {"": 0}
    numbers = [known.setdefault(name, len(known)) for name in names]
    return list(known), np.array(numbers, dtype=np.int64)


def _grouped(names: Sequence[str], key: Callable[[int, str], str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return groups of names that have the same key, the largest first, each by its commonest spelling; 0 is nobody.

    Examples
    --------
    >>> names, group = _grouped(["Rock", "jazz", "rock", "Rock", ""], lambda _, name: name.casefold())
    >>> names, group.tolist()
    (['', 'Rock', 'jazz'], [1, 2, 1, 1, 0])
    """
    keys, numbers = _numbered(key(i, name) if name else "" for i, name in enumerate(names))
    spellings: list[Counter[str]] = [Counter() for _ in keys]
    for number, name in zip(numbers, names, strict=True):
        spellings[number][name] += 1
    sizes = np.array([spelling.total() for spelling in spellings])
    by_size = np.concatenate([[0], 1 + np.argsort(-sizes[1:], kind="stable")])
    place = np.empty(len(keys), dtype=np.int64)
    place[by_size] = np.arange(len(keys))
    return ["", *(spellings[i].most_common(1)[0][0] for i in by_size[1:])], place[numbers]


def _labels(points: npt.NDArray[np.float64], groups: npt.NDArray[np.int64]) -> list[list[int]]:
    """Return group, position, size and reach of every label."""

    def row(label: GroupLabel) -> list[int]:
        x, y, reach = (round(value * STEPS) for value in (label.x, label.y, label.reach))
        return [label.group, x, y, label.songs, reach]

    return [row(label) for label in group_labels(points, np.where(groups == 0, -1, groups))]


def packed(numbers: npt.ArrayLike) -> dict[str, Any]:
    """Return whole numbers as base64 of as few little-endian bytes each as the largest needs.

    Examples
    --------
    >>> packed([1, 2]), packed([256])
    ({'width': 1, 'bytes': 'AQI='}, {'width': 2, 'bytes': 'AAE='})
    """
    array = np.asarray(numbers).astype("<i8")
    largest = int(array.max(initial=0))
    if array.min(initial=0) < 0 or largest >= 2**32:
        raise InvalidInputError("a song's number is below 0 or above 4,294,967,295; the map cannot hold it.")
    width = max(1, (largest.bit_length() + 7) // 8)
    raw = array.view(np.uint8).reshape(-1, 8)[:, :width]
    return {"width": width, "bytes": base64.b64encode(raw.tobytes()).decode("ascii")}


# ---- page


def _page(title: str, columns: Mapping[str, Any]) -> str:
    """Return the page; whatever songs are called, it can neither end its script element nor run as one."""
    template = resources.files("nearsong.library").joinpath("map.html").read_text(encoding="utf-8")
    script = template[template.rindex("<script>") + len("<script>") : template.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    data = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    for mark, escape in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):  # JSON reads them as what they were
        data = data.replace(mark, escape)
    parts = {"{{script hash}}": f"'sha256-{digest}'", "{{title}}": html.escape(title), "{{data}}": data}
    page, rest = [], template
    while rest:  # from front to back, so that a name that looks like a mark stays a name
        mark = min(parts, key=lambda name: rest.find(name) % (len(rest) + 1))
        before, found, rest = rest.partition(mark)
        page += [before, parts[mark] if found else ""]
    return "".join(page)


def _write(path: Path, page: str) -> None:
    """Write a page by way of another file beside it that takes its place when complete."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        try:
            part.write_text(page, encoding="utf-8", newline="\n")
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LibraryError(f"{path}: the map cannot be written ({reason}); check the folder and the disk.") from error
