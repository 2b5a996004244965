"""`make docs` builds without a warning, runs the gallery, documents every public name and has no broken link."""

import os
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import nearsong

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


class Page(HTMLParser):
    """The ids of a page and what it links to or shows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.ids.add(value)
            elif name in {"href", "src"} and value and tag != "link":
                self.targets.add(value)


page_of = cache(Page)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", folder / "doctrees", ROOT / "docs"]
    done = subprocess.run(
        [*map(str, command), str(folder / "html")], capture_output=True, text=True, timeout=1200, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def broken_links(site: Path) -> list[str]:
    """Return the links within a site that lead to no page, file or heading."""
    pages = {path: page_of(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not goal.exists() or (fragment and goal in pages and fragment not in pages[goal].ids):
                broken.append(f"{path.relative_to(site)}: {target}")
    return broken


def test_no_link_is_broken(site):
    assert broken_links(site) == []


def test_the_link_check_can_fail(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html">gone</a> <a href="#nowhere">gone</a> <p id="here"></p><a href="#here">ok</a>'
    )
    assert set(broken_links(tmp_path)) == {"a.html: b.html", "a.html: #nowhere"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_example_ran_and_its_page_shows_output_and_a_figure(site, example):
    html = (site / "gallery" / f"{example.stem}.html").read_text()
    assert "sphx-glr-script-out" in html
    assert f"sphx_glr_{example.stem}_001.png" in html


def test_every_public_name_is_in_the_reference(site):
    text = "".join(path.read_text() for path in (site / "reference").glob("*.html"))
    assert [name for name in nearsong.__all__ if f'.{name}"' not in text] == []


def test_the_site_asks_nobody_else(site):
    outside = {
        target
        for path in site.rglob("*.html")
        for target in page_of(path).targets
        if urlsplit(target).netloc and target.endswith((".js", ".css", ".woff2", ".png", ".svg"))
    }
    assert outside == set()
