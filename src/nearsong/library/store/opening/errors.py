"""An error of a database driver -> what is wrong with the library, in one line, and what to do."""

from typing import NamedTuple

from nearsong.errors import DatabaseError, DiskFullError

UNREACHABLE = "cannot be reached right now"
BUSY = "is in use by another program; try again later."
_FULL = "cannot be written: the disk is full. Free some space and try again; nothing is lost."

_WORDS = (
    (("locked", "busy", "lock timeout"), BUSY),
    (("not a database",), "is not a nearsong library; choose another file with --library."),
    (("malformed", "corrupt", "could not decode"), "is damaged; restore a backup, or scan into a new library."),
    (
        ("unable to open",),
        "cannot be opened; check the path, its permissions and the disk, or choose another with --library.",
    ),
    (("readonly", "read-only"), "is read-only and cannot be changed; check its permissions and those of its folder."),
    (("disk is full", "no space left", "disk quota"), _FULL),
    (("authentication failed", "no password supplied"), "rejected the user name or the password; check the URL."),
)
"""Parts of messages of SQLite and PostgreSQL in lower case -> the words for the user."""

_FULL_CODES = ("53100", "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""PostgreSQL's `disk_full`, and what SQLite says where no space is left for data or for its shared memory."""


class Reason(NamedTuple):
    """What is wrong with a library: words that follow its name, and the error to raise."""

    words: str
    transient: bool = False
    kind: type[DatabaseError] = DatabaseError
    is_unknown: bool = False


def reason_of(error: BaseException | None, is_sqlite: bool) -> Reason:
    """Return what an error of a driver means.

    Examples
    --------
    >>> import sqlite3
    >>> reason_of(sqlite3.OperationalError("database is locked"), is_sqlite=True)[:2]
    ('is in use by another program; try again later.', True)
    """
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    lowered = str(error).lower()
    found = (words for patterns, words in _WORDS if any(pattern in lowered for pattern in patterns))
    words = _FULL if code in _FULL_CODES else next(found, None)
    if words is not None:
        return Reason(words, words == BUSY, DiskFullError if words == _FULL else DatabaseError)
    advice = "check the disk." if is_sqlite else "check the URL, and that the server is running."
    return Reason(f"cannot be used ({first_line(str(error))}); {advice}", is_unknown=True)


def first_line(text: str) -> str:
    """Return the first line of a message, without the full stop."""
    return next((line.strip().rstrip(".") for line in text.splitlines() if line.strip()), "no reason given")
