"""jaccard_neighbors_blockwise gives what jaccard_neighbors gives, whatever is divided, killed or continued."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dask_cluster import dask_cluster
from nearsong.errors import InvalidInputError
from nearsong.relevance import PlaysFolder, blockwise, jaccard_neighbors, jaccard_neighbors_blockwise

TASKS = """
import os, signal
from pathlib import Path
from nearsong.relevance import block_tasks

count_block = block_tasks.count_block

def count_block_or_die(folder, block):
    mark = Path(folder).parent / "died"
    if block[0] > 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    count_block(folder, block)
"""


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert [each.dtype for each in found] == [each.dtype for each in expected]


def random_listens(n_users, n_items, n_listens, seed=0):
    """Return plays with a few popular items, and entries given twice."""
    rng = np.random.default_rng(seed)
    items = (n_items * rng.random(n_listens) ** 3).astype(int)
    shape = (n_users, n_items)
    return sp.coo_array((rng.integers(1, 30, n_listens), (rng.integers(0, n_users, n_listens), items)), shape=shape)


@pytest.fixture
def listens():
    return random_listens(400, 150, 8_000)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_division_of_users_and_items_gives_the_same(tmp_path, monkeypatch, data):
    seed = data.draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    n_users, n_items = int(rng.integers(0, 40)), int(rng.integers(0, 40))
    plays = rng.integers(1, 21, (n_users, n_items)) * (rng.random((n_users, n_items)) < rng.choice([0.05, 0.3, 0.9]))
    if data.draw(st.booleans()):
        plays = 10 * (plays > 0)  # ties everywhere
    k, among = data.draw(st.integers(1, 6)), None
    if data.draw(st.booleans()):
        among = np.flatnonzero(rng.random(n_items) < rng.choice([0, 0.3, 0.9]))
    min_plays = data.draw(st.sampled_from([1, 9.5, 10, 50]))
    cut = data.draw(st.integers(0, n_users))
    monkeypatch.setattr(blockwise, "BLOCK_PAIRS", data.draw(st.sampled_from([1, 30, 10**6])))
    monkeypatch.setattr(blockwise, "MAX_TASKS", data.draw(st.sampled_from([1, 3, 64])))
    monkeypatch.setattr(blockwise, "RANGE_RANKS", data.draw(st.sampled_from([13, 1000])))
    shutil.rmtree(tmp_path / "plays", ignore_errors=True)
    folder = PlaysFolder.write(tmp_path / "plays", [plays[:cut], plays[cut:]], data.draw(st.sampled_from([50, 400])))
    found = jaccard_neighbors_blockwise(folder, tmp_path / "work", k, min_plays, among, jobs=1)
    assert_same(found, jaccard_neighbors(plays, k, min_plays, among))
    assert not (tmp_path / "work").exists()


def test_blocks_have_the_cells_and_pairs_that_they_may_have(monkeypatch):
    rng = np.random.default_rng(0)
    pairs = np.concatenate([[0], np.sort(rng.integers(0, 900, 500))[::-1]])
    pairs[-40:] = 0
    monkeypatch.setattr(blockwise, "BLOCK_PAIRS", 5_000)
    blocks = blockwise._blocks(pairs, cells=2_000)
    assert [first for first, _ in blocks] == [1, *(last for _, last in blocks[:-1])]
    assert blocks[-1][1] == 461  # items without pairs are in no block
    for first, last in blocks:
        ranks = np.arange(first, last)
        if last - first > 1:
            assert np.minimum(ranks, pairs[first:last]).sum() <= 2_000
            assert pairs[first:last].sum() <= max(5_000, pairs.sum() // blockwise.MAX_TASKS)


def test_progress_counts_the_tasks_of_each_stage(tmp_path, listens, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK_PAIRS", 5_000)
    folder = PlaysFolder.write(tmp_path / "plays", [listens], 2_000)
    stages = []
    jaccard_neighbors_blockwise(folder, tmp_path / "work", jobs=1, progress=lambda *step: stages.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in stages)) == ["listeners", "rows", "counts", "lists"]
    for stage in ("listeners", "rows", "counts", "lists"):
        done = [n for name, n, _ in stages if name == stage]
        total = {n for name, _, n in stages if name == stage}
        assert done == list(range(max(done) + 1))
        assert total == {max(done)}


def test_a_cluster_gives_the_same_though_a_worker_is_killed(tmp_path, listens, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK_PAIRS", 5_000)
    (tmp_path / "deadly_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import deadly_tasks

    monkeypatch.setattr(blockwise, "count_block", deadly_tasks.count_block_or_die)
    folder = PlaysFolder.write(tmp_path / "plays", [listens], 2_000)
    with dask_cluster(2, path=str(tmp_path)) as cluster:
        found = jaccard_neighbors_blockwise(folder, tmp_path / "work", cluster=cluster.address)
        assert (tmp_path / "died").exists()
        assert sorted(worker.poll() is None for worker in cluster.workers) == [False, True]
    assert_same(found, jaccard_neighbors(listens))


class InterruptedRunError(Exception):
    pass


def test_an_interrupted_run_continues_with_what_was_not_finished(tmp_path, listens, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK_PAIRS", 5_000)
    folder, work = PlaysFolder.write(tmp_path / "plays", [listens], 2_000), tmp_path / "work"
    finished: dict[str, int] = {}
    for end in [("listeners", 1), ("rows", 0), ("rows", 2), ("counts", 1), ("counts", 3), ("lists", 0)]:

        def stop(stage, n, total, end=end):
            if (stage, n) == end:
                raise InterruptedRunError

        with pytest.raises(InterruptedRunError):
            jaccard_neighbors_blockwise(folder, work, jobs=1, progress=stop)
        files = {path.name: path.stat().st_mtime_ns for path in work.iterdir()}
        assert finished.items() < files.items()  # more are there, and none was written again
        finished = files
    assert_same(jaccard_neighbors_blockwise(folder, work, jobs=1), jaccard_neighbors(listens))


def test_files_that_a_killed_process_was_writing_are_removed(tmp_path, listens):
    folder, work = PlaysFolder.write(tmp_path / "plays", [listens]), tmp_path / "work"

    def stop(stage, n, total):
        raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        jaccard_neighbors_blockwise(folder, work, jobs=1, progress=stop)
    unfinished = work / ".listeners-0.0123456789ab.part"
    unfinished.write_bytes(b"half of it")
    with pytest.raises(InterruptedRunError):
        jaccard_neighbors_blockwise(folder, work, jobs=1, progress=stop)
    assert not unfinished.exists()


MEASURE = """
import json, sys
import numpy as np
from nearsong.relevance import PlaysFolder, blockwise, jaccard_neighbors_blockwise
from peak_memory import peak_memory

