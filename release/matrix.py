"""The source tree -> a table of whether its wheel works on each Python here, pinned and newest: `make matrix`.

The wheel is built once. Each cell of the matrix is an interpreter and a choice of versions: those of
constraints.txt, or the newest that pyproject.toml allows. An interpreter has one environment in an empty folder,
with the wheel, wheels of its dependencies (never a compiler) and what `FAST_PART` needs; the tests are copied, the
source is not. What nearsong and its dependencies take on disk is counted in each cell, and a cell above the limit
fails. Its second cell is the first one upgraded, as a user would: that installs what differs only, and what
numba compiled stays. On the highest interpreter it is compiled again, so that the newest numba and NumPy compile
all of it once.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SIZES = ROOT / "release" / "install_size.py"
LOWEST, KNOWN = (3, 11), ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
"""The lowest version that is supported, and those that the table names where they are missing."""

FAST_PART = (
    "tests/audio/test_decode.py",  # every format
    "tests/audio/test_convert.py",
    "tests/audio/test_write.py",
    "tests/cli/test_backup.py",
    "tests/cli/test_config.py",
    "tests/cli/test_demo.py",
    "tests/cli/test_main.py",
    "tests/library/store/test_store.py",
    "tests/listens/test_every_format.py",
    "tests/metric/test_oracles.py",
    "tests/model/test_file_format.py",
    "tests/story/test_installed.py",  # the program: scan, listens, training, similar songs, a server on a real socket
    "tests/web/api/test_similar.py",
    "tests/web/subsonic/test_auth.py",
)
TEST_PACKAGES = frozenset({"httpx", "hypothesis", "pytest"})
SHOWN = ("numpy", "scipy", "numba", "av", "fastapi")
TIMEOUT_SECONDS = 1_800

_PROBE = "import sys, ensurepip, venv; print(*sys.version_info[:3], sys.executable)"
_FACTS = """
import json, sys
from importlib.metadata import distributions
import nearsong
assert nearsong.__file__.startswith(sys.prefix), f"nearsong is not the installed one: {nearsong.__file__}"
print(json.dumps({package.name.lower(): package.version for package in distributions()}))
"""


class Cell(NamedTuple):
    """An interpreter and whether versions are pinned."""

    version: str
    python: str
    is_pinned: bool

    @property
    def dependencies(self) -> str:
        """Which versions are installed, in a word."""
        return "constraints" if self.is_pinned else "newest"


class Outcome(NamedTuple):
    """What a cell gave: versions, MB on disk, the last line of its tests, and all that it printed if it failed."""

    cell: Cell
    versions: dict[str, str]
    size: str
    result: str
    seconds: float
    failure: str = ""


def interpreters() -> dict[tuple[int, int], tuple[str, str]]:
    """Return the newest interpreter of each minor version from 3.11 up: (3, 12) -> ("3.12.1", its path)."""
    found: dict[tuple[int, int], tuple[tuple[int, ...], str]] = {}
    for program in _candidates():
        done = subprocess.run([program, "-c", _PROBE], capture_output=True, text=True, check=False)
        if done.returncode != 0:  # a shim without a version behind it, or Debian's without ensurepip
            continue
        *numbers, path = done.stdout.strip().split(" ", 3)
        version = tuple(map(int, numbers))
        if version[:2] >= LOWEST and version > found.get(version[:2], ((), ""))[0]:
            found[version[0], version[1]] = (version, path)
    return {minor: (".".join(map(str, version)), path) for minor, (version, path) in sorted(found.items())}


def _candidates() -> Iterator[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(name) for name in os.get_exec_path()] + sorted(pyenv.glob("versions/*/bin"))
    for folder in folders:
        for program in sorted(folder.glob("python3*")) if folder.is_dir() else ():
            if re.fullmatch(r"python3(\.\d+)?", program.name) and os.access(program, os.X_OK):
                yield str(program)


def test_requirements() -> list[str]:
    """Return what the fast part needs besides the wheel, bounded as in the extra `dev`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [text for text in project["optional-dependencies"]["dev"] if re.split("[<>=]", text)[0] in TEST_PACKAGES]


def build_wheel(folder: Path) -> Path:
    """Build the wheel and return its path."""
    _checked([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)], ROOT)
    return next(folder.glob("*.whl"))


def run_interpreter(
    found: tuple[str, str], wheel: Path, tests: Iterable[str], highest: str, say: Callable[[str], object]
) -> list[Outcome]:
    """Run the tests on an interpreter with pinned versions, then upgrade to the newest and run them again."""
    with tempfile.TemporaryDirectory(prefix="nearsong-matrix-") as name:
        folder = Path(name)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        pinned = run_cell(Cell(*found, True), wheel, tests, folder, say)
        if found[0] == highest:
            for compiled in folder.glob("venv/lib/**/*.nb[ci]"):
                compiled.unlink()
        newest = run_cell(Cell(*found, False), wheel, tests, folder, say, {} if pinned.failure else pinned.versions)
    return [pinned, newest]


