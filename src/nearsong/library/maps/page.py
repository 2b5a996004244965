"""Songs, their positions and their most similar songs -> a self-contained HTML file with the map of the service.

The page requests nothing: its scripts, styles and songs are inside it, and its content security policy allows no
others. The scripts are those of the service (:mod:`nearsong.library.maps.bundle`).
"""

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library.maps.bundle import bundle, static_text, style_sheet
from nearsong.library.maps.columns import STEPS, clean, packed, song_columns
from nearsong.library.neighbours.closeness import CLOSENESS_WORDS
from nearsong.library.records import Song

_STYLES = ("css/tokens.css", "css/base.css", "css/map.css")
_ENTRY = "map/exported.js"


def write_map(
    path: str | os.PathLike[str],
    songs: Sequence[Song],
    positions: npt.ArrayLike,
    neighbours: npt.ArrayLike,
    closeness: npt.ArrayLike,
    *,
    title: str = "Map of songs",
    facts: Mapping[str, object] | None = None,
    plays: Mapping[int, float] | None = None,
) -> None:
    """Write the map of a library as one HTML file; the file is replaced as a whole or not at all.

    A link to ``map.html#select=17`` opens the map at the song with id 17.

    Parameters
    ----------
    path : path-like
        The file to write.
    songs : sequence of Song
        In the order of the arrays.
    positions : array of shape (n_songs, 2)
        Where they are on the map, in [0, 1]; :func:`nearsong.library.maps.layout.layout` computes them.
    neighbours : array of int and shape (n_songs, k)
        Rows of each song's most similar songs, the most similar first; -1 where there are fewer than ``k``. A song
        among its own neighbours is left out.
    closeness : array of shape (n_songs, k)
        How close they are, from 0 to 1; see `nearsong.library.neighbours.closeness`.
    title : str
        Title of the page.
    facts : mapping, optional
        Names and values shown with the title, in this order.
    plays : mapping of int to float, optional
        Song id -> plays, for colouring by plays.

    Raises
    ------
    InvalidInputError
        If the arrays do not fit the songs, or ``path`` cannot be a file (:func:`check_page`).
    LibraryError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> def song(i, title):
    ...     return Song(id=i, path=f"{i}.ogg", artist="Anna", title=title, genre="folk", year=1999, seconds=61.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "map.html"
    ...     write_map(page, [song(7, "Sea"), song(9, "Sky")], [[0, 0], [1, 1]], [[1], [0]], [[0.9], [0.9]])
    ...     page.read_text().startswith("<!doctype html>")
    True
    """
    check_page(path)
    n = len(songs)
    columns = song_columns(songs, _checked_positions(n, positions), plays or {})
    columns["similar"] = _similar_columns(*_checked_neighbours(n, neighbours, closeness))
    columns["facts"] = [[clean(str(name)), clean(str(value))] for name, value in (facts or {}).items()]
    _write(Path(path), _page(clean(title), columns))


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no page can be written, before the map is computed.

    Raises
    ------
    InvalidInputError
        If it is a folder, or its folder does not exist.
    """
    page = Path(path)
    name, inside, folder = (clean(str(part)) for part in (page, page / "map.html", page.parent))
    if os.path.isdir(page):  # unlike Path.is_dir, it does not raise for names that no file can have
        raise InvalidInputError(f"{name} is a folder; name a file, such as {inside}.")
    if not os.path.isdir(page.parent):
        raise InvalidInputError(f"Folder not found: {folder}. Create it, or write {page.name} elsewhere.")


def _checked_positions(n: int, positions: npt.ArrayLike) -> npt.NDArray[np.float64]:
    points = np.asarray(positions, dtype=np.float64)
    if n == 0 and points.size == 0:
        return np.empty((0, 2))
    if points.shape != (n, 2) or not ((points >= 0) & (points <= 1)).all():
        raise InvalidInputError(
            f"positions has shape {points.shape} or values outside 0 to 1; two numbers for each of {n} songs are "
            "needed, as layout returns them."
        )
    return points


def _checked_neighbours(
    n: int, neighbours: npt.ArrayLike, closeness: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return rows of neighbours, ``n`` where there is none, and how close they are, 0 where there is none."""
    near, values = np.asarray(neighbours), np.asarray(closeness, dtype=np.float64)
    if n == 0:
        return np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
    if near.ndim != 2 or len(near) != n or values.shape != near.shape:
        raise InvalidInputError(
            f"neighbours has shape {near.shape} and closeness {values.shape}; both need a row for each of {n} "
            "songs and the same number of columns."
        )
    rows = near.astype(np.int64)
    if rows.size and (rows.min() < -1 or rows.max() >= n):
        raise InvalidInputError(f"neighbours names a song outside 0 to {n - 1}; -1 stands for none.")
    rows = np.where((rows < 0) | (rows == np.arange(n)[:, None]), n, rows)
    values = np.where(rows == n, 0.0, values)
    if not ((values >= 0) & (values <= 1)).all():
        raise InvalidInputError("closeness has a value below 0, above 1 or not finite.")
    return rows, values


def _similar_columns(rows: npt.NDArray[np.int64], closeness: npt.NDArray[np.float64]) -> dict[str, Any]:
    return {
        "count": rows.shape[1],
        "rows": packed(rows.ravel()),
        "closeness": packed(np.round(closeness.ravel() * STEPS)),
        "closeness_words": CLOSENESS_WORDS,
    }


def _page(title: str, columns: Mapping[str, Any]) -> str:
    """Return the HTML; names of songs can neither end the element they are in nor run as script."""
    template = resources.files("nearsong.library.maps").joinpath("map.html").read_text(encoding="utf-8")
    style = "".join(map(style_sheet, _STYLES))
    theme, script = static_text("js/core/theme.js"), bundle(_ENTRY)
    data = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    for character in "&<>":  # as JSON escapes, which mean the same and cannot be markup
        data = data.replace(character, f"\\u{ord(character):04x}")
    policy = (
        f"default-src 'none'; script-src {_hash(theme)} {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    icon = base64.b64encode(static_text("icon.svg").encode()).decode("ascii")
    return Template(template).substitute(
        policy=policy,
        icon=f"data:image/svg+xml;base64,{icon}",
        title=html.escape(title),
        style=style,
        theme=theme,
        data=data,
        script=script,
    )


def _hash(text: str) -> str:
    """Return the source expression that allows exactly this inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _write(path: Path, page: str) -> None:
    try:
        with atomic_write(path) as file:
            file.write(page.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LibraryError(f"{path}: the map cannot be written ({reason}); check the folder and the disk.") from error
