"""A folder of play counts gives back what was written, or says that it does not."""

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.relevance import PlaysFolder


def read_all(folder):
    return sp.vstack([folder.read(number) for number in range(len(folder.partitions))], format="csr")


@pytest.fixture
def plays():
    return sp.random_array((40, 12), density=0.3, rng=np.random.default_rng(0), format="csr") * 20


@settings(deadline=None, max_examples=15)
@given(partition_plays=st.integers(1, 60), cuts=st.lists(st.integers(0, 30), max_size=2))
def test_users_come_back_in_their_order_however_they_are_divided(tmp_path_factory, partition_plays, cuts):
    plays = np.random.default_rng(1).integers(0, 3, (30, 7))
    ends = [0, *sorted(cuts), 30]
    parts = [plays[first:last] for first, last in pairwise(ends)]
    path = tmp_path_factory.mktemp("plays") / "folder"
    written = PlaysFolder.write(path, parts, partition_plays=partition_plays)
    assert PlaysFolder.open(path) == written
    np.testing.assert_array_equal(read_all(written).toarray(), plays)
    assert all(each.plays <= partition_plays or each.users == 1 for each in written.partitions)


def test_values_keep_their_type_and_duplicates_are_summed(tmp_path):
    twice = sp.coo_array((np.array([100, 100], np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    stored = PlaysFolder.write(tmp_path / "a", [twice]).read(0)
    assert stored.toarray().tolist() == [[0, 200]]
    single = PlaysFolder.write(tmp_path / "b", [np.array([[0.1, 0]], np.float32)]).read(0)
    assert single.dtype == np.float32


def test_only_one_part_is_in_memory_while_a_folder_is_written(tmp_path):
    alive = []

    def parts():
        for number in range(5):
            alive.append(number)
            assert len(list((tmp_path / "plays").glob("users-*"))) == number  # what came before is stored
            yield np.ones((2, 3))

    assert len(PlaysFolder.write(tmp_path / "plays", parts()).partitions) == 5
    assert alive == list(range(5))


def test_a_folder_that_was_not_finished_is_none_and_is_written_again(tmp_path, plays):
    def interrupted():
        yield plays
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PlaysFolder.write(tmp_path, interrupted())
    with pytest.raises(InvalidInputError, match=r"has no header\.json, so it holds no plays; write them first"):
        PlaysFolder.open(tmp_path)
    np.testing.assert_array_equal(read_all(PlaysFolder.write(tmp_path, [plays])).toarray(), plays.toarray())


def test_a_folder_is_not_overwritten(tmp_path, plays):
    PlaysFolder.write(tmp_path, [plays])
    with pytest.raises(InvalidInputError, match="holds plays already; remove it, or write to another folder"):
        PlaysFolder.write(tmp_path, [plays])


@pytest.mark.parametrize("damage", ["truncated", "changed", "missing", "of another folder"])
def test_a_file_that_is_not_what_was_written_is_refused(tmp_path, plays, damage):
    folder = PlaysFolder.write(tmp_path / "a", [plays])
    file = folder.path / folder.partitions[0].file
    content = bytearray(file.read_bytes())
    if damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    elif damage == "missing":
        file.unlink()
    else:
        other = PlaysFolder.write(tmp_path / "b", [plays * 2])
        file.write_bytes((other.path / other.partitions[0].file).read_bytes())
    with pytest.raises(InvalidInputError, match="write the plays again"):
        folder.read(0)


@pytest.mark.parametrize("header", [b"", b"{", b"[]", b"{}", b'{"format": "nearsong plays", "version": 1}'])
def test_a_damaged_header_is_refused(tmp_path, plays, header):
    PlaysFolder.write(tmp_path, [plays])
    (tmp_path / "header.json").write_bytes(header)
    with pytest.raises(InvalidInputError, match=r"header\.json is damaged"):
        PlaysFolder.open(tmp_path)


def test_a_folder_of_a_newer_version_is_refused(tmp_path, plays):
    PlaysFolder.write(tmp_path, [plays])
    header = json.loads((tmp_path / "header.json").read_bytes())
    (tmp_path / "header.json").write_text(json.dumps({**header, "version": 2}))
    with pytest.raises(InvalidInputError, match="written by another version of nearsong"):
        PlaysFolder.open(tmp_path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "there are no parts of plays"),
        ([np.ones((1, 2)), np.ones((1, 3))], "a part of the plays has 3 items and those before have 2"),
        ([np.array([[-1]])], "plays has the value -1"),
    ],
)
def test_parts_that_are_no_plays_are_refused(tmp_path, parts, message):
    with pytest.raises(InvalidInputError, match=message):
        PlaysFolder.write(tmp_path, parts)
