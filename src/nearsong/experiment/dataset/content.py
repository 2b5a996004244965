"""Files of a data set -> song vectors or frames, checked before they are used."""

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
_MIN_FRAMES = 9  # for computing derivatives


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
        raise DatasetError(f"{path} has {len(vectors)} rows, songs.csv has {n_songs} songs; give one row per song.")
    return vectors


def read_vector_names(path: Path, n_columns: int) -> tuple[str, ...]:
    """Return the names of the columns of the vectors, one per line."""
    try:
        names = path.read_text(encoding="utf-8-sig").split("\n")
    except (UnicodeDecodeError, OSError) as error:
        raise DatasetError(f"{path} cannot be read ({_one_line(error)}).") from error
    while names and not names[-1].strip():
        names.pop()
    if len(names) != n_columns:
        raise DatasetError(
            f"{path} has {len(names)} names, vectors.npy has {n_columns} columns; give one name per line."
        )
    return tuple(name.strip() for name in names)


def check_sound_files(table: Path, column: str, lines: Sequence[int], folder: Path, names: Sequence[str]) -> None:
    """Check that every song has a file, and that the headers of files of frames have a valid shape.

    Parameters
    ----------
    table : Path
        ``songs.csv``, for error messages.
    column : {"frames", "audio"}
        Kind of the files.
    lines : sequence of int
        Line of each song in the table.
    folder : Path
        The folder that names are relative to.
    names : sequence of str
        File of each song.
    """
    for line, name in zip(lines, names, strict=True):
        if not name:
            raise DatasetError(f"{table}, line {line}: {column} is empty; give a file or drop the row.")
        path = folder / name
        if not path.is_file():
            raise DatasetError(f"{table}, line {line}: file not found: {path}")
        if column == "frames":
            _check_frames_header(path, f"{table}, line {line}: {name}")


def read_frames(path: Path) -> Frames:
    """Return the frames (n_frames x 39) of a file with 13 or 39 numbers per frame."""
    if not path.is_file():
        raise DatasetError(f"File not found: {path}. It existed when the data set was opened.")
    _check_frames_header(path, str(path))
    frames = np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
    if not np.isfinite(frames).all():
        row = int(np.flatnonzero(~np.isfinite(frames).all(axis=1))[0])
        raise DatasetError(
            f"{path} has a NaN or infinite value, first in frame {row}; compute it again or drop the song."
        )
    return with_derivatives(frames) if frames.shape[1] == N_MFCC else frames


def _check_frames_header(path: Path, name: str) -> None:
    """Read only the header of a .npy file and check that it can hold frames."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(file)
            expected_size = file.tell() + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            size = file.seek(0, os.SEEK_END)
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"{name} cannot be read as a .npy file ({_one_line(error)}); save it again.") from error
    if dtype.kind != "f" or len(shape) != 2 or shape[1] not in (N_MFCC, N_FEATURES):
        raise DatasetError(
            f"{name} holds {dtype} of shape {shape}; give frames x {N_MFCC} or x {N_FEATURES} floating-point numbers."
        )
    min_frames = _MIN_FRAMES if shape[1] == N_MFCC else 1
    if shape[0] < min_frames:
        raise DatasetError(f"{name} has {shape[0]} frame(s); at least {min_frames} are needed.")
    if size < expected_size:
        raise DatasetError(f"{name} is truncated: {size} of {expected_size} bytes; copy or compute it again.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
