"""Songs, their positions on the map and their plays -> packed columns, as the API and an exported map hold them.

Each name is written once and numbers are packed, so that 100,000 songs take about 13 MB.
"""

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.maps.layout import GroupLabel, group_labels
from nearsong.library.records import Song

STEPS = 65535
"""Positions and closeness are whole numbers of this many steps."""

MAX_NAME_CHARACTERS = 300
_MAX_PLAYS = 2**31


def song_columns(
    songs: Sequence[Song], points: npt.NDArray[np.float64], plays: Mapping[int, float]
) -> dict[str, Any]:
    """Return what a map shows of songs, in columns.

    Parameters
    ----------
    songs : sequence of Song
    points : array of shape (n_songs, 2)
        Positions on the map, in [0, 1].
    plays : mapping of int to float
        Song id -> plays; songs without plays may be missing.
    """
    steps = np.round(points * STEPS)
    points = steps / STEPS  # labels are the same whether or not the positions were rounded before
    artists, artist = _grouped(
        [clean(song.artist) for song in songs], lambda i, name: songs[i].artist_key or name.casefold()
    )
    genres, genre = _grouped([clean(song.genre) for song in songs], lambda _, name: name.casefold())
    return {
        "songs": len(songs),
        "ids": packed([song.id for song in songs]),
        "titles": [clean(song.title) for song in songs],
        "years": packed([song.year if song.year and 0 < song.year < 10_000 else 0 for song in songs]),
        "seconds": packed([round(song.seconds) if 0 < song.seconds < 10**6 else 0 for song in songs]),
        "genres": genres,
        "genre": packed(genre),
        "genre_labels": _labels(points, genre),
        "artists": artists,
        "artist": packed(artist),
        "artist_labels": _labels(points, artist),
        "positions": packed(steps.ravel()),
        "plays": packed([min(round(plays.get(song.id, 0.0)), _MAX_PLAYS) for song in songs]),
    }


def clean(text: str) -> str:
    """Return a text in one line, shortened, and without the surrogates that odd file names hold."""
    short = " ".join(text.split())[:MAX_NAME_CHARACTERS]
    return short.encode("utf-8", "replace").decode("utf-8")


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


def _numbered(names: Iterable[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return each name once, the empty one first, and each song's index among them.

    Examples
    --------
    >>> _numbered(["b", "", "a", "b"])[0], _numbered(["b", "", "a", "b"])[1].tolist()
    (['', 'b', 'a'], [1, 0, 2, 1])
    """
    known = {"": 0}
    numbers = [known.setdefault(name, len(known)) for name in names]
    return list(known), np.array(numbers, dtype=np.int64)


def _grouped(names: Sequence[str], key: Callable[[int, str], str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Group names with the same key, the largest group first, named by its commonest spelling; 0 is no name.

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
    rank = np.empty(len(keys), dtype=np.int64)
    rank[by_size] = np.arange(len(keys))
    return ["", *(spellings[i].most_common(1)[0][0] for i in by_size[1:])], rank[numbers]


def _labels(points: npt.NDArray[np.float64], groups: npt.NDArray[np.int64]) -> list[list[int]]:
    """Return group, x, y, number of songs and radius of every label."""

    def row(label: GroupLabel) -> list[int]:
        x, y, reach = (round(value * STEPS) for value in (label.x, label.y, label.reach))
        return [label.group, x, y, label.songs, reach]

    return [row(label) for label in group_labels(points, np.where(groups == 0, -1, groups))]
