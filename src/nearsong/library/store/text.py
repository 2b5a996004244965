"""Arbitrary paths and names -> text that SQLite and PostgreSQL can store, and back."""

import hashlib
import re
from collections.abc import Iterable, Sequence

_ESCAPE = "\U0010fffd"
_UNSTORABLE = re.compile(f"[\0\ud800-\udfff{_ESCAPE}]")
_ESCAPED_CHARACTER = re.compile(f"{_ESCAPE}([0-9a-f]{{6}})")
_INVALID_CHARACTERS = re.compile("[\0\ud800-\udfff]")


def path_to_text(path: str) -> str:
    r"""Return a path as text that a database can store; bytes that are not UTF-8 are escaped in hexadecimal.

    >>> path_to_text("Björk/Jóga.mp3")
    'Björk/Jóga.mp3'
    >>> text_to_path(path_to_text("Bj\udcf6rk.mp3")) == "Bj\udcf6rk.mp3"
    True
    """
    return path if path.isascii() and "\0" not in path else _UNSTORABLE.sub(_escaped, path)


def text_to_path(text: str) -> str:
    """Return the original path; the inverse of :func:`path_to_text`."""
    return text if text.isascii() else _ESCAPED_CHARACTER.sub(lambda match: chr(int(match[1], 16)), text)


def _escaped(match: re.Match[str]) -> str:
    return f"{_ESCAPE}{ord(match[0]):06x}"


def path_key(path: str) -> bytes:
    """Return the lookup key of a path, short enough for an index."""
    return key_of(path_to_text(path).encode())


def clean_text(text: str) -> str:
    r"""Return text that every database can store: without NUL, and with lone surrogates replaced.

    >>> clean_text("a\0b\ud800")
    'ab?'
    """
    if text.isascii():
        return text.replace("\0", "")
    return _INVALID_CHARACTERS.sub(lambda match: "" if match[0] == "\0" else "?", text)


def cleaned(texts: Sequence[str]) -> Sequence[str]:
    """Return `clean_text` of each; all of them are searched at once, since hardly any text needs it."""
    return texts if _INVALID_CHARACTERS.search("".join(texts)) is None else [clean_text(text) for text in texts]


def key_of(data: bytes) -> bytes:
    """Return a 16-byte hash."""
    return hashlib.blake2b(data, digest_size=16).digest()


def keys_of(texts: Iterable[str]) -> list[bytes]:
    """Return the 16-byte hash of each text."""
    hashed = hashlib.blake2b
    return [hashed(text.encode(), digest_size=16).digest() for text in texts]