def run_cell(
    cell: Cell,
    wheel: Path,
    tests: Iterable[str],
    folder: Path,
    say: Callable[[str], object],
    passed: dict[str, str] | None = None,
) -> Outcome:
    """Install or upgrade the wheel in a folder and run tests there, unless they passed with the same versions."""
    start = time.monotonic()
    versions, size, result, failure = {}, "?", "failed", ""
    try:
        python = _installed(cell, wheel, folder)
        versions = json.loads(_checked([python, "-c", _FACTS], folder))
        size = _size_in_mb(
            _checked([python, str(ROOT / "release" / "install_size.py")], folder)
        )  # fails above the limit
        if versions == passed:
            result = "the same versions"
        else:
            options = ["-q", "-p", "no:cacheprovider", "--basetemp", str(folder / "temporary")]
            result = _checked([python, "-m", "pytest", *options, *tests], folder).strip().splitlines()[-1]
    except subprocess.CalledProcessError as error:
        failure = f"{' '.join(map(str, error.cmd))}\n{error.stdout}"
    except subprocess.TimeoutExpired as error:
        failure = f"{' '.join(map(str, error.cmd))}\ndid not end within {TIMEOUT_SECONDS} s."
    outcome = Outcome(cell, versions, size, result.strip("= "), time.monotonic() - start, failure)
    say(f"Python {cell.version}, {cell.dependencies}: {outcome.result} ({outcome.seconds:.0f} s)")
    if failure:
        say(failure)
    return outcome


def _installed(cell: Cell, wheel: Path, folder: Path) -> str:
    """Make an environment with the wheel, or upgrade the one that is there, and return its Python."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        _checked([cell.python, "-m", "venv", str(folder / "venv")], folder)
    versions = ["-c", str(ROOT / "constraints.txt")] if cell.is_pinned else ["-U", "--upgrade-strategy", "eager"]
    options = ["-q", "--disable-pip-version-check", "--only-binary", ":all:", *versions]
    _checked([str(python), "-m", "pip", "install", *options, str(wheel), *test_requirements()], folder)
    return str(python)


def _size_in_mb(printed: str) -> str:
    """Return the total of the table that `install_size.py` prints."""
    return printed.split("| **together** | ")[1].split(" ")[0]


def _checked(command: list[str], folder: Path) -> str:
    """Run a program without this source tree on its path; return what it prints, errors included."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NEARSONG"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return done.stdout


def table(outcomes: Iterable[Outcome], missing: Iterable[tuple[int, int]]) -> str:
    """Return the cells as a table in Markdown, and a line on the interpreters that were not found."""
    rows = [
        f"| Python | dependencies | {' | '.join(SHOWN)} | MB | tests | seconds |",
        "|---" * (len(SHOWN) + 5) + "|",
    ]
    for cell, versions, size, result, seconds, _ in outcomes:
        shown = [versions.get(name, "?") for name in SHOWN]
        row = [cell.version, cell.dependencies, *shown, size, result, f"{seconds:.0f}"]
        rows.append(f"| {' | '.join(row)} |")
    names = ", ".join(f"{major}.{minor}" for major, minor in missing)
    return "\n".join([*rows, "", f"Not found here, so not run: Python {names}."] if names else rows)


def main() -> None:
    """Print the table; exit with 1 if a cell failed or no interpreter was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=FAST_PART, help="tests to run instead of the fast part")
    parser.add_argument("--python", action="append", metavar="3.12", help="run this version only; may be repeated")
    parser.add_argument("--at-once", type=int, default=3, help="interpreters that run at the same time (default: 3)")
    arguments = parser.parse_args()
    start, found = time.monotonic(), interpreters()
    names = {minor: f"{minor[0]}.{minor[1]}" for minor in found}
    chosen = [found[minor] for minor, name in names.items() if not arguments.python or name in arguments.python]
    if not chosen:
        raise SystemExit(f"No such Python was found; found: {', '.join(names.values()) or 'none'}.")
    with (
        tempfile.TemporaryDirectory(prefix="nearsong-wheel-") as folder,
        ThreadPoolExecutor(arguments.at_once) as pool,
    ):
        run = partial(
            run_interpreter,
            wheel=build_wheel(Path(folder)),
            tests=arguments.tests,
            highest=chosen[-1][0],
            say=partial(print, flush=True),
        )
        outcomes = [outcome for cells in pool.map(run, chosen) for outcome in cells]
    print(f"\n{table(outcomes, [minor for minor in KNOWN if minor not in found])}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - start:.0f} s, of the processor {used.ru_utime + used.ru_stime:.0f} s.")
    if any(outcome.failure for outcome in outcomes):
        raise SystemExit("The wheel does not work in every cell; the output of those that failed is above.")


if __name__ == "__main__":
    main()
