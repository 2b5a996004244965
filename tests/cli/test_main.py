"""The command line as a person meets it."""

import subprocess
import sys

import pytest

import nearsong


def nearsong_says(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearsong", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_version_is_the_package_version():
    assert nearsong_says("--version").stdout.strip() == f"nearsong {nearsong.__version__}"


def test_help_lists_the_commands():
    answer = nearsong_says("--help")
    assert answer.returncode == 0
    assert "demo" in answer.stdout


def test_demo_shows_better_scores_after_than_before():
    answer = nearsong_says("demo", "--data", "wine")
    assert answer.returncode == 0, answer.stderr
    row = next(line for line in answer.stdout.splitlines() if " AUC " in line)
    before, after, change = (float(cell) for cell in row.replace("│", " ").split()[1:])
    assert after > before + 0.1
    assert change == pytest.approx(after - before, abs=2e-3)
    assert "from the optimum at most" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "vinyl"], "--data 'vinyl' is unknown; choose one of wine"),
        (["--loss", "loudness"], "loss='loudness' is unknown; choose one of auc"),
        (["--C", "-1"], "C=-1.0 must be a finite number above 0."),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message):
    answer = nearsong_says("demo", *arguments)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_verbose_shows_the_traceback():
    answer = nearsong_says("--verbose", "demo", "--data", "vinyl")
    assert answer.returncode == 2
    assert "Traceback" in answer.stderr
