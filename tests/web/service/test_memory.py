"""What a service has freed goes back to the system."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import gc
from nearsong.web.service.memory import give_back_memory, use_few_heaps

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

assert use_few_heaps()
blocks = [bytes(1000) for _ in range(200_000)]
kept = blocks[::1000]  # one here and there, the last one too: the heap cannot simply shrink
kept.append(blocks[-1])
full = resident()
del blocks
gc.collect()
freed = resident()
give_back_memory()
print(full, freed, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory in heaps of threads")
def test_freed_memory_goes_back_to_the_system():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    full, freed, given_back = map(int, run.stdout.split())
    assert freed > full - 50  # kept by the C library
    assert given_back < full - 100
