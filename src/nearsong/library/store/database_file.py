"""A SQLite file that was opened -> whether its name still leads to it.

A file can be moved away, or another one can take its name (a backup that is put back, say), while it is open. What is
written then goes to the old one, which may have no name any more. Its write-ahead log goes by the name and would be
taken for that of the new file, which it would damage; so it has to go with the old one.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from nearsong.errors import DatabaseError

_LOGS = ("-wal", "-shm")
Number = tuple[int, int]


class OpenedFile:
    """A file as it was when it was opened.

    Parameters
    ----------
    path : Path
        That of a library. It is kept open, so that nothing else gets the number that the file or its log is known by.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("SELECT count(*) FROM sqlite_master").close()  # opens the log
        self._number = _number(path)
        self._logs = {name: _number(name) for name in (f"{path}{ending}" for ending in _LOGS)}

    def is_itself(self) -> bool:
        """Say whether the name leads to the file that was opened; as good as certainly, where nobody can tell.

        Raises
        ------
        DatabaseError
            If it leads nowhere.
        """
        try:
            found = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            shown = os.fsencode(self.path).decode("utf-8", "replace")
            raise DatabaseError(f"the library file {shown} is gone; put it back.", shown, passing=True) from None
        except OSError:
            return True  # the database says what is wrong
        return (found.st_dev, found.st_ino) == self._number

    def leave(self) -> None:
        """Take the names from the logs of the file; those of another one stay.

        Whoever has them open goes on. What is in them goes into the file, which may be kept under another name.
        """
        for name, number in self._logs.items():
            if number is not None and _number(name) == number:
                with contextlib.suppress(OSError):
                    os.unlink(name)
        self._logs = {}  # their numbers may be given to others
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").close()

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()


def _number(path: str | Path) -> Number | None:
    """Return what a file is known by as long as somebody has it open."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
