"""ES modules of the page -> one script: each module a function, dependencies first.

A browser takes longer to ask for sixty small files than to run them. Modules may only use named imports and named
exports of functions, classes and constants, and must not import each other in a circle.
"""

import posixpath
import re
from collections.abc import Callable, Iterable

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|class|function\*?) (\w+))", re.MULTILINE)
_LOADED_LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')
_REGISTRY = "nearsongModules"

Read = Callable[[str], str]
"""The path of a module, such as ``core/dom.js`` -> its text."""


def imported_modules(entry: str, read: Read) -> list[str]:
    """Return the paths of a module and of all it imports, dependencies first.

    Raises
    ------
    ValueError
        If modules import each other.
    """
    order: dict[str, None] = {}
    _collect(entry, read, order, ())
    return list(order)


def loaded_later(paths: Iterable[str], read: Read) -> set[str]:
    """Return the modules that some modules load on demand, by ``import("...")``."""
    return {_resolve(path, target) for path in paths for target in _LOADED_LATER.findall(read(path))}


def plain_script(entry: str, read: Read) -> str:
    """Return a module and all it imports as a plain script, for a page of its own."""
    parts = [f'modules["{path}"] = {_function(path, read)};\n' for path in imported_modules(entry, read)]
    return '"use strict";\nconst modules = {};\n' + "".join(parts)


def module_script(entry: str, read: Read, base: str, without: Iterable[str] = ()) -> str:
    """Return a module and all it imports as one module with the same exports.

    Several of them on one page share each module that more than one has: whichever runs first makes it.

    Parameters
    ----------
    entry : str
    read : callable
    base : str
        Address of the folder of all modules, without a slash at its end.
    without : iterable of str
        Modules that a script on the page has already.
    """
    left_out = set(without)
    parts = [
        f'modules["{path}"] ??= {_function(path, read, base)};\n'
        for path in imported_modules(entry, read)
        if path not in left_out
    ]
    exports = ", ".join(name for _, name in _EXPORT.findall(read(entry)))
    last = f'export const {{ {exports} }} = modules["{entry}"];\n' if exports else ""
    return f"const modules = (globalThis.{_REGISTRY} ??= {{}});\n{''.join(parts)}{last}"


def _collect(path: str, read: Read, order: dict[str, None], parents: tuple[str, ...]) -> None:
    """Append a module to ``order`` after its imports."""
    if path in order:
        return
    if path in parents:
        raise ValueError(f"modules import each other: {' -> '.join([*parents, path])}")
    for _, target in _IMPORT.findall(read(path)):
        _collect(_resolve(path, target), read, order, (*parents, path))
    order[path] = None


def _function(path: str, read: Read, base: str = "") -> str:
    """Return a call of a function that runs a module and returns what it exports."""
    text = read(path)
    names = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _IMPORT.sub(lambda found: _import_statement(path, *found.groups()), text)
    body = _LOADED_LATER.sub(lambda found: f'import("{base}/{_resolve(path, found[1])}")', _EXPORT.sub(r"\1", body))
    return f"(() => {{\n{body}return {{ {names} }};\n}})()"


def _resolve(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _import_statement(path: str, names: str, target: str) -> str:
    """Return the statement that takes imported names from a module that ran before."""
    return f'const {{{names.replace(" as ", ": ")}}} = modules["{_resolve(path, target)}"];\n'
