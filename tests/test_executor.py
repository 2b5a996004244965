import os
import signal
import sys
import time
from functools import partial

import pytest
from threadpoolctl import threadpool_info

from nearsong.errors import InvalidInputError, NearsongError
from nearsong.executor import available_processors, run_tasks

# Functions for workers live in a module that a fresh interpreter can import.
TASKS = """
import os, signal, time
from pathlib import Path
from threadpoolctl import threadpool_info

def square(task):
    return task * task

def threads(task):
    import numpy
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

def die_once(folder, task):
    mark = Path(folder) / f"died-{task}"
    if task % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return task * task

def die(task):
    os.kill(os.getpid(), signal.SIGKILL)

def fail(task):
    raise ValueError(f"task {task}")
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "executor_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import executor_tasks

    yield executor_tasks
    sys.modules.pop("executor_tasks")


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_every_task_comes_back_with_its_result(work, jobs):
    assert sorted(run_tasks(work.square, list(range(9)), jobs=jobs)) == [(i, i * i) for i in range(9)]
    assert list(run_tasks(work.square, [], jobs=jobs)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_has_one_blas_thread(work, jobs):
    before = threadpool_info()
    assert all(found == {1} for _, found in run_tasks(work.threads, [0, 1, 2], jobs=jobs))
    assert threadpool_info() == before


def test_workers_that_are_killed_cost_no_result(work, tmp_path):
    found = sorted(run_tasks(partial(work.die_once, str(tmp_path)), list(range(7)), jobs=2))
    assert found == [(i, i * i) for i in range(7)]
    assert len(list(tmp_path.glob("died-*"))) == 3


def test_workers_that_always_die_end_with_advice(work):
    with pytest.raises(NearsongError, match=r"died 3 times in a row .* try fewer --jobs"):
        list(run_tasks(work.die, [1, 2, 3], jobs=2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_of_the_function_is_raised(work, jobs):
    with pytest.raises(ValueError, match="task"):
        list(run_tasks(work.fail, [1, 2, 3], jobs=jobs))


def test_settings_that_cannot_work_are_refused(work):
    with pytest.raises(InvalidInputError, match="jobs=0"):
        list(run_tasks(work.square, [1], jobs=0))
    with pytest.raises(InvalidInputError, match=r"no Dask scheduler found at 'tcp://127\.0\.0\.1:1'"):
        list(run_tasks(work.square, [1], cluster="tcp://127.0.0.1:1"))


def test_a_missing_dask_says_how_to_get_it(work, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'nearsong\[cluster\]'"):
        list(run_tasks(work.square, [1], cluster="tcp://127.0.0.1:1"))


def test_a_cluster_gives_the_same_and_survives_a_killed_worker(work, dask_cluster, tmp_path):
    address, workers = dask_cluster(extra_path=str(tmp_path))
    found = []
    for task, result in run_tasks(partial(work.die_once, str(tmp_path)), list(range(1, 3)), cluster=address):
        found.append((task, result))
    assert sorted(found) == [(1, 1), (2, 4)]
    tasks = list(range(30))
    results = run_tasks(work.square, tasks, cluster=address)
    first = next(results)
    os.kill(workers[0].pid, signal.SIGKILL)
    time.sleep(0.1)
    assert sorted([first, *results]) == [(i, i * i) for i in tasks]


def test_processors_are_those_of_this_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert available_processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert available_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_processors() == 1
