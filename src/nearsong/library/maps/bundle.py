"""Scripts and style sheets of the service's page -> text to put inside one HTML file.

The exported map is the map of the service: the same ES modules and the same style sheets, read as package data from
``nearsong/web/static``. No code of the service is imported.
"""

import posixpath
import re
from importlib import resources

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|class|function\*?) (\w+))", re.MULTILINE)


def static_text(path: str) -> str:
    """Return a file of the page, such as ``css/map.css``."""
    return resources.files("nearsong").joinpath("web", "static", *path.split("/")).read_text(encoding="utf-8")


def bundle(entry: str) -> str:
    """Return an ES module and all it imports as one plain script: each module a function, dependencies first.

    Modules may only use named imports and named exports of functions, classes and constants.
    """
    order: dict[str, str] = {}
    _collect(entry, order, ())
    return '"use strict";\nconst modules = {};\n' + "".join(order.values())


def _collect(path: str, order: dict[str, str], parents: tuple[str, ...]) -> None:
    """Append a module's function to ``order`` after those of its imports."""
    if path in order:
        return
    if path in parents:
        raise ValueError(f"modules import each other: {' -> '.join([*parents, path])}")
    text = static_text(f"js/{path}")
    for _, target in _IMPORT.findall(text):
        _collect(_resolve(path, target), order, (*parents, path))
    names = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(lambda found: _import_statement(path, *found.groups()), text))
    order[path] = f'modules["{path}"] = (() => {{\n{body}return {{ {names} }};\n}})();\n'


def _resolve(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _import_statement(path: str, names: str, target: str) -> str:
    """Return the statement that takes imported names from a bundled module."""
    return f'const {{{names}}} = modules["{_resolve(path, target)}"];\n'
