"""Failed tests are run once more, alone: those that pass then are named, others and many fail the whole."""

import subprocess
import sys
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
