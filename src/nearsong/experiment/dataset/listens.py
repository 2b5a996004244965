"""Who played what how often, as a file of up to tens of millions of rows -> sparse matrices users x artists.

The file is read a few thousand rows at a time. 16 bytes are stored per row, so memory depends on the number of rows
and of distinct names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset.files import find_one, header_of, listens_errors
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables.strict_table import StrictTable
from nearsong.names import artist_key

NAMES = tuple(
    name + packed
    for name in ("listens.csv", "listens.tsv", "usersha1-artmbid-artname-plays.tsv")
    for packed in ("", ".gz")
)
_COLUMNS = ("user", "artist", "plays")
_LAST_FM_COLUMNS = ["user", "mbid", "artist", "plays"]
_NAMELESS = -2

_Part = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]


class Listens(NamedTuple):
    """The listens in a file: those of some artists, and those of all others.

    Attributes
    ----------
    plays : csr_array of float64 and shape (n_listening_users, n_artists)
        Users in the order they first appear, those who played none of the artists left out; repeated rows summed.
    other_plays : csr_array of float64 and shape (n_all_users, n_other_artists)
        Rows are the users of ``plays``, then those who played other artists only; artists in the order they first
        appear.
    n_users : int
        Different users in the whole file.
    n_rows : int
        Rows in the whole file.
    n_nameless : int
        Rows without a user or an artist, which were skipped.
    """

    plays: sp.csr_array
    other_plays: sp.csr_array
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
        header or without one as the Last.fm 360K file: user, MBID, artist, plays. Either may be gzipped (``.gz``).
    artists : sequence of str
        Keys of the artists that have songs, as ``artist_key`` makes them: the columns of ``plays``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "listens.csv"
    ...     _ = path.write_text("user,artist,plays\nann,The Beatles,12\nbob,Nobody,3\nann,beatles,1\n")
    ...     listens = read_listens(path, ["beatles", "cream"])
    >>> listens.plays.toarray(), listens.other_plays.toarray(), listens.n_users
    (array([[13.,  0.]]), array([[0.],
           [3.]]), 2)
    """
    users, columns = _Labels(), _ArtistColumns(artists)
    parts: list[_Part] = []
    n_rows = n_nameless = 0
    with listens_errors():
        for user_names, artist_names, plays in _read_columns(path):
            user = np.fromiter(map(users.__getitem__, user_names), np.int32, len(plays))
            artist = np.fromiter(map(columns.__getitem__, artist_names), np.int32, len(plays))
            used = (user >= 0) & (artist >= 0) & (plays > 0)
            parts.append((user[used], artist[used], plays[used]))
            n_rows += len(plays)
            n_nameless += int(((user < 0) | (artist == _NAMELESS)).sum())
    if not n_rows:
        raise DatasetError(f"{path} has no rows; one for every user and artist is needed: {', '.join(_COLUMNS)}.")
    own_plays, other_plays = _matrices(parts, users.n_known, len(artists), columns.n_columns)
    return Listens(
        plays=own_plays, other_plays=other_plays, n_users=users.n_known, n_rows=n_rows, n_nameless=n_nameless
    )


def _read_columns(path: Path) -> Iterator[tuple[Sequence[str], Sequence[str], npt.NDArray[np.float64]]]:
    """Yield users, artists and plays of a few thousand rows at a time."""
    tabs = ".tsv" in path.suffixes
    table = StrictTable(SourceFile(path, strict=True), tabs)
    header, header_rows = _LAST_FM_COLUMNS, 0
    if not (tabs and table.first_row) or set(map(_lower, table.first_row)) & set(_COLUMNS):
        header, header_rows = header_of(path, table.first_row, _COLUMNS), 1
    user, artist, plays = (header.index(name) for name in _COLUMNS)
    for fields, lines in table.columns(len(header), header_rows):
        try:
            counts = _numbers(fields[plays])
        except ValueError:
            raise _bad_plays(path, fields[plays], lines) from None
        yield fields[user], fields[artist], counts


def _lower(name: str) -> str:
    return name.strip().lower()


def _numbers(fields: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return finite play counts that are not negative, or raise ``ValueError``."""
    plays = np.fromiter(map(float, fields), np.float64, len(fields))
    if not (plays.min() >= 0 and plays.max() < np.inf) or "_" in "".join(fields):  # float("1_0") is 10
        raise ValueError
    return plays


def _bad_plays(path: Path, fields: Sequence[str], lines: Sequence[int]) -> DatasetError:
    """Return the error that names the first row whose plays are wrong."""
    row = next(row for row, plays in enumerate(fields) if not _is_number(plays))
    return DatasetError(
        f"{path}, line {lines[row]}: plays is {fields[row]!r}; give a number of at least 0 or drop the row."
    )


def _is_number(plays: str) -> bool:
    try:
        _numbers([plays])
    except ValueError:
        return False
    return True


def _matrices(parts: list[_Part], n_users: int, n_artists: int, n_columns: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Sum the plays of each user and artist, for the first artists and for the others; see :class:`Listens`."""
    user, column, plays = (np.concatenate(values) for values in zip(*parts, strict=True))
    parts.clear()
    is_other = column >= n_artists
    row_of_user = np.full(n_users, -1, np.int32)
    n_rows = [0]
    for group in (user[~is_other], user[is_other]):
        present = np.zeros(n_users, bool)
        present[group] = True
        added = np.flatnonzero(present & (row_of_user < 0))
        row_of_user[added] = n_rows[-1] + np.arange(len(added), dtype=np.int32)
        n_rows.append(n_rows[-1] + len(added))
    row = row_of_user[user]
    return (
        sp.csr_array((plays[~is_other], (row[~is_other], column[~is_other])), shape=(n_rows[1], n_artists)),
        sp.csr_array(
            (plays[is_other], (row[is_other], column[is_other] - n_artists)),
            shape=(n_rows[2], n_columns - n_artists),
        ),
    )


class _Labels(dict[str, int]):
    """Numbers labels in order of appearance; -1 for an empty label."""

    n_known = 0

    def __missing__(self, label: str) -> int:
        number = -1
        if label.strip():
            number, self.n_known = self.n_known, self.n_known + 1
        self[label] = number
        return number


class _ArtistColumns(dict[str, int]):
    """The column of an artist's name as it is written; artists without songs get further columns as they appear."""

    def __init__(self, artists: Sequence[str]) -> None:
        super().__init__()
        self._column_of_key = {key: column for column, key in enumerate(artists)}

    @property
    def n_columns(self) -> int:
        """Artists so far."""
        return len(self._column_of_key)

    def __missing__(self, name: str) -> int:
        key = artist_key(name)
        number = self._column_of_key.setdefault(key, len(self._column_of_key)) if key else _NAMELESS
        self[name] = number
        return number
