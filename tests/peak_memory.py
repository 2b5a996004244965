"""The peak memory of a process while a block runs, and of a worker while it reads a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from nearsong.library.scanning import analyse_file as analysing
from nearsong.library.scanning import file_tags

PEAKS = "peaks.txt"


class Peak:
    """How many bytes a process took at most beyond those it had before."""

    growth = 0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure this process; Linux only."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is used now
    before, peak = _bytes("VmRSS"), Peak()
    try:
        yield peak
    finally:
        peak.growth = _bytes("VmHWM") - before


def _bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def analyse_file(encoders, roots, path, **options):
    """Analyse a file as a scan does, and write down the peak of this worker beside it."""
    return _measured(path, partial(really_analyse, **options), encoders, roots, path)


def tags_of_file(roots, path):
    """Read the tags of a file as a scan does, and write down the peak of this worker beside it."""
    return _measured(path, really_tags, roots, path)


really_analyse, really_tags = analysing.analyse_file, file_tags.tags_of_file


def _measured(path, function, *arguments):
    with peak_memory() as peak:
        result = function(*arguments)
    with open(os.path.join(os.path.dirname(path), PEAKS), "a") as file:
        file.write(f"{os.path.basename(path)}\t{os.getpid()}\t{peak.growth}\n")
    return result


def peaks_in(folder: Path) -> list[tuple[str, int, int]]:
    """Return file name, process and peak growth of everything that was measured in a folder; start again."""
    file = folder / PEAKS
    lines = [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []
    file.unlink(missing_ok=True)
    return [(name, int(pid), int(growth)) for name, pid, growth in lines]
