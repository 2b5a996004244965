"""A folder -> faults for processes below it: a disk that fills up or fails, files that stall, a clock that jumps.

`faults.c`, loaded before the C library, reads what goes wrong from a mapped file, so that it can change while the
processes run.
"""

import errno
import mmap
import shutil
import struct
import subprocess
from pathlib import Path

from torture.attack import BrokenError

SOURCE = Path(__file__).with_name("faults.c")
CONTROL_BYTES = 4096
PATH_BYTES = 1024
WHERE_BELOW, WHERE_STALL = 128, 128 + PATH_BYTES
FOR_EVER = 2**62
SHORT_WRITE = -1
"""In place of an error: half of the bytes are written."""

ERRORS = {
    "full": errno.ENOSPC,
    "failing": errno.EIO,
    "read-only": errno.EROFS,
    "over quota": errno.EDQUOT,
    "short": SHORT_WRITE,
}
"""Kind of fault -> the error that a call gives."""

_FIELDS = (
    "calls",
    "fail_from",
    "fail_to",
    "fail_errno",
    "failed",
    "clock_ns",
    "jitter_ns",
    "stall_ms",
    "stalled",
    "clock_calls",
    "stat_ms",
    "asleep_ns",
)


def compiled(folder: Path) -> Path:
    """Compile the shared library, unless the folder has it."""
    target = folder / "faults.so"
    if target.exists() and target.stat().st_mtime >= SOURCE.stat().st_mtime:
        return target
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise BrokenError("there is no C compiler for the faults; install gcc.")
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-ldl", "-lpthread"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise BrokenError(f"the faults do not compile: {run.stderr.strip().splitlines()[0]}")
    return target


class Faults:
    """What goes wrong in the processes that have `env` in their environment.

    Parameters
    ----------
    folder : Path
        Where the shared library and the mapped file are.
    name : str
        Of the mapped file: processes with another name have faults of their own.
    """

    def __init__(self, folder: Path, name: str) -> None:
        library, self._path = compiled(folder), folder / f"{name}.faults"
        self._path.write_bytes(bytes(CONTROL_BYTES))
        with self._path.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), CONTROL_BYTES)
        self.env = {"LD_PRELOAD": str(library), "TORTURE_FAULTS": str(self._path)}

    def get(self, field: str) -> int:
        """Return a number, such as how many calls there were."""
        return int(struct.unpack_from("<q", self._control, 8 * _FIELDS.index(field))[0])

    def set(self, **fields: int) -> None:
        """Set numbers, in the order given."""
        for field, value in fields.items():
            struct.pack_into("<q", self._control, 8 * _FIELDS.index(field), value)

    def count_below(self, folder: Path) -> None:
        """Count the calls that write below a folder, from none, and let all of them succeed."""
        self._put(WHERE_BELOW, "")
        self.set(fail_from=0, fail_to=0, calls=0, failed=0)
        self._put(WHERE_BELOW, f"{folder}/")

    def fail(self, kind: str, first: int, n_calls: int = FOR_EVER) -> None:
        """Let the calls from the first on fail, counted from now."""
        self.set(fail_from=0, calls=0, failed=0, fail_errno=ERRORS[kind], fail_to=min(FOR_EVER, first + n_calls - 1))
        self.set(fail_from=first)

    def mend(self) -> None:
        """Let everything succeed from now on."""
        self.set(fail_from=0, stall_ms=0, stat_ms=0, clock_ns=0, jitter_ns=0, asleep_ns=0)

    def stall(self, path: Path, seconds: float, stat_seconds: float = 0.0) -> None:
        """Let opening and reading a file take so long, and asking for its size and date; 0 ends all stalls."""
        self._put(WHERE_STALL, str(path))
        self.set(stalled=0, stat_ms=int(1000 * stat_seconds), stall_ms=int(1000 * seconds))

    def set_clock(self, shift: float, jitter: float = 0.0, asleep: float = 0.0) -> None:
        """Shift the time of day by some seconds, let each look at it jitter, and let the computer have slept."""
        self.set(clock_ns=int(1e9 * shift), jitter_ns=int(1e9 * jitter), asleep_ns=int(1e9 * asleep))

    def close(self) -> None:
        """Let everything succeed, and unmap the file."""
        self.mend()
        self._control.close()

    def _put(self, where: int, text: str) -> None:
        self._control[where : where + PATH_BYTES] = text.encode().ljust(PATH_BYTES, b"\0")
