"""Paths and names as people have them -> text that every database holds, and back."""

import hashlib
import re

_ESCAPE = "\U0010fffd"
_UNSTORABLE = re.compile(f"[\0\ud800-\udfff{_ESCAPE}]")
_STORED = re.compile(f"{_ESCAPE}([0-9a-f]{{6}})")
_LOST = re.compile("[\0\ud800-\udfff]")


def path_to_text(path: str) -> str:
    r"""Return a path as a database can hold it; bytes that are no UTF-8 are written in hexadecimal.

    >>> path_to_text("Björk/Jóga.mp3")
    'Björk/Jóga.mp3'
    >>> text_to_path(path_to_text("Bj\udcf6rk.mp3")) == "Bj\udcf6rk.mp3"
    True
    """
    return path if path.isascii() and "\0" not in path else _UNSTORABLE.sub(_escaped, path)


def text_to_path(text: str) -> str:
    """Return the path that :func:`path_to_text` was given."""
    return text if text.isascii() else _STORED.sub(lambda found: chr(int(found[1], 16)), text)


def _escaped(found: re.Match[str]) -> str:
    return f"{_ESCAPE}{ord(found[0]):06x}"


def path_key(path: str) -> bytes:
    """Return what a path is found by: databases index short keys only."""
    return key_of(path_to_text(path).encode())


def clean_text(text: str) -> str:
    r"""Return a text that every database holds: without NUL, and without halves of characters.

    >>> clean_text("a\0b\ud800")
    'ab?'
    """
    if text.isascii():
        return text.replace("\0", "")
    return _LOST.sub(lambda found: "" if found[0] == "\0" else "?", text)


def key_of(data: bytes) -> bytes:
    """Return 16 bytes that stand for any number of them."""
    return hashlib.blake2b(data, digest_size=16).digest()
