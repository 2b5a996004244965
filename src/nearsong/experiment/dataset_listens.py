"""Who played what how often, as a file of up to tens of millions of rows -> a sparse matrix users x artists.

The file is read some thousand rows at a time. Of a row no more than 16 bytes are kept, and only if its artist has
songs: memory follows those rows and the number of different names.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset_files import (
    Rows,
    check_width,
    find_one,
    header_of,
    numbered,
    open_rows,
)
from nearsong.names import artist_key

NAMES = tuple(
    name + packed
    for name in ("listens.csv", "listens.tsv", "usersha1-artmbid-artname-plays.tsv")
    for packed in ("", ".gz")
)
_COLUMNS = ("user", "artist", "plays")
_LAST_FM_COLUMNS = ["user", "mbid", "artist", "plays"]
_ROWS_AT_A_TIME = 2_000
_NAMELESS = -2

_Part = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]


class Listens(NamedTuple):
    """What a file of listens says about some artists.

    Attributes
    ----------
    plays : csr_array of float64 and shape (n_listening_users, n_artists)
        Users in the order they first appear, those who played none of the artists left out; repeated rows summed.
    n_users : int
        Different users in the whole file.
    n_rows : int
        Rows in the whole file.
    n_nameless : int
        Rows without a user or an artist, which were skipped.
    """

    plays: sp.csr_array
    n_users: int
    n_rows: int
    n_nameless: int


def find_listens(folder: Path) -> Path:
    """Return the file of listens in a data-set folder."""
    path = find_one(folder, NAMES)
    if path is None:
        raise DatasetError(f"{folder} has no file of listens; one of {', '.join(NAMES)} is needed.")
    return path


def read_listens(path: Path, artists: Sequence[str]) -> Listens:
    r"""Read the plays of these artists.

    Parameters
    ----------
    path : Path
        A CSV file with the columns user, artist and plays; or, if its name says ``.tsv``, tab-separated, with such a
        header or without one as the Last.fm 360K file: user, MBID, artist, plays. Either may be packed (``.gz``).
    artists : sequence of str
        Keys of the artists that count, as ``artist_key`` makes them: the columns of the result.

    Returns
    -------
    Listens

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "listens.csv"
    ...     _ = path.write_text("user,artist,plays\nann,The Beatles,12\nbob,Nobody,3\nann,beatles,1\n")
    ...     listens = read_listens(path, ["beatles", "cream"])
    >>> listens.plays.toarray(), listens.n_users
    (array([[13.,  0.]]), 2)
    """
    tabs = ".tsv" in path.suffixes
    header, has_header = _look_at_header(path, tabs)
    user_of, artist_of, plays_of = (itemgetter(header.index(name)) for name in _COLUMNS)
    users, columns = _Labels(), _ArtistColumns({name: i for i, name in enumerate(artists)})
    parts: list[_Part] = []
    n_rows = n_nameless = 0
    with _open_listens(path, tabs, has_header) as rows:
        while block := list(islice(rows, _ROWS_AT_A_TIME)):
            block = list(filter(None, block))  # blank lines are rows of nothing
            if not block:
                continue
            try:
                if set(map(len, block)) != {len(header)}:
                    raise ValueError
                plays = _numbers(list(map(plays_of, block)))
            except ValueError:
                raise _complaint(path, tabs, header, has_header) from None
            user = np.fromiter(map(users.__getitem__, map(user_of, block)), np.int32, len(block))
            artist = np.fromiter(map(columns.__getitem__, map(artist_of, block)), np.int32, len(block))
            kept = (user >= 0) & (artist >= 0) & (plays > 0)
            parts.append((user[kept], artist[kept], plays[kept]))
            n_rows += len(block)
            n_nameless += int(((user < 0) | (artist == _NAMELESS)).sum())
    if not n_rows:
        raise DatasetError(f"{path} has no rows; one for every user and artist is needed: {', '.join(_COLUMNS)}.")
    return Listens(_matrix(parts, users.n_known, len(artists)), users.n_known, n_rows, n_nameless)


@contextmanager
def _open_listens(path: Path, tabs: bool, has_header: bool) -> Iterator[Rows]:
    """Open a file of listens at its first row of data."""
    with open_rows(path, tabs=tabs) as rows:
        if has_header:
            next(rows)
        yield rows


def _look_at_header(path: Path, tabs: bool) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the file names them itself."""
    with open_rows(path, tabs=tabs) as rows:
        first = next(rows, [])
    if tabs and first and {name.strip().lower() for name in first}.isdisjoint(_COLUMNS):
        return _LAST_FM_COLUMNS, False
    return header_of(path, first, _COLUMNS), True


def _numbers(fields: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return finite play counts that are not negative, or raise ``ValueError``."""
    plays = np.fromiter(map(float, fields), np.float64, len(fields))
    if not (plays.min() >= 0 and plays.max() < np.inf) or "_" in "".join(fields):  # float("1_0") is 10
        raise ValueError
    return plays


def _complaint(path: Path, tabs: bool, header: list[str], has_header: bool) -> DatasetError:
    """Read the file again, row by row, up to the first one that is wrong, and say what is wrong with it.

    The fast way looks at many rows at once and does not know which lines they are on.
    """
    with _open_listens(path, tabs, has_header) as rows:
        for line, row in numbered(rows):
            check_width(path, line, row, len(header))
            plays = row[header.index("plays")]
            try:
                _numbers([plays])
            except ValueError:
                return DatasetError(
                    f"{path}, line {line}: plays is {plays!r}; give a number of at least 0 or drop the row."
                )
    return DatasetError(f"{path} changed while it was read; try again.")


def _matrix(parts: list[_Part], n_users: int, n_artists: int) -> sp.csr_array:
    """Sum the plays of each user and artist; users without any have no row."""
    user, artist, plays = (np.concatenate(column) for column in zip(*parts, strict=True))
    parts.clear()
    present = np.zeros(n_users, bool)
    present[user] = True
    row = (np.cumsum(present, dtype=np.int32) - 1)[user]
    return sp.csr_array((plays, (row, artist)), shape=(int(present.sum()), n_artists))


class _Labels(dict[str, int]):
    """Numbers labels as they come; -1 is no label."""

    n_known = 0

    def __missing__(self, label: str) -> int:
        number = -1
        if label.strip():
            number, self.n_known = self.n_known, self.n_known + 1
        self[label] = number
        return number


class _ArtistColumns(dict[str, int]):
    """The column of an artist's name as it is written; -1 if that artist has no songs."""

    def __init__(self, column_of_key: Mapping[str, int]) -> None:
        super().__init__()
        self._column_of_key = column_of_key

    def __missing__(self, name: str) -> int:
        key = artist_key(name)
        number = self._column_of_key.get(key, -1) if key else _NAMELESS
        self[name] = number
        return number
