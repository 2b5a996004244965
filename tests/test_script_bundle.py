"""Modules of the page as one script: what runs, in which order, and what two scripts share."""

import json
import re
import shutil
import subprocess

import pytest

from nearsong.script_bundle import imported_modules, loaded_later, module_script, plain_script
from nearsong.web.page_files import FIRST_SCRIPT, PageFiles
from nearsong.web.pages import STATIC

MODULES = {
    "app.js": 'import { add, log as tell } from "./core/log.js";\nimport { twice } from "./core/twice.js";\n'
    'add(twice(1));\nglobalThis.later = () => import("./views/view.js");\ntell();\n',
    "core/log.js": "const kept = [];\nexport const add = (one) => kept.push(one);\n"
    "export function log() {\n  globalThis.said = [...kept];\n}\n",
    "core/twice.js": 'import { add } from "./log.js";\nexport function twice(x) {\n  add("twice");\n'
    "  return 2 * x;\n}\n",
    "views/view.js": 'import { add, log } from "../core/log.js";\nimport { name } from "./name.js";\n'
    "export async function show() {\n  add(name);\n  log();\n}\n",
    "views/name.js": 'export const name = "view";\n',
}


def test_dependencies_come_first_and_each_once():
    assert imported_modules("app.js", MODULES.__getitem__) == ["core/log.js", "core/twice.js", "app.js"]
    assert loaded_later(["app.js"], MODULES.__getitem__) == {"views/view.js"}
    circle = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    with pytest.raises(ValueError, match=re.escape("modules import each other: a.js -> b.js -> a.js")):
        imported_modules("a.js", circle.__getitem__)


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the scripts")
def test_scripts_that_are_loaded_one_after_the_other_share_their_modules(tmp_path):
    """The view adds to the list that the first script made."""
    base = tmp_path.as_uri()
    first = imported_modules("app.js", MODULES.__getitem__)
    (tmp_path / "views").mkdir()
    (tmp_path / "app.mjs").write_text(module_script("app.js", MODULES.__getitem__, base))
    view = module_script("views/view.js", MODULES.__getitem__, base, without=first)
    assert "kept" not in view
    (tmp_path / "views" / "view.js").write_text(view)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.mjs").write_text(
        'import "./app.mjs";\nconst first = said;\nawait (await later()).show();\n'
        "console.log(JSON.stringify([first, said]));\n"
    )
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["twice", 2], ["twice", 2, "view"]]
    (tmp_path / "plain.cjs").write_text(plain_script("app.js", MODULES.__getitem__) + "console.log(said.length);\n")
    done = subprocess.run(["node", "plain.cjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"


def test_every_module_of_the_page_is_in_the_first_script_or_in_that_of_a_view():
    page = PageFiles(STATIC)

    def text(path):
        return (STATIC / "js" / path).read_text(encoding="utf-8")

    first = imported_modules(FIRST_SCRIPT, text)
    entries = loaded_later(
        (path.relative_to(STATIC / "js").as_posix() for path in (STATIC / "js").rglob("*.js")), text
    )
    sent = {entry: script(page, entry) for entry in [FIRST_SCRIPT, *entries]}
    for entry, script_text in sent.items():
        made = re.findall(r'^modules\["([^"]+)"\] \?\?= ', script_text, re.MULTILINE)
        without = [] if entry == FIRST_SCRIPT else first
        assert made == [path for path in imported_modules(entry, text) if path not in without]
        assert re.findall(r"^import\b", script_text, re.MULTILINE) == []
        assert set(re.findall(r'\bimport\("/static/js/([^"]+)"\)', script_text)) <= entries


def script(page: PageFiles, path: str) -> str:
    full_path, status = page.lookup_path(f"js/{path}")
    response = page.file_response(full_path, status, {"type": "http", "method": "GET", "headers": []})
    return bytes(response.body).decode()
