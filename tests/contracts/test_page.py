"""Rules for the page's files: no markup from text, nothing from other sites, imports that resolve, readable files."""

import json
import re
from pathlib import Path

import pytest

from nearsong.web.page_files import PAGE_STYLES
from nearsong.web.page_files import STYLES as PAGE_STYLE_NAMES

STATIC = Path(__file__).parents[2] / "src" / "nearsong" / "web" / "static"
SVG = "http://www.w3.org/2000/svg"
MAX_LINES = 400
MAX_CHARACTERS = 120
MAX_FILES = 15
FOLDERS = ["", "albums", "core", "map", "player", "songs", "views", "widgets"]
"""Folders of js/."""

OTHER_PATHS = ("/docs", "/openapi.json")
"""Beginnings of addresses that other parts of the service handle."""

EXPORTED = STATIC / "js" / "map" / "exported.js"
"""The entry of the exported map, which no page of the service loads."""

TEXTS = sorted(path for path in STATIC.rglob("*") if path.suffix in {".html", ".css", ".js", ".svg", ".webmanifest"})
SCRIPTS = [path for path in TEXTS if path.suffix == ".js"]
PAGES = [path for path in TEXTS if path.suffix == ".html"]
STYLES = [path for path in TEXTS if path.suffix == ".css"]
MADE = {STATIC / PAGE_STYLES}
"""What the service makes of all style sheets of the page, and of the scripts in its head."""

MARKUP_FROM_TEXT = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|parseFromString)\b"
    r"|\bdocument\s*\.\s*write"
)
CODE_FROM_TEXT = re.compile(
    r"\beval\s*\(|\bnew\s+Function\b|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]|\bjavascript:", re.IGNORECASE
)
STYLE_FROM_TEXT = re.compile(r"setAttribute\(\s*[\"'](?:style|on\w+)[\"']|\.cssText\b")
IMPORTS = re.compile(
    r"""(?:^\s*(?:import|export)\b[^;'"]*?\bfrom\s*|^\s*import\s*|\bimport\()["']([^"']+)["']""", re.MULTILINE
)
NAMED_IMPORTS = re.compile(r"""import\s*\{([^}]+)\}\s*from\s*["']([^"']+)["']""")
EXPORTS = re.compile(r"^export\s+(?:async\s+)?(?:const|let|class|function)\s+(\w+)", re.MULTILINE)
LINKED = re.compile(r"(?:src|href)=\"(/static/[^\"]+)\"")


def name_of(path):
    return str(path.relative_to(STATIC))


def without_comments(script):
    """Return a script without the lines that are comments (which may name what is forbidden)."""
    return "\n".join(line for line in script.splitlines() if not line.lstrip().startswith(("//", "*", "/*")))


def served(address, source_file):
    """Return the file that the service gives at an address that a file names."""
    address = re.split(r"[?#]", address)[0]
    return (
        STATIC / address.removeprefix("/static/")
        if address.startswith("/static/")
        else (source_file.parent / address).resolve()
    )


def test_there_is_a_page_to_look_at():
    assert {"index.html", "login.html"} <= {name_of(path) for path in PAGES}
    assert len(SCRIPTS) > 20
    assert len(STYLES) > 5


@pytest.mark.parametrize(
    "line",
    [
        "node.innerHTML = name;",
        "node.insertAdjacentHTML('beforeend', name);",
        "document.write(name)",
        "eval (name)",
        "new Function(name)",
        "setTimeout('go()', 1)",
        "node.setAttribute('style', name)",
        'node.setAttribute("onclick", name)',
        "node.style.cssText = name",
    ],
)
def test_what_is_forbidden_would_be_seen(line):
    assert any(pattern.search(line) for pattern in (MARKUP_FROM_TEXT, CODE_FROM_TEXT, STYLE_FROM_TEXT))


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_script_never_makes_markup_code_or_style_of_text(path):
    script = without_comments(path.read_text())
    for pattern in (MARKUP_FROM_TEXT, CODE_FROM_TEXT, STYLE_FROM_TEXT):
        assert pattern.findall(script) == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_markup_has_no_style_no_handler_and_no_script_of_its_own(path):
    markup = path.read_text()
    assert re.findall(r"<[^>]*\s(?:style|on[a-z]+)\s*=", markup) == []
    assert re.findall(r"<style\b", markup) == []
    assert [
        inside for inside in re.findall(r"<script\b[^>]*>(.*?)</script>", markup, re.DOTALL) if inside.strip()
    ] == []


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_nothing_comes_from_elsewhere(path):
    text = path.read_text().replace(SVG, "")
    assert re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+", text) == []
    assert re.findall(r"\bhttps?:", text) == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_file_that_a_page_names_is_there(path):
    named = re.findall(r"(?:src|href)=\"([^\"#]+)\"", path.read_text())
    own = [
        address for address in named if address != "/" and not address.startswith(OTHER_PATHS) and address != "/docs"
    ]
    assert own
    files = {served(address, path) for address in own} - MADE
    assert [name_of(file) for file in files if not file.is_file()] == []


