"""The wheel matrix: which interpreters it finds, what it runs, and that a cell that fails is a failure."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def matrix():
    spec = importlib.util.spec_from_file_location("matrix", ROOT / "release" / "matrix.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["matrix"] = module  # named tuples look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["matrix"]


def program(folder, name, answer):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{answer}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_the_newest_interpreter_of_each_version_is_found_on_the_path_and_in_pyenv(matrix, tmp_path, monkeypatch):
    path, pyenv = tmp_path / "bin", tmp_path / "pyenv"
    program(path, "python3.12", "echo 3 12 1 /usr/bin/python3.12")
    program(path, "python3.13", "exit 127")  # pyenv's shim of a version that is not chosen
    program(path, "python3-config", "echo 3 15 0 /not/an/interpreter")
    program(path, "python3", "echo 3 10 4 /usr/bin/python3")
    program(pyenv / "versions" / "3.12.9" / "bin", "python3.12", "echo '3 12 9 /py env/3.12'")
    program(pyenv / "versions" / "3.13.0" / "bin", "python3", "echo 3 13 0 /pyenv/3.13")
    monkeypatch.setenv("PATH", f"{path}:/none")
    monkeypatch.setenv("PYENV_ROOT", str(pyenv))
    assert matrix.interpreters() == {(3, 12): ("3.12.9", "/py env/3.12"), (3, 13): ("3.13.0", "/pyenv/3.13")}


def test_the_fast_part_exists_hears_every_format_and_has_what_a_newcomer_uses(matrix):
    assert [name for name in matrix.FAST_PART if not (ROOT / name).is_file()] == []
    named = {"tests/audio/test_decode.py", "tests/story/test_installed.py", "tests/cli/test_demo.py"}
    assert named <= set(matrix.FAST_PART)
    folders = {str(Path(name).parent) for name in matrix.FAST_PART}
    assert {"tests/cli", "tests/metric", "tests/model", "tests/web/api", "tests/web/subsonic"} <= folders
    assert len(matrix.test_requirements()) == len(matrix.TEST_PACKAGES)


def test_an_interpreter_that_cannot_make_an_environment_is_a_failure_with_what_was_printed(matrix, tmp_path):
    broken = program(tmp_path, "python3.12", "echo no such module; exit 3")
    said = []
    outcomes = matrix.run_interpreter(("3.12.1", broken), tmp_path / "none.whl", (), "3.12.1", said.append)
    assert [outcome.result for outcome in outcomes] == ["failed", "failed"]
    assert outcomes[0].failure.endswith("no such module\n")
    assert said[0].startswith("Python 3.12.1, constraints: failed")
    shown = matrix.table(outcomes, [version for version in matrix.KNOWN if version > (3, 13)])
    assert "| 3.12.1 | constraints | ? |" in shown
    assert "| 3.12.1 | newest | ? |" in shown
    assert "Not found here, so not run: Python 3.14, 3.15." in shown


@pytest.fixture
def environment(tmp_path):
    """Return a function that makes a false environment: its Python knows versions, and whether tests pass."""

    def make(versions, test_code, size_code=0):
        answer = f"""case "$*" in
*"-m pip"*) echo "$*" >> {tmp_path}/asked;;
*install_size.py*) echo '| **together** | 641.5 | 560.0 |'; exit {size_code};;
*"-m pytest"*) echo "7 passed"; exit {test_code};;
*) echo '{json.dumps(versions)}';;
esac"""
        program(tmp_path / "venv" / "bin", "python", answer)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("test_code", "passed", "result"),
    [
        (0, {"numpy": "2.4"}, "7 passed"),
        (0, {"numpy": "2.5"}, "the same versions"),
        (1, {"numpy": "2.5"}, "the same versions"),
        (1, {}, "failed"),
    ],
)
def test_the_newest_versions_are_tested_unless_they_passed_already(matrix, environment, test_code, passed, result):
    folder, cell = environment({"numpy": "2.5"}, test_code), matrix.Cell("3.12.1", "/none", False)
    outcome = matrix.run_cell(cell, folder / "a.whl", ("tests",), folder, lambda line: None, passed)
    assert outcome.result == result
    assert bool(outcome.failure) == (result == "failed")
    assert outcome.size == "641.5"
    assert "-U --upgrade-strategy eager" in (folder / "asked").read_text()


def test_an_installation_above_the_limit_is_a_failure_with_its_table(matrix, environment):
    folder, cell = environment({}, 0, size_code=1), matrix.Cell("3.12.1", "/none", True)
    outcome = matrix.run_cell(cell, folder / "a.whl", ("tests",), folder, lambda line: None)
    assert outcome.result == "failed"
    assert "| **together** | 641.5 |" in outcome.failure


def test_make_says_in_one_line_that_no_python_is_found(tmp_path):
    make = subprocess.run(["which", "make"], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run(
        [make, "-s", "-C", str(ROOT), "python"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    first, *rest = done.stderr.splitlines()
    assert first.startswith("No Python from 3.11 up was found; install one")
    assert all(line.startswith("make") for line in rest)
