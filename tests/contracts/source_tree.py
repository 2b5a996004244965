"""The source as a tree of modules and imports, for the tests that hold its shape."""

import ast
import sys
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "nearsong"
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file."""
    return tuple(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the dotted name of every module that a file imports, anywhere in it."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import; write nearsong.<room>.<module>"
            found.add(node.module or "")
            found.update(
                f"{node.module}.{name.name}" for name in node.names if is_module(f"{node.module}.{name.name}")
            )
    return frozenset(found)


@cache
def is_module(dotted: str) -> bool:
    """Say whether a dotted name is a module or package of nearsong."""
    parts = dotted.split(".")
    path = SOURCE.joinpath(*parts[1:])
    return parts[0] == "nearsong" and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def dotted_name(path: Path) -> str:
    """Return the module name of a file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["nearsong", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def outside_libraries(path: Path) -> set[str]:
    """Return the libraries a file imports that are neither nearsong nor Python's own."""
    roots = {name.split(".")[0] for name in imports_of(path)}
    return {root for root in roots if root not in sys.stdlib_module_names and root != "nearsong"}
