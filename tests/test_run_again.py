"""Failed tests are run once more, alone: those that pass then are named, others and many fail the whole."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import run_again

AT_FIRST = """
from pathlib import Path

def test_fails_at_first():
    seen = Path("seen")
    known = seen.exists()
    seen.touch()
    assert known
"""
ALWAYS = "def test_fails():\n    assert False\n"
SKIPPED = "import pytest\n\ndef test_of_a_player():\n    pytest.skip('the player is not installed')\n"
PROJECT = Path(__file__).parents[1]
MANY = "import pytest\n\n@pytest.mark.parametrize('n', range(6))\ndef test_fails(n):\n    assert False\n"


def run_twice(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").touch()
    (folder / "test_one.py").write_text(source)
    first = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, capture_output=True, check=False)
    assert first.returncode == 1
    return subprocess.run(
        [sys.executable, run_again.__file__], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        (AT_FIRST, 0, "Passed alone, and failed beside the others:\n  test_one.py::test_fails_at_first"),
        (ALWAYS, 1, "Failed alone, and failed beside the others:\n  test_one.py::test_fails"),
        (MANY, 1, "6 tests failed; at most 5 would be run again."),
    ],
)
def test_what_fails_again_or_often_fails_the_whole(source, code, said, tmp_path):
    done = run_twice(tmp_path, source)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout


def test_make_test_ends_with_why_tests_were_skipped(tmp_path):
    (recipe,) = [line for line in (PROJECT / "Makefile").read_text().splitlines() if "pytest -q -n" in line]
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    quiet = [word for word in recipe.split() if word == "-q" or word.startswith("--no-summary")]
    shown = [word for word in (project["addopts"] + " " + recipe).split() if word.startswith("-r")]
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_one.py").write_text(SKIPPED)
    run = [sys.executable, "-m", "pytest", *quiet, *shown]
    told = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "SKIPPED [1] test_one.py:4: the player is not installed" in told
