"""Words that people gave to songs or artists -> a sparse matrix songs x tags."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import DatasetError
from nearsong.experiment.dataset_files import read_table
from nearsong.names import artist_key

NAMES = ("tags.csv", "tags.csv.gz")


class Tags(NamedTuple):
    """Which song has which tag.

    Attributes
    ----------
    matrix : csr_array of bool and shape (n_songs, n_tags)
        An artist's tags are those of all the artist's songs.
    names : tuple of str
        The tags that some song has, sorted.
    n_unknown_rows, n_unknown : int
        Rows for songs or artists that the data set does not have, which were skipped, and for how many of them.
    whose : {"song_id", "artist"}
        What the file gives tags to.
    """

    matrix: sp.csr_array
    names: tuple[str, ...]
    n_unknown_rows: int
    n_unknown: int
    whose: str


def read_tags(
    path: Path, song_ids: Sequence[str], artists: Sequence[str], song_artist: npt.NDArray[np.int64]
) -> Tags:
    r"""Read the tags of these songs.

    Parameters
    ----------
    path : Path
        A CSV file, packed or not, with the columns song_id or artist, tag and perhaps count; a count of 0 is no tag.
    song_ids : sequence of str
        The songs.
    artists : sequence of str
        Their artists' keys.
    song_artist : array of int and shape (n_songs,)
        The artist of each song.

    Returns
    -------
    Tags

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
    whose = "song_id" if "song_id" in columns else "artist"
    if whose not in columns:
        raise DatasetError(f"{path} has no column 'song_id' or 'artist'; found: {', '.join(columns)}.")
    place_of = {name: i for i, name in enumerate(song_ids if whose == "song_id" else artists)}
    unknown: set[str] = set()
    n_unknown_rows = 0
    pairs: list[tuple[int, str]] = []
    for line, row in rows:
        if not row["tag"]:
            raise DatasetError(f"{path}, line {line}: the tag is empty; drop the row.")
        given = _is_given(row.get("count", "1"), path, line)
        name = row[whose] if whose == "song_id" else artist_key(row[whose])
        if name not in place_of:
            unknown.add(name)
            n_unknown_rows += 1
        elif given:
            pairs.append((place_of[name], row["tag"]))
    names = sorted({tag for _, tag in pairs})
    code = {tag: i for i, tag in enumerate(names)}
    owner, tag = np.array([(who, code[what]) for who, what in pairs], np.int64).reshape(-1, 2).T
    of_owner = sp.csr_array((np.ones(len(owner), bool), (owner, tag)), shape=(len(place_of), len(names)))
    of_song = of_owner if whose == "song_id" else of_owner[song_artist]
    of_song.sort_indices()
    return Tags(of_song, tuple(names), n_unknown_rows, len(unknown), whose)


def _is_given(count: str, path: Path, line: int) -> bool:
    try:
        number = float(count)
    except ValueError:
        number = -1.0
    if not 0 <= number < np.inf:
        raise DatasetError(f"{path}, line {line}: count is {count!r}; a number of at least 0 is needed.")
    return number > 0
