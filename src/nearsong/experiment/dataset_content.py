"""What songs sound like: vectors, files of frames or files of audio, checked before they are used."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nearsong.audio import Frames, with_derivatives
from nearsong.errors import DatasetError, InvalidInputError
from nearsong.validation import check_vectors

N_MFCC = 13
N_FEATURES = 39
_FEWEST = 9  # frames, if derivatives are to be made of them


def read_vectors(path: Path, n_songs: int) -> npt.NDArray[np.float64]:
    """Return the vectors (songs x d) of a data set."""
    try:
        raw = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"{path} cannot be read as a .npy file ({_one_line(error)}); save it again.") from error
    try:
        vectors = check_vectors(raw, str(path))
    except InvalidInputError as error:
        raise DatasetError(_one_line(error)) from error
    if len(vectors) != n_songs:
        raise DatasetError(f"{path} has {len(vectors)} rows and songs.csv {n_songs} songs; row i belongs to song i.")
    return vectors


def read_vector_names(path: Path, n_columns: int) -> tuple[str, ...]:
    """Return the names of the vectors' columns, one a line."""
    try:
        names = path.read_text(encoding="utf-8-sig").split("\n")
    except (UnicodeDecodeError, OSError) as error:
        raise DatasetError(f"{path} cannot be read ({_one_line(error)}).") from error
    while names and not names[-1].strip():
        names.pop()
    if len(names) != n_columns:
        raise DatasetError(
            f"{path} has {len(names)} names and vectors.npy {n_columns} columns; give one name a line."
        )
    return tuple(name.strip() for name in names)


def check_sound_files(table: Path, column: str, lines: Sequence[int], folder: Path, names: Sequence[str]) -> None:
    """Make sure that every song has its file, and that files of frames say they have the right shape.

    Parameters
    ----------
    table : Path
        ``songs.csv``, for the messages.
    column : {"frames", "audio"}
        What kind of file.
    lines : sequence of int
        The line of each song.
    folder : Path
        What the names are relative to.
    names : sequence of str
        The file of each song.
    """
    for line, name in zip(lines, names, strict=True):
        if not name:
            raise DatasetError(f"{table}, line {line}: {column} is empty; every song needs a file, so drop the row.")
        path = folder / name
        if not path.is_file():
            raise DatasetError(f"{table}, line {line}: {column} is {name}, but there is no such file in {folder}.")
        if column == "frames":
            _check_frames_header(path, f"{table}, line {line}: {name}")


def read_frames(path: Path) -> Frames:
    """Return the frames (n_frames x 39) of a file of 13 or 39 numbers a frame."""
    if not path.is_file():
        raise DatasetError(f"{path} is gone; it was there when the data set was opened.")
    _check_frames_header(path, str(path))
    frames = np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
    if not np.isfinite(frames).all():
        row = int(np.flatnonzero(~np.isfinite(frames).all(axis=1))[0])
        raise DatasetError(
            f"{path} has a NaN or infinite value, first in frame {row}; make it again or drop the song."
        )
    return with_derivatives(frames) if frames.shape[1] == N_MFCC else frames


def _check_frames_header(path: Path, name: str) -> None:
    """Read no more than a .npy file's header; refuse what cannot be frames."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(file)
            promised = file.tell() + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            size = file.seek(0, os.SEEK_END)
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"{name} cannot be read as a .npy file ({_one_line(error)}); save it again.") from error
    if dtype.kind != "f" or len(shape) != 2 or shape[1] not in (N_MFCC, N_FEATURES):
        raise DatasetError(
            f"{name} holds {dtype} of shape {shape}; floating-point numbers are needed, frames x {N_MFCC} or x "
            f"{N_FEATURES}."
        )
    fewest = _FEWEST if shape[1] == N_MFCC else 1
    if shape[0] < fewest:
        raise DatasetError(f"{name} has {shape[0]} frame(s); at least {fewest} are needed.")
    if size < promised:
        raise DatasetError(f"{name} breaks off: {size} bytes of {promised}; copy or make it again.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
