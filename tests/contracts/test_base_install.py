"""What is not installed without extras is not needed: the commands of every day run without it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from written_runs import pick, write_run

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# distribution of an extra -> what is imported of it
MODULES = {
    "distributed": ("distributed", "dask"),
    "matplotlib": ("matplotlib",),
    "onnxruntime": ("onnxruntime",),
    "psycopg": ("psycopg",),
    "pyarrow": ("pyarrow",),
    "usearch": ("usearch", "numkong"),
}
FOR_USERS = ("cluster", "figures", "large", "onnx", "parquet", "postgres")
NEVER = ("pandas", "polars")

HIDING = """
import sys
from importlib.machinery import PathFinder

class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.split(".")[0] in {blocked} else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", text).group().lower() for text in requirements}


@pytest.fixture
def nearsong(tmp_path):
    """Return a function that runs a command in a Python that has no extras, worker processes included."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDING.format(blocked=sum(MODULES.values(), ())))
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT / "src")])

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "nearsong", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
        )

    return run


def test_the_blocked_modules_are_those_of_the_extras():
    extras = PROJECT["optional-dependencies"]
    assert names([text for extra in FOR_USERS for text in extras[extra]]) == set(MODULES)
    assert names(PROJECT["dependencies"]) & {*MODULES, *NEVER} == set()


def test_help_scan_import_and_similar_need_no_extra(nearsong, tmp_path):
    random = np.random.default_rng(0)
    for i in range(4):
        folder = tmp_path / "music" / f"Band {i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        sound = 0.1 * np.cumsum(random.normal(size=22_050)) / (20 * i + 20)
        soundfile.write(folder / f"Song {i}.wav", sound, 22_050)
    plays = tmp_path / "plays.csv"
    plays.write_text("user,artist,title,time\n" + "".join(f"u{i},Band {i % 2},Song {i},{i + 1}\n" for i in range(4)))
    assert " scan " in nearsong("--help").stdout
    for command in (
        ("scan", tmp_path / "music", "--library", "l.sqlite"),
        ("listens", "import", plays, "--library", "l.sqlite"),
        ("similar", "Band 1 - Song 1", "--library", "l.sqlite"),
    ):
        done = nearsong(*command)
        assert done.returncode == 0, done.stderr
    assert "Song 0" in done.stdout


def test_a_report_without_matplotlib_names_the_extra_and_writes_nothing(nearsong, tmp_path):
    folder = write_run(tmp_path / "run", [pick(0, "native", 0.6)])
    done = nearsong("experiment", "report", folder)
    assert done.returncode == 2
    assert done.stderr == "nearsong: Figures of a report need matplotlib: pip install 'nearsong[figures]'\n"
    assert not (tmp_path / "run" / "report").exists()


def test_the_sizes_of_an_installation_add_up_and_can_be_limited():
    command = [sys.executable, str(ROOT / "release" / "install_size.py"), "--top", "3"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    sizes = np.array([[float(cell) for cell in row[1:]] for row in rows])
    np.testing.assert_allclose(sizes[:-1].sum(axis=0), sizes[-1], atol=0.3)
    assert (sizes[:, 1] <= sizes[:, 0]).all()
    assert sizes[0, 0] > sizes[2, 0] > 1
    refused = subprocess.run([*command, "--limit", "1"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr == "The installation is larger than 1 MB; see the table for what is large.\n"
