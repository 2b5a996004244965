"""Artist neighbours -> the relevant songs of every song (paper II-A and IV-A).

For a song of artist i, the songs of i's neighbours are relevant, those of all other artists are irrelevant, and those
of i are, by default, ignored.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.validation import check_choice

_OWN_ARTIST = ("ignore", "irrelevant", "relevant")


def relevant_songs(
    artist_neighbors: npt.ArrayLike,
    song_artists: npt.ArrayLike,
    database_artists: npt.ArrayLike | None = None,
    own_artist: str = "ignore",
) -> tuple[sp.csr_array, sp.csr_array]:
    """Turn neighbours of artists into relevant songs of songs.

    Parameters
    ----------
    artist_neighbors : array-like of int and shape (n_artists, k)
        Each artist's relevant artists, padded with -1, as `jaccard_neighbors` returns them.
    song_artists : array-like of int and shape (n_queries,)
        The artist of each query song; a song of an unknown artist, -1, gets empty rows.
    database_artists : array-like of int and shape (n_songs,), optional
        The artist of each song to rank; a song of an unknown artist, -1, is relevant to no query. By default the
        query songs are also the database.
    own_artist : {"ignore", "relevant", "irrelevant"}
        How songs of the query's own artist are treated. When the queries are the database, a song is always ignored
        in its own ranking.

    Returns
    -------
    relevant : scipy.sparse.csr_array of bool and shape (n_queries, n_songs)
        The relevant songs of each query.
    ignored : scipy.sparse.csr_array of bool and shape (n_queries, n_songs)
        The songs that are neither relevant nor irrelevant. Pairs in neither matrix are irrelevant.

    Notes
    -----
    With Q, D and N the indicator matrices of the queries' artists, the database's artists and the neighbours,
    ``relevant = Q N D'`` and ``ignored = Q D'``. Time and memory are linear in the non-zeros of these results.

    Examples
    --------
    Artists 0 and 1 are each other's neighbours, artist 2 has none; songs 0 and 1 are by artist 0.

    >>> relevant, ignored = relevant_songs([[1], [0], [-1]], song_artists=[0, 0, 1, 2])
    >>> relevant.toarray().astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0]])
    >>> ignored.toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 0],
           [0, 0, 0, 1]])
    """
    own_artist = check_choice(own_artist, "own_artist", _OWN_ARTIST)
    neighbors = _check_neighbors(artist_neighbors)
    n_artists = len(neighbors)
    queries = _check_artists(song_artists, "song_artists", n_artists)
    same_songs = database_artists is None
    database = queries if same_songs else _check_artists(database_artists, "database_artists", n_artists)

    of_query = _one_hot(queries, n_artists)
    of_song = _one_hot(database, n_artists).T
    related = _neighbor_relation(neighbors, np.unique(queries[queries >= 0]))
    if own_artist == "relevant":
        related = related + sp.eye_array(n_artists, dtype=bool, format="csr")
    relevant = of_query @ (related @ of_song)
    if own_artist == "ignore":
        ignored = of_query @ of_song
    else:
        ignored = _itself(queries) if same_songs else sp.csr_array(relevant.shape, dtype=bool)
        relevant = relevant > ignored
    return _canonical(relevant), _canonical(ignored)


def _one_hot(artists: npt.NDArray[np.int64], n_artists: int) -> sp.csr_array:
    """Return songs x artists indicators; a song of an unknown artist has an empty row."""
    songs = np.flatnonzero(artists >= 0)
    return _relation(songs, artists[songs], (artists.size, n_artists))


def _neighbor_relation(neighbors: npt.NDArray[np.int64], artists: npt.NDArray[np.int64]) -> sp.csr_array:
    """Relate the given artists, and no others, to their neighbours."""
    rows, columns = np.nonzero(neighbors[artists] >= 0)
    return _relation(artists[rows], neighbors[artists[rows], columns], (len(neighbors), len(neighbors)))


def _itself(queries: npt.NDArray[np.int64]) -> sp.csr_array:
    """Relate every song of a known artist to itself."""
    songs = np.flatnonzero(queries >= 0)
    return _relation(songs, songs, (queries.size, queries.size))


def _relation(rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(rows.size, bool), (rows, columns)), shape=shape)


def _canonical(matrix: Any) -> sp.csr_array:
    """Return a relation with sorted column indices and no stored zeros."""
    relation = sp.csr_array(matrix)
    relation.eliminate_zeros()
    relation.sort_indices()
    return relation


def _check_indices(values: npt.ArrayLike, name: str, ndim: int, needed: str) -> npt.NDArray[np.int64]:
    """Return an integer array with ``ndim`` dimensions."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} cannot be read as an array ({error}); {needed} is needed.") from error
    if array.ndim != ndim or (array.size and array.dtype.kind not in "ui"):
        raise InvalidInputError(f"{name} has shape {array.shape} and holds {array.dtype} values; {needed} is needed.")
    return array.astype(np.int64)


def _check_artists(values: Any, name: str, n_artists: int) -> npt.NDArray[np.int64]:
    """Return the artist index of each song, -1 for unknown ones."""
    artists = _check_indices(values, name, 1, "one artist index per song (-1: unknown)")
    wrong = np.flatnonzero((artists < -1) | (artists >= n_artists))
    if wrong.size:
        song = int(wrong[0])
        raise InvalidInputError(
            f"{name} gives song {song} the artist {artists[song]}, but artist_neighbors has "
            f"{n_artists} rows; use 0 to {n_artists - 1}, or -1 for an unknown artist."
        )
    return artists


def _check_neighbors(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the neighbour lists after checking their range, and that no artist is its own neighbour."""
    neighbors = _check_indices(values, "artist_neighbors", 2, "an artists x k array of artist indices")
    n_artists = len(neighbors)
    wrong = np.argwhere((neighbors < -1) | (neighbors >= n_artists))
    if wrong.size:
        artist, column = map(int, wrong[0])
        raise InvalidInputError(
            f"artist_neighbors names artist {neighbors[artist, column]} as a neighbour of artist {artist}, "
            f"but has {n_artists} rows; use 0 to {n_artists - 1}, or -1 as padding."
        )
    itself = np.flatnonzero((neighbors == np.arange(n_artists)[:, None]).any(axis=1))
    if itself.size:
        raise InvalidInputError(
            f"artist_neighbors has artist {itself[0]} as its own neighbour; remove it and set own_artist instead."
        )
    return neighbors