def test_every_icon_of_the_manifest_is_there():
    manifest = STATIC / "manifest.webmanifest"
    icons = json.loads(manifest.read_text())["icons"]
    assert icons
    assert [icon["src"] for icon in icons if not served(icon["src"], manifest).is_file()] == []


@pytest.mark.parametrize("path", STYLES, ids=name_of)
def test_a_style_sheet_loads_nothing_but_fonts_of_the_page(path):
    text = path.read_text()
    assert re.findall(r"@import\b|\burl\((?!\s*[\"']?(?:#|data:|\.\./fonts/))", text) == []
    fonts = re.findall(r"url\(\"\.\./(fonts/[^\"]+)\"\)", text)
    assert [font for font in fonts if not (STATIC / font).is_file()] == []


def test_other_scripts_have_fonts_of_the_system_before_the_generic_ones():
    tokens = (STATIC / "css" / "tokens.css").read_text(encoding="utf-8")
    (listed,) = re.findall(r"--font: ([^;]+);", tokens)
    families = [name.strip(' "') for name in re.sub(r"\s+", " ", listed).split(",")]
    assert families[-2:] == ["system-ui", "sans-serif"]  # where these are DejaVu Sans, all others come first
    systems = {"Segoe UI", "Noto Sans", "Arial", "Hiragino Sans", "PingFang SC", "Malgun Gothic", "Yu Gothic UI"}
    assert systems <= set(families)
    scripts = ("CJK JP", "CJK SC", "CJK KR", "Arabic", "Hebrew", "Devanagari", "Thai", "Armenian", "Georgian")
    assert {f"Noto Sans {script}" for script in scripts} <= set(families)
    assert "DejaVu Sans" not in families


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_every_import_is_a_file(path):
    named = IMPORTS.findall(path.read_text())
    assert [address for address in named if not address.startswith(("./", "../"))] == []
    assert [address for address in named if not served(address, path).is_file()] == []


def test_every_script_and_style_sheet_is_used():
    named = {served(address, path) for path in SCRIPTS for address in IMPORTS.findall(path.read_text())}
    named |= {STATIC / "css" / f"{name}.css" for name in PAGE_STYLE_NAMES}
    named |= {EXPORTED} | {served(address, path) for path in PAGES for address in LINKED.findall(path.read_text())}
    assert [name_of(path) for path in SCRIPTS + STYLES if path not in named] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_every_name_that_is_imported_is_exported(path):
    for names, address in NAMED_IMPORTS.findall(path.read_text()):
        wanted = {part.split(" as ")[0].strip() for part in names.split(",")} - {""}
        assert wanted <= set(EXPORTS.findall(served(address, path).read_text())), address


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_no_file_is_too_long_to_read(path):
    assert len(path.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES], ids=name_of)
def test_no_line_is_too_long_to_read(path):
    assert [line for line in path.read_text().splitlines() if len(line) > MAX_CHARACTERS] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_statement_declares_one_thing(path):
    """No `const [a, b] = [1, 2]` only to save lines."""
    assert re.findall(r"\b(?:const|let) \[[^\]=]*\] = \[(?!\.\.\.)", path.read_text()) == []


def test_scripts_are_in_folders_that_can_be_overseen():
    folders = {}
    for path in SCRIPTS:
        folders.setdefault(path.parent, []).append(path.name)
    assert {name_of(folder): len(names) for folder, names in folders.items() if len(names) > MAX_FILES} == {}
    scripts = STATIC / "js"
    top = {folder.relative_to(scripts).parts[:1] for folder in folders if folder.is_relative_to(scripts)}
    assert sorted("".join(parts) for parts in top) == FOLDERS


def test_core_imports_only_core():
    core = STATIC / "js" / "core"
    for path in sorted(core.glob("*.js")):
        fixed = [address for _, address in NAMED_IMPORTS.findall(path.read_text())]
        assert [address for address in fixed if served(address, path).parent != core] == [], path.name


def test_no_modules_import_each_other():
    imports = {
        path: [served(address, path) for _, address in NAMED_IMPORTS.findall(path.read_text())] for path in SCRIPTS
    }
    done = set()

    def visit(path, parents):
        assert path not in parents, [name_of(parent) for parent in (*parents, path)]
        if path not in done:
            for target in imports[path]:
                visit(target, (*parents, path))
            done.add(path)

    for path in SCRIPTS:
        visit(path, ())
