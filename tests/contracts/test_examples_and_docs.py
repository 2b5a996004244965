"""Everything the documents show works: snippets, links, paths, and benchmarks in their smoke profile."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from required import require

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


GENERATED = {ROOT / "docs" / "gallery" / "index.rst", ROOT / "docs" / "reference" / "commands.md"}
"""Pages that `make docs` writes; test_site.py follows the links to them."""


def run(*arguments: str | Path, folder: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda p: p.name)
def test_the_benchmark_prints_a_json_line_a_case_in_its_smoke_profile(path):
    lines = [json.loads(line) for line in run(path, "--profile", "smoke").splitlines() if line.startswith("{")]
    assert lines
    assert all("case" in line for line in lines)


def test_the_paper_size_benchmark_is_killed_and_goes_on_in_its_smoke_profile(tmp_path):
    require("dask", find_spec("distributed") is not None, "the extra `cluster` is not installed")
    command = ROOT / "benchmarks" / "paper_size.py", "--profile", "smoke", "--splits", "1", "--folder", tmp_path
    costs = json.loads(run(*command).splitlines()[-1])
    assert 0 < costs["done_when_killed"] <= costs["tasks"] == 6
    all_hours = costs["cpu_hours_of_all_processes"] + 0.0005  # it is rounded
    assert 0 < sum(costs["cpu_seconds"].values()) < 3600 * all_hours
    assert costs["fits"] > 0


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md"])
def test_python_in_the_documents_runs(page, tmp_path):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert snippets
    run("-c", "\n".join(snippets), folder=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        path = (page.parent / target).resolve()
        assert path.exists() or path in GENERATED, f"{page.name} links to {target}"


@pytest.mark.parametrize(
    ("page", "pattern", "folder"),
    [
        ("docs/paper-map.md", r"`((?:src|tests|benchmarks)/[\w/.]+)`", ROOT),
        ("docs/architecture.md", r"\b([\w/]+/\w+\.py)\b", ROOT / "src" / "nearsong"),
        ("docs/architecture.md", r"`([\w/]+/)`", ROOT / "src" / "nearsong"),
        ("CONTRIBUTING.md", r"`((?:src|tests|docs)/[\w/.]+)`", ROOT),
    ],
)
def test_every_path_named_in_a_document_exists(page, pattern, folder):
    paths = re.findall(pattern, (ROOT / page).read_text())
    assert paths
    beside = ("release/", "tests/", "torture/")  # the sources
    assert [path for path in paths if not ((ROOT if path.startswith(beside) else folder) / path).exists()] == []


def test_links_to_headings_lead_somewhere():
    broken = []
    for page in PAGES:
        for target, heading in re.findall(r"\]\((?!https?://)([^)#]*)#([^)]+)\)", page.read_text()):
            text = (page.parent / target if target else page).read_text()
            headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
            if heading not in anchors:
                broken.append(f"{page.name}: {target}#{heading}")
    assert broken == []


def test_the_pins_hold_versions_only():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []


@pytest.mark.skipif(os.name != "posix", reason="make is a POSIX tool")
def test_make_knows_the_promised_targets():
    rules = (ROOT / "Makefile").read_text()
    assert all(
        re.search(rf"^{target}:", rules, flags=re.MULTILINE)
        for target in ["demo", "test", "lint", "docs", "bench", "clean"]
    )
