"""An open SQLite file -> whether its path still refers to it.

While a file is open it can be moved, or another file can replace it under the same path (a restored backup, for
example). Writes then go to the old file, which may no longer have a path. SQLite finds the write-ahead log by path
and would apply the old log to the new file and corrupt it, so the old log is unlinked before the new file is opened.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from nearsong.errors import DatabaseError

_LOG_SUFFIXES = ("-wal", "-shm")
FileId = tuple[int, int]


class OpenedFile:
    """Identity (device and inode) of a SQLite file and its logs at the time it was opened.

    Parameters
    ----------
    path : Path
        The library file. It is kept open so that the inodes of the file and its logs are not reused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("SELECT count(*) FROM sqlite_master").close()  # makes SQLite open the log
        self._file_id = _file_id(path)
        self._logs = {name: _file_id(name) for name in (f"{path}{ending}" for ending in _LOG_SUFFIXES)}

    def is_current(self) -> bool:
        """Return whether the path still refers to the file that was opened; True if that cannot be determined.

        Raises
        ------
        DatabaseError
            If the path does not exist.
        """
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            shown = os.fsencode(self.path).decode("utf-8", "replace")
            raise DatabaseError(f"the library file {shown} is missing; restore it.", shown, transient=True) from None
        except OSError:
            return True  # the next query reports the error
        return (status.st_dev, status.st_ino) == self._file_id

    def unlink_logs(self) -> None:
        """Unlink the logs of the old file, but not those of a new file at the same paths.

        Processes that have the logs open keep working. Their content is written back to the old file, which may still
        exist under another path.
        """
        for name, number in self._logs.items():
            if number is not None and _file_id(name) == number:
                with contextlib.suppress(OSError):
                    os.unlink(name)
        self._logs = {}  # their inodes may be reused
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").close()

    def close(self) -> None:
        """Close the connection that keeps the file open."""
        self._connection.close()


def _file_id(path: str | Path) -> FileId | None:
    """Return device and inode of a file, or None; they are not reused as long as the file is open."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
