"""The house rules: imports point down, stages are strangers, every outside library has one door."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "nearsong"

LAYERS = {
    "command line": {"cli", "__main__"},
    "service": {"web"},
    "product": {"library", "experiment"},
    "chain": {"model"},
    "stages": {"audio", "encoding", "relevance", "metric", "baselines", "evaluation"},
    "ground": {"errors", "validation", "executor", "names"},
}
HEIGHT = {room: height for height, rooms in enumerate(reversed(LAYERS.values())) for room in rooms}

# outside library -> the only places that may import it
DOORS = {
    "typer": {"cli"},
    "rich": {"cli"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "anyio": {"web"},
    "pydantic": {"web"},
    "uvicorn": {"web"},
    "prometheus_client": {"web"},
    "python_multipart": {"web"},
    "swagger_ui_bundle": {"web"},
    "sqlalchemy": {"library/store"},
    "platformdirs": {"library/store"},
    "mutagen": {"library/file_tags.py", "library/cover_art.py"},
    "PIL": {"library/cover_art.py", "library/demo_covers.py"},
    "rapidfuzz": {"library/search.py"},
    "usearch": {"library/index.py"},
    "pyarrow": {"library/listens/parquet.py"},
    "matplotlib": {"experiment/figures.py"},
    "dask": {"executor.py"},
    "distributed": {"executor.py"},
    "soundfile": {"audio/decode.py", "audio/write.py", "audio/convert.py"},
    "av": {"audio/decode.py", "audio/write.py", "audio/convert.py"},
    "soxr": {"audio/decode.py"},
    "pebble": {"audio/workers.py"},
    "llvmlite": {"encoding/products.py"},
}
EVERYWHERE = {"numpy", "scipy", "sklearn", "numba", "threadpoolctl"}

MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Return every module a file imports, anywhere in it, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import; write nearsong.<room>.<module>"
            found.add(node.module or "")
    return found


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def house_violations(path: Path) -> list[str]:
    """Say which imports of a file point up or sideways."""
    room = room_of(path)
    if room == "__init__":  # the public names: may point at any room
        return []
    wrong = []
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "nearsong" or len(parts) == 1 or parts[1] == room:
            continue
        if HEIGHT[parts[1]] >= HEIGHT[room] and not (room == "__main__" or HEIGHT[room] == 0):
            wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    return wrong


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down_and_stages_are_strangers(path):
    assert room_of(path) in HEIGHT or room_of(path) == "__init__", "a new room needs a place in LAYERS"
    assert house_violations(path) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_outside_library_has_one_door(path):
    place = str(path.relative_to(SOURCE))
    for name in imports_of(path):
        library = name.split(".")[0]
        if library in sys.stdlib_module_names or library in EVERYWHERE | {"nearsong"}:
            continue
        assert library in DOORS, f"{place} imports {library}: choose its one door and name it here"
        folders = {str(parent) for parent in Path(place).parents}
        assert DOORS[library] & {place, *folders}, f"{library} has another door"


def test_the_layer_rule_can_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    for room, line in [
        ("metric", "import nearsong.evaluation.scores"),
        ("evaluation", "from nearsong.cli import app"),
    ]:
        (tmp_path / room).mkdir()
        offender = tmp_path / room / "module.py"
        offender.write_text(line)
        assert len(house_violations(offender)) == 1


def test_files_stay_under_400_lines():
    too_long = {str(p): n for p in MODULES if (n := len(p.read_text().splitlines())) > 400}
    assert too_long == {}


def test_there_is_no_pickle():
    assert [str(p) for p in MODULES if {"pickle", "joblib", "shelve"} & imports_of(p)] == []
