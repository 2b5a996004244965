"""A worker of a cluster reads its files in a process that stays for the next batch, and not for ever."""

import os
import sys

import pytest

from nearsong.errors import AudioError
from nearsong.library.scanning.cluster.idle_workers import IdleWorkers
from waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="knows processes by /proc")
SELF = "/proc/self"  # a link to the number of the process that reads it


def numbers(workers: IdleWorkers, kind: str, paths=(SELF,)) -> list[object]:
    return [result for _, result in workers.map(kind, os.readlink, paths, timeout=120.0, nice=0)]


def test_batches_of_a_kind_share_a_process_and_a_bad_file_is_the_result():
    workers = IdleWorkers(idle_seconds=3600.0)
    first, again = numbers(workers, "one", (SELF, SELF))
    assert first == again != str(os.getpid())
    bad, still = numbers(workers, "one", ("/proc/none", SELF))
    assert isinstance(bad, AudioError)
    assert still == first
    (other,) = numbers(workers, "other")
    assert other != first
    wait_for(lambda: not os.path.exists(f"/proc/{first}"))  # which nobody needs any more
    workers.close()
    wait_for(lambda: not os.path.exists(f"/proc/{other}"))
    assert numbers(workers, "one", ()) == []


def test_a_process_that_is_idle_ends():
    (number,) = numbers(IdleWorkers(idle_seconds=0.1), "one")
    wait_for(lambda: not os.path.exists(f"/proc/{number}"))
