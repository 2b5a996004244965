"""Everything shown to a reader runs: examples, README snippets, benchmarks in their smoke profile."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run(*arguments: str | Path, folder: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_the_example_runs_and_prints(path):
    assert run(path).strip()


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda p: p.name)
def test_the_benchmark_prints_a_json_line_a_case_in_its_smoke_profile(path):
    lines = [json.loads(line) for line in run(path, "--profile", "smoke").splitlines() if line.startswith("{")]
    assert lines
    assert all("case" in line for line in lines)


def test_python_in_the_readme_runs(tmp_path):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert snippets
    run("-c", "\n".join(snippets), folder=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_file_named_in_the_paper_map_exists():
    named = re.findall(r"`((?:src|tests|benchmarks)/[\w/.]+)`", (ROOT / "docs" / "paper-map.md").read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_pins_hold_versions_only():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []


@pytest.mark.skipif(os.name != "posix", reason="make is a POSIX tool")
def test_make_knows_the_promised_targets():
    rules = (ROOT / "Makefile").read_text()
    assert all(
        re.search(rf"^{target}:", rules, flags=re.MULTILINE) for target in ["demo", "test", "lint", "bench", "clean"]
    )