blockwise.BLOCK_PAIRS = 10**9  # so that only memory divides the items
base, memory = sys.argv[1], int(sys.argv[2])
plays, blocks = PlaysFolder.open(f"{base}/plays"), []
jaccard_neighbors_blockwise(PlaysFolder.open(f"{base}/few"), f"{base}/compiled-{memory}", min_plays=1, jobs=1)

def note(stage, n, total):
    if stage == "counts":
        blocks.append(total)

with peak_memory() as peak:
    found = jaccard_neighbors_blockwise(
        plays, f"{base}/work-{memory}", min_plays=1, jobs=1, memory=memory, progress=note
    )
np.savez(f"{base}/found-{memory}.npz", *found)
print(json.dumps([peak.growth, blocks[-1]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_is_bounded_as_asked(tmp_path):
    listens, bound = random_listens(4_000, 20_000, 400_000), 24_000_000
    expected = jaccard_neighbors(listens, min_plays=1)
    PlaysFolder.write(tmp_path / "plays", [listens], 50_000)
    PlaysFolder.write(tmp_path / "few", [random_listens(400, 150, 8_000)])
    growth, n_blocks = {}, {}
    for memory in (bound, 2**30):  # each in a process of its own, which has no memory left over from before
        command = [sys.executable, "-c", MEASURE, str(tmp_path), str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
        assert done.returncode == 0, done.stderr
        growth[memory], n_blocks[memory] = json.loads(done.stdout)
        with np.load(tmp_path / f"found-{memory}.npz") as found:
            assert_same((found["arr_0"], found["arr_1"]), expected)
    assert n_blocks[2**30] == 1 < n_blocks[bound]
    assert growth[bound] < bound < growth[2**30]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"min_plays": 0}, "min_plays=0 must be a finite number above 0"),
        ({"among": [150]}, "among has item 150, but plays has 150 items"),
        ({"memory": 0}, "memory=0 must be a whole number of at least 1"),
        (
            {"memory": 1000},
            r"memory=1000 bytes is too little for 150 items, k=10 .* give at least \d+, or write smaller",
        ),
        ({"jobs": 0}, "jobs=0 must be a whole number"),
    ],
)
def test_arguments_that_cannot_work_are_refused(tmp_path, listens, arguments, message):
    folder = PlaysFolder.write(tmp_path / "plays", [listens])
    with pytest.raises(InvalidInputError, match=message):
        jaccard_neighbors_blockwise(folder, tmp_path / "work", **arguments)


def test_the_least_memory_that_is_named_is_enough(tmp_path, listens):
    folder = PlaysFolder.write(tmp_path / "plays", [listens], 500)
    with pytest.raises(InvalidInputError) as refusal:
        jaccard_neighbors_blockwise(folder, tmp_path / "work", memory=1, jobs=1)
    (least,) = re.findall(r"at least (\d+)", str(refusal.value))
    found = jaccard_neighbors_blockwise(folder, tmp_path / "work", memory=int(least), jobs=1)
    assert_same(found, jaccard_neighbors(listens))


def test_a_folder_of_something_else_is_left_alone(tmp_path, listens):
    folder = PlaysFolder.write(tmp_path / "plays", [listens])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    with pytest.raises(InvalidInputError, match="is not empty and not the folder of an interrupted run"):
        jaccard_neighbors_blockwise(folder, tmp_path / "mine", jobs=1)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter"]

    def stop(stage, n, total):
        raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        jaccard_neighbors_blockwise(folder, tmp_path / "work", jobs=1, progress=stop)
    other = PlaysFolder.write(tmp_path / "other", [listens.tocsr() * 2])
    for arguments in ((folder, 5), (folder, 10, 1), (folder, 10, 10, [1]), (other,)):
        with pytest.raises(InvalidInputError, match="belongs to a run with other plays or arguments"):
            jaccard_neighbors_blockwise(arguments[0], tmp_path / "work", *arguments[1:], jobs=1)


def test_damaged_plays_end_a_run_with_their_file(tmp_path, listens):
    folder = PlaysFolder.write(tmp_path / "plays", [listens], 2_000)
    (folder.path / folder.partitions[1].file).write_bytes(b"")
    with pytest.raises(InvalidInputError, match=r"users-00001\.npz cannot be read .* write the plays again"):
        jaccard_neighbors_blockwise(folder, tmp_path / "work", jobs=1)
