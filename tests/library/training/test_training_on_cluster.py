"""A training whose splits are learned on a real Dask cluster: the same report and model, whatever dies meanwhile."""

import json
import shutil
import signal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from command_line import run_nearsong
from dask_cluster import dask_cluster
from nearsong.errors import InvalidInputError, NearsongError
from nearsong.executor import ClusterCalls
from nearsong.library import Library, TrainingSettings
from required import require

require("dask", find_spec("distributed") is not None, "the extra `cluster` is not installed")

SOUND_ALONE = 1
EVALUATE = ("evaluate", "--splits", "2", "--json", "--cluster")
QUICK = TrainingSettings(losses=("auc", "ndcg"), Cs=(1e2, 1e3), n_splits=2)

CALLS = """
import os, signal

def total(numbers, more):
    return sum(numbers) + more

def die(numbers):
    os.kill(os.getpid(), signal.SIGKILL)

def fail(numbers):
    raise ValueError("of the function")
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """Functions of a module that workers can import."""
    (tmp_path / "called_on_workers.py").write_text(CALLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import called_on_workers

    return called_on_workers


def trained(trained_file: Path, folder: Path, **options: Any) -> tuple[dict[str, Any], bytes]:
    """Train a copy of a library anew; return the report without times, and the new model."""
    folder.mkdir()
    with Library.open(shutil.copy(trained_file, folder / "library.sqlite")) as library:
        library.use_model(SOUND_ALONE)
        report = library.train(QUICK, even_if_unchanged=True, **options)
        assert report.decision == "learned"
        return report.as_json() | {"seconds": None}, library.load_model().to_bytes()


def test_a_training_on_a_cluster_that_loses_a_worker_is_that_of_one_machine(trained_file, tmp_path):
    here = trained(trained_file, tmp_path / "here")
    with dask_cluster(2) as cluster:

        def kill_one(stage: str, done: int, total: int) -> None:
            if stage == "learning" and done == 3:
                cluster.kill_worker(0)

        there = trained(trained_file, tmp_path / "there", cluster=cluster.address, progress=kill_one)
        assert cluster.workers[0].returncode == -signal.SIGKILL
        measured = run_nearsong("--library", str(tmp_path / "there" / "library.sqlite"), *EVALUATE, cluster.address)
    assert there == here
    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["decision"] == "none"


def test_results_come_in_order_and_shared_objects_are_sent_once(functions, tmp_path):
    numbers, done = list(range(1000)), []
    with dask_cluster(2, path=str(tmp_path)) as cluster, ClusterCalls(cluster.address) as calls:
        some = [partial(functions.total, numbers, more) for more in range(5)]
        assert calls.run(some, lambda: done.append(None)) == [sum(numbers) + more for more in range(5)]
        assert len(done) == 5
        with pytest.raises(ValueError, match="of the function"):
            calls.run([partial(functions.fail, numbers)], lambda: None)
        # Nobody has what was sent any more: it is sent again, to whoever is there.
        for worker in (0, 1):
            cluster.kill_worker(worker)
        cluster.start_worker()
        cluster.wait_for_workers(1)
        assert calls.run(some[:2], lambda: None) == [sum(numbers), sum(numbers) + 1]


def test_calls_by_which_workers_always_die_end_with_advice(functions, tmp_path):
    with (
        dask_cluster(1, path=str(tmp_path), options=()) as cluster,
        ClusterCalls(cluster.address) as calls,
        pytest.raises(NearsongError, match=r"workers of the cluster .* look at their logs"),
    ):
        calls.run([partial(functions.die, [1])], lambda: None)


def test_no_scheduler_is_said_before_anything_is_read(trained_file, tmp_path):
    with Library.open(shutil.copy(trained_file, tmp_path / "library.sqlite")) as library:
        stages: list[str] = []
        with pytest.raises(InvalidInputError, match=r"no Dask scheduler found at 'tcp://127\.0\.0\.1:1'"):
            library.train(
                QUICK, cluster="tcp://127.0.0.1:1", progress=lambda stage, done, total: stages.append(stage)
            )
        assert not stages
