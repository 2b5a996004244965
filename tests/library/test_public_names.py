import ast
from pathlib import Path

import pytest

import nearsong
from nearsong import library

SOURCE = Path(nearsong.__file__).parent
LAZY = [path for path in sorted(SOURCE.rglob("__init__.py")) if "lazy_names(" in path.read_text()]
CALLERS = [path for layer in ("web", "cli") for path in sorted((SOURCE / layer).rglob("*.py"))]


def typed_imports() -> dict[str, str]:
    """Return the module that the type checker takes each public name from."""
    return {
        name.name: (node.module or "")
        for node in ast.walk(ast.parse(Path(library.__file__).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearsong.library.")
        for name in node.names
    }


@pytest.mark.parametrize("name", library.__all__)
def test_every_public_name_of_the_library_can_be_imported(name):
    assert getattr(library, name) is not None


def lazy_imports(package: Path) -> dict[str, str]:
    """Return the module, relative to a package, that each of its names comes from when it is first used."""
    calls = [node for node in ast.walk(ast.parse(package.read_text())) if isinstance(node, ast.Call)]
    (modules,) = [ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "lazy_names"]
    return {name: module for module, names in modules.items() for name in names}


def test_types_and_lazy_imports_agree():
    homes = lazy_imports(Path(library.__file__))
    assert typed_imports() == {name: f"nearsong.library.{homes[name]}" for name in library.__all__}


@pytest.mark.parametrize("package", LAZY, ids=lambda path: str(path.parent.relative_to(SOURCE)))
def test_no_name_is_also_a_module(package):
    """An import of the module would replace the name."""
    modules = {path.stem for path in package.parent.iterdir()}
    assert modules.isdisjoint(lazy_imports(package))


@pytest.mark.parametrize("path", CALLERS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_web_and_cli_import_the_library_as_one(path):
    modules = [
        node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    assert [module for module in modules if module.startswith("nearsong.library.")] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = library.nothing
