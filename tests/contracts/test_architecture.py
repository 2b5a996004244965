"""The shape of the source: imports point down, packages are small, outside libraries have one importer."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from contracts.source_tree import (
    MODULES,
    SOURCE,
    dotted_name,
    imports_of,
    is_module,
    nodes_of,
    outside_libraries,
    tree_of,
)

FLOORS = {
    "commands": {"cli", "__main__"},
    "service": {"web"},
    "product": {"library", "experiment", "demo"},
    "chain": {"model"},
    "stages": {
        "audio",
        "encoding",
        "relevance",
        "metric",
        "baselines",
        "evaluation",
        "listens",
        "recommendation",
        "reduction",
    },
    "ground": {
        "errors",
        "validation",
        "executor",
        "names",
        "path_names",
        "types",
        "caching",
        "atomic_write",
        "temporary",
        "process_files",
        "lazy_names",
        "script_bundle",
        "guarded_file",
        "clock",
        "estimators",
    },
}
HEIGHT = {package: height for height, packages in enumerate(reversed(FLOORS.values())) for package in packages}

LIBRARY_PACKAGES = (  # from the lowest up: a package imports those before it
    "records",
    "store",
    "files",
    "neighbours",
    "models",
    "scanning",
    "listeners",
    "accounts",
    "training",
    "automation",
    "answers",
    "browsing",
    "status",
    "reading",
    "snapshot_songs",
    "snapshot",
    "snapshot_cache",
    "maps",
    "sync",
    "queries",
    "contents",
    "library",
    "__init__",
)

# outside library -> the only files or folders that may import it
IMPORTERS = {
    "typer": {"cli"},
    "rich": {"cli"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "anyio": {"web"},
    "pydantic": {"web"},
    "uvicorn": {"web"},
    "h11": {"web/http/connections.py"},
    "prometheus_client": {"web"},
    "python_multipart": {"web"},
    "sqlalchemy": {"library/store"},
    "platformdirs": {"library/store", "model/encoders/pretrained/installed.py", "cli/operation/config_file.py"},
    "mutagen": {"audio/tags.py", "audio/headers/tag_file.py", "library/files/cover.py", "library/files/lyrics.py"},
    "PIL": {"library/files/cover.py", "library/files/drawn_cover.py", "demo/covers.py"},
    "rapidfuzz": {"library/neighbours/song_finder.py", "library/answers/words/word_match.py"},
    "usearch": {"library/neighbours/graph.py"},
    "pyarrow": {"listens/parquet.py", "model/encoders/pretrained/vector_table.py"},
    "onnxruntime": {"model/encoders/pretrained/onnx.py"},
    "matplotlib": {"experiment/report/drawing.py"},
    "dask": {"executor.py"},
    "fsspec": {"library/files/storage.py"},
    "distributed": {"executor.py", "library/scanning/cluster/tasks.py"},
    "soundfile": {"audio/decode.py", "audio/write.py", "audio/conversion"},
    "av": {"audio/ffmpeg.py", "audio/write.py", "audio/conversion"},
    "soxr": {"audio/decode.py", "model/encoders/pretrained/resampled.py"},
    "pebble": {"audio/workers.py"},
    "sklearn": {"estimators"},
    "segno": {"web/media/qr_code.py"},
    "llvmlite": {"encoding/products.py", "model/encoders/pretrained/fast_correlation.py"},
}
EVERYWHERE = {"numpy", "scipy", "numba", "threadpoolctl", "cachetools"}

MAX_MODULES = 15
LARGER_PACKAGES: dict[str, str] = {"cli": "a module for each command"}
"""Folder -> why it may hold up to 20 modules."""

MAX_LINES = 400
MAX_COMPLEXITY = 15
COMPLEX = {
    "most_violated": "one compiled kernel; dividing it costs a pass over memory",
}


def package_of(path: Path, source: Path = SOURCE) -> str:
    return path.relative_to(source).parts[0].removesuffix(".py")


def upward_imports(path: Path, source: Path = SOURCE) -> list[str]:
    """Return the imports of a file that point up or sideways."""
    package = package_of(path, source)
    if package == "__init__":  # the public names may come from any package
        return []
    others = {name for name in imports_of(path) if name.startswith("nearsong.") and name.split(".")[1] != package}
    return sorted(
        name
        for name in others
        if package != "__main__" and HEIGHT[name.split(".")[1]] >= HEIGHT[package] and HEIGHT[package] > 0
    )


@pytest.mark.parametrize("path", MODULES, ids=dotted_name)
def test_imports_point_down_and_stages_are_strangers(path):
    assert package_of(path) in HEIGHT or package_of(path) == "__init__", "a new package needs a floor in FLOORS"
    assert upward_imports(path) == []


def test_the_floor_rule_can_fail(tmp_path):
    for package, line in [
        ("metric", "import nearsong.evaluation.scores"),
        ("evaluation", "from nearsong.cli import app"),
    ]:
        (tmp_path / package).mkdir()
        offender = tmp_path / package / "module.py"
        offender.write_text(line)
        assert len(upward_imports(offender, tmp_path)) == 1


def library_package(dotted: str) -> str:
    """Return the package within the library that a module is in."""
    parts = dotted.split(".")
    return parts[2] if len(parts) > 2 else "__init__"


def test_packages_of_the_library_are_in_order():
    wrong = []
    for path in (SOURCE / "library").rglob("*.py"):
        package = library_package(dotted_name(path))
        if package == "__init__":  # the public names come from every package
            continue
        for name in imports_of(path):
            if name.startswith("nearsong.library.") and is_module(name):
                other = library_package(name)
                if LIBRARY_PACKAGES.index(other) > LIBRARY_PACKAGES.index(package):
                    wrong.append(f"{dotted_name(path)} imports {name}")
    assert wrong == []


def test_the_service_and_the_commands_use_the_library_through_its_public_names():
    wrong = [
        f"{dotted_name(path)} imports {name}"
        for package in ("web", "cli")
        for path in (SOURCE / package).rglob("*.py")
        for name in imports_of(path)
        if name.startswith("nearsong.library.")
    ]
    assert wrong == []


def import_cycles() -> list[list[str]]:
    """Return the groups of modules that import each other, imports for type checking among them (Tarjan)."""
    edges = {
        dotted_name(path): {name for name in imports_of(path) if is_module(name)} - {dotted_name(path)}
        for path in MODULES
        if path.name != "__init__.py"
    }
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in edges[module]:
            if other not in edges:
                continue
            if other not in order:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], order[other])
        if low[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                cycles.append(sorted(group))

    for module in edges:
        if module not in order:
            visit(module)
    return cycles


def test_no_modules_import_each_other():
    assert import_cycles() == []


@pytest.mark.parametrize("path", MODULES, ids=dotted_name)
def test_every_outside_library_has_one_importer(path):
    file = str(path.relative_to(SOURCE))
    for library in outside_libraries(path) - EVERYWHERE:
        assert library in IMPORTERS, f"{file} imports {library}: choose its one importer and name it here"
        folders = {str(parent) for parent in Path(file).parents}
        assert IMPORTERS[library] & {file, *folders}, f"{library} has another importer"


def test_no_folder_has_too_many_modules():
    sizes = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert all(reason for reason in LARGER_PACKAGES.values())
    too_many = {}
    for folder, n_modules in sizes.items():
        name = str(folder.relative_to(SOURCE))
        if n_modules > (20 if name in LARGER_PACKAGES else MAX_MODULES):
            too_many[name] = n_modules
    assert too_many == {}


def test_every_package_says_what_it_is_for():
    silent = []
    for folder in {path.parent for path in MODULES}:
        first = (folder / "__init__.py").read_text().split("\n", 1)[0]
        if len(first) < 25 or "TODO" in first:
            silent.append(str(folder.relative_to(SOURCE)))
    assert silent == []


def test_files_stay_under_400_lines():
    files = [*MODULES, *Path(__file__).parents[1].rglob("*.py")]
    assert {str(p): n for p in files if (n := len(p.read_text().splitlines())) > MAX_LINES} == {}


def test_functions_are_simple_enough_to_read():
    complexity = pytest.importorskip("radon.complexity")
    complex_ones = defaultdict(int)
    for path in MODULES:
        for block in complexity.cc_visit_ast(tree_of(path)):
            for function in [block, *getattr(block, "methods", []), *getattr(block, "closures", [])]:
                if type(function).__name__ == "Function" and function.complexity > MAX_COMPLEXITY:
                    complex_ones[function.name] = function.complexity
    assert {name: n for name, n in complex_ones.items() if name not in COMPLEX} == {}


def test_records_of_many_fields_are_built_by_keyword():
    classes = {node.name for path in MODULES for node in nodes_of(path) if isinstance(node, ast.ClassDef)}
    calls = [(path, node) for path in MODULES for node in nodes_of(path) if isinstance(node, ast.Call)]
    built = [(path, node) for path, node in calls if isinstance(node.func, ast.Name) and node.func.id in classes]
    assert len(built) > 100
    assert [f"{path}:{node.lineno} {node.func.id}" for path, node in built if len(node.args) > 5] == []


def test_there_is_no_pickle():
    assert [str(p) for p in MODULES if {"pickle", "joblib", "shelve"} & imports_of(p)] == []
