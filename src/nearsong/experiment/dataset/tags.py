"""A file of tags of songs or artists -> a sparse matrix songs x tags."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset.files import read_table
from nearsong.names import artist_key

NAMES = ("tags.csv", "tags.csv.gz")


class SongTags(NamedTuple):
    """Which song has which tag.

    Attributes
    ----------
    matrix : csr_array of bool and shape (n_songs, n_tags)
        The tags of an artist apply to all songs of the artist.
    names : tuple of str
        The tags that some song has, sorted.
    n_unknown_rows, n_unknown : int
        Number of skipped rows for songs or artists that are not in the data set, and number of these.
    key_column : {"song_id", "artist"}
        Whether the file has tags of songs or of artists.
    """

    matrix: sp.csr_array
    names: tuple[str, ...]
    n_unknown_rows: int
    n_unknown: int
    key_column: str


def read_tags(
    path: Path, song_ids: Sequence[str], artists: Sequence[str], song_artist: npt.NDArray[np.int64]
) -> SongTags:
    r"""Read the tags of these songs.

    Parameters
    ----------
    path : Path
        A CSV file (or .csv.gz) with the columns song_id or artist, tag and optionally count; rows with count 0 are
        ignored.
    song_ids : sequence of str
        The songs.
    artists : sequence of str
        Keys of their artists.
    song_artist : array of int and shape (n_songs,)
        Index of each song's artist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tags.csv"
    ...     _ = path.write_text("artist,tag\nCream,rock\nABBA,pop\n")
    ...     tags = read_tags(path, ["1", "2", "3"], ["abba", "cream"], np.array([1, 0, 1]))
    >>> tags.names, tags.matrix.toarray().astype(int).tolist()
    (('pop', 'rock'), [[0, 1], [1, 0], [0, 1]])
    """
    columns, rows = read_table(path, ["tag"])
    key_column = "song_id" if "song_id" in columns else "artist"
    if key_column not in columns:
        raise DatasetError(f"{path} has no column 'song_id' or 'artist'; found: {', '.join(columns)}.")
    by_song = key_column == "song_id"
    row_of = {name: i for i, name in enumerate(song_ids if by_song else artists)}
    unknown: list[str] = []
    pairs: list[tuple[int, str]] = []
    for line, row in rows:
        if not row["tag"]:
            raise DatasetError(f"{path}, line {line}: the tag is empty; drop the row.")
        is_positive = _is_positive(row.get("count", "1"), path, line)
        name = row["song_id"] if by_song else artist_key(row["artist"])
        if name not in row_of:
            unknown.append(name)
        elif is_positive:
            pairs.append((row_of[name], row["tag"]))
    names = sorted({tag for _, tag in pairs})
    column_of = {tag: i for i, tag in enumerate(names)}
    indices = np.array([(row, column_of[tag]) for row, tag in pairs], np.int64).reshape(-1, 2).T
    matrix = sp.csr_array((np.ones(len(pairs), bool), (indices[0], indices[1])), shape=(len(row_of), len(names)))
    matrix = matrix if by_song else matrix[song_artist]
    matrix.sort_indices()
    return SongTags(
        matrix=matrix,
        names=tuple(names),
        n_unknown_rows=len(unknown),
        n_unknown=len(set(unknown)),
        key_column=key_column,
    )


def _is_positive(count: str, path: Path, line: int) -> bool:
    try:
        number = float(count)
    except ValueError:
        number = -1.0
    if not 0 <= number < np.inf:
        raise DatasetError(f"{path}, line {line}: count is {count!r}; give a number of at least 0.")
    return number > 0
