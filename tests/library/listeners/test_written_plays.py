"""Imported listens -> a folder of plays for neighbours in blocks: what the matrices in memory say."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, LibraryError
from nearsong.library import Library
from nearsong.library.listeners.histories import Histories, ListenerChoice
from nearsong.relevance import PlaysFolder, jaccard_neighbors, jaccard_neighbors_blockwise
from recorded_plays import NOON, put

N_ARTISTS, N_USERS, MIN_PLAYS = 12, 40, 3


def write(path, columns, rows):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows)
    return path


@pytest.fixture
def library(tmp_path):
    """Play counts of all users, and listens with times of half of them, which two histories have in part."""
    random = np.random.default_rng(3)
    names = [f"Artist {number}" for number in range(N_ARTISTS)]
    with Library.open(tmp_path / "library.sqlite") as library:
        put(library._store, *(f"{name} - Song" for name in names))
        counted = [
            (f"user {user}", names[artist], "Song", int(random.integers(1, 9)))
            for user in range(N_USERS)
            for artist in random.choice(N_ARTISTS, 5, replace=False)
        ]
        others = [("user 0", "Somebody Else", "Song", 20)]
        library.import_listens(write(tmp_path / "counts.csv", ("user", "artist", "title", "plays"), counted + others))
        timed = [
            (f"user {user}", names[random.integers(N_ARTISTS)], "Song", NOON + 600 * number)
            for user in range(N_USERS // 2)
            for number in range(12)
        ]
        for name, rows in (("one.csv", timed), ("other.csv", timed[::2])):
            library.import_listens(write(tmp_path / name, ("user", "artist", "title", "timestamp"), rows))
        assert {history.kind for history in library.listens()} == {"counts", "events"}
        yield library


def in_memory(library, min_plays):
    return Histories(library._store).listening(ListenerChoice("users", min_plays)).artist_plays


def without_empty(matrix):
    return matrix[matrix.any(axis=1)]


def test_neighbours_of_the_written_plays_are_those_of_the_matrix_in_memory(library, tmp_path):
    plays, artists = library.write_plays(tmp_path / "plays")
    assert artists == Histories(library._store).catalogue.artists
    assert PlaysFolder.open(tmp_path / "plays") == plays
    found = jaccard_neighbors_blockwise(plays, tmp_path / "work", k=4, min_plays=MIN_PLAYS, jobs=1)
    expected = jaccard_neighbors(in_memory(library, MIN_PLAYS), k=4, min_plays=1)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (found[0] >= 0).all()


@pytest.mark.parametrize("most_rows", [1, 7, 100])
def test_parts_of_any_size_have_the_same_rows(library, most_rows):
    parts = list(Histories(library._store).artist_counts(most_rows))
    (whole,) = Histories(library._store).artist_counts()
    assert len(parts) > 1
    assert all(part.nnz <= max(most_rows, 5 + 12 + 6) for part in parts)  # or the rows of one user
    stacked = sp.vstack(parts).toarray()
    np.testing.assert_array_equal(without_empty(stacked), without_empty(whole.toarray()))
    np.testing.assert_array_equal(without_empty(stacked >= MIN_PLAYS), in_memory(library, MIN_PLAYS).toarray())


def test_a_library_without_users_says_so_and_writes_nothing(tmp_path):
    with Library.open(tmp_path / "empty.sqlite") as library:
        put(library._store, "Artist - Song")
        with pytest.raises(LibraryError, match="no listening history of a user has been imported"):
            library.write_plays(tmp_path / "plays")
    with pytest.raises(InvalidInputError, match="holds no plays"):
        PlaysFolder.open(tmp_path / "plays")
