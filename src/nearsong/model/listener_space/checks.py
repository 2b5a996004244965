"""Arguments of the listener space -> the validated values, or one line that says what is wrong."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space.targets import Indices
from nearsong.validation import check_relation


def check_listens(plays: Any) -> sp.csc_array:
    """Return who plays whom (n_listeners, n_columns) as canonical CSC with entries 1.0."""
    shape = np.shape(plays) if not hasattr(plays, "shape") else plays.shape
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(f"plays has shape {shape}; listeners x artists is needed, with at least one of each.")
    listens = sp.csc_array(check_relation(plays, (int(shape[0]), int(shape[1])), "plays").astype(np.float64))
    listens.sort_indices()
    return listens


def check_song_artists(song_artist: Any, n_songs: int, n_columns: int | None = None) -> Indices:
    """Return the artist of each song: -1 for none, below ``n_columns`` if that is given."""
    artists = np.asarray(song_artist)
    if artists.shape != (n_songs,) or artists.dtype.kind not in "iu":
        raise InvalidInputError(
            f"song_artist has shape {artists.shape} and holds {artists.dtype}; a whole number for each of {n_songs} "
            "songs is needed, -1 for none."
        )
    wrong = (artists < -1) if n_columns is None else (artists < -1) | (artists >= n_columns)
    if wrong.any():
        song = int(wrong.argmax())
        raise InvalidInputError(
            f"song_artist gives song {song} the artist {artists[song]}; use a column of plays, or -1 for none."
        )
    return artists.astype(np.int64)


def check_held_out(held_out: npt.ArrayLike | None, n_columns: int) -> npt.NDArray[np.bool_]:
    """Return held-out artists, given by column or as a mask, as a mask (n_columns,)."""
    if held_out is None:
        return np.zeros(n_columns, bool)
    given = np.asarray(held_out)
    if given.dtype == bool and given.shape == (n_columns,):
        return given
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"held_out has shape {given.shape} and holds {given.dtype}; use columns, or a mask of {n_columns}."
        )
    if given.size and (given.min() < 0 or given.max() >= n_columns):
        raise InvalidInputError(f"held_out has a column that plays does not have; use 0 to {n_columns - 1}.")
    mask = np.zeros(n_columns, bool)
    mask[given.astype(np.int64)] = True
    return mask


def check_parts(parts: Iterable[slice] | None, n_columns: int) -> tuple[slice, ...]:
    """Return the columns of phi's parts; none if they are not given."""
    found = []
    for part in parts or ():
        if not isinstance(part, slice) or not 0 <= (part.start or 0) < (part.stop or 0) <= n_columns or part.step:
            raise InvalidInputError(
                f"parts has {part!r}; slices of phi's {n_columns} columns are needed, such as those of Fusion.slices."
            )
        found.append(slice(part.start or 0, part.stop))
    return tuple(found)


def check_numbers(values: Any, name: str, low: float, high: float = np.inf, n_values: int | None = None) -> None:
    """Raise unless a number, or each of a tuple of ``n_values``, is in [low, high]."""
    numbers = np.asarray(values, dtype=object).ravel() if not isinstance(values, str) else np.array([values], object)
    right_number = len(numbers) == n_values if n_values is not None else np.ndim(values) == 0
    valid = all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool) and low <= value <= high
        for value in numbers
    )
    if not (right_number and valid and all(np.isfinite(float(value)) for value in numbers)):
        needed = "a number" if n_values is None else f"{n_values} numbers"
        bounds = f"of at least {low:g}" if np.isinf(high) else f"from {low:g} to {high:g}"
        raise InvalidInputError(f"{name}={values!r} cannot be used; give {needed} {bounds}.")
