"""A library -> a backup, one SQLite file with all of its tables; and a backup -> a library."""

from nearsong.library.store.backup.restoring import check_backup, restore
from nearsong.library.store.backup.writing import write_backup

__all__ = ["check_backup", "restore", "write_backup"]
