"""Scripts, style sheets and fonts of the service's page -> text to put inside one HTML file.

The exported map is the map of the service: the same ES modules and the same style sheets, read as package data from
``nearsong/web/static``. No code of the service is imported.
"""

import base64
import re
from importlib import resources

from nearsong.script_bundle import plain_script

_FONT = re.compile(r'url\("\.\./(fonts/[^"]+\.woff2)"\)')


def static_bytes(path: str) -> bytes:
    """Return a file of the page, such as ``fonts/inter-latin.woff2``."""
    return resources.files("nearsong").joinpath("web", "static", *path.split("/")).read_bytes()


def static_text(path: str) -> str:
    """Return a text of the page, such as ``css/map.css``."""
    return static_bytes(path).decode("utf-8")


def style_sheet(path: str) -> str:
    """Return a style sheet with its fonts inside it."""

    def inside(found: re.Match[str]) -> str:
        return f'url("data:font/woff2;base64,{base64.b64encode(static_bytes(found[1])).decode("ascii")}")'

    return _FONT.sub(inside, static_text(path))


def bundle(entry: str) -> str:
    """Return an ES module and all it imports as one plain script."""
    return plain_script(entry, lambda path: static_text(f"js/{path}"))
