"""What listening services have in common: the names of their histories, user names, keys from the environment."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull.http_json import HttpJson, JsonAnswer
from nearsong.listens.json_records import LeftOut, ListenRow
from nearsong.listens.numbering import clean

MAX_NAME_LENGTH = 200

MAX_HEARTS = 100_000
MAX_HEART_PAGES = 2_000


class ListenService(Protocol):
    """A service that lists the listens of a user, the newest first.

    Attributes
    ----------
    format, name, fingerprint : str
        Of the history.
    user : str
        Name of the user on the service.
    host : str
        For messages.
    max_depth : int
        Largest ``depth`` that :meth:`listens` knows.
    """

    format: str
    name: str
    fingerprint: str
    user: str
    host: str
    max_depth: int

    def listens(self, after: int, before: int | None, depth: int) -> list[Any]:
        """Return a page of records with times below ``before``; it may go on below ``after``.

        A ``depth`` above 0 asks for more than the page that was full of listens of one second.
        """

    def row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a record; any error means that it cannot be read."""

    def hearts(self) -> Iterator[Sequence[Any]]:
        """Yield pages of records of hearts."""

    def heart_row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a heart."""


def checked_name(text: str, what: str) -> str:
    """Return a user name without white space around it, or raise ``InvalidInputError``."""
    name = clean(text)
    if not 0 < len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInputError(f"{what} needs 1 to {MAX_NAME_LENGTH} printable characters; got {len(name)}.")
    return name


def secret_of(variable: str) -> str:
    """Return a key, token or password from the environment, empty if there is none."""
    return os.environ.get(variable, "").strip()


def checked_key(variable: str) -> str:
    """Return a key from the environment that can be sent in a header or URL."""
    key = secret_of(variable)
    if not key.isascii() or not key.isprintable() or " " in key or len(key) > MAX_NAME_LENGTH:
        raise InvalidInputError(f"the environment variable {variable} does not hold a key; copy it again.")
    return key


def fingerprint_of(format: str, url: str, user: str) -> str:
    """Return what identifies the history of a user of a server."""
    return hashlib.sha256(f"pulled|{format}|{url}|{user}".encode()).hexdigest()


def part_of(server: HttpJson, value: Any, *names: str, kind: type[Any] = dict) -> Any:
    """Return a part of an answer, or raise ``ListensError`` if it is not there or of another kind."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, kind):
        raise ListensError(f"{server.host} answers without {'.'.join(names)}; check the URL.")
    return value


def refused(server: HttpJson, answer: JsonAnswer, text: Any, advice: str) -> ListensError:
    """Return the error for a request that a server refused, with its own words."""
    words = server.shown(text) if isinstance(text, str) and text else f"HTTP {answer.status}"
    return ListensError(f"{server.host} refuses: {words.rstrip('.')}; {advice}")
