"""A process -> a folder for the sockets of its workers and a name for their semaphores, both known as its own.

`multiprocessing` names them in ways that say neither whose they are nor whether they are in use, and has no public
setting for it. Where its private settings are not as expected, or cannot be used, its own names stay.
"""

import contextlib
import os
import threading
from multiprocessing import process, util
from pathlib import Path
from typing import Any

from nearsong.temporary import SEMAPHORES_FOLDER, SEMAPHORES_PREFIX, WORKERS_PREFIX, LockedFolder, remove_leftovers

MAX_FOLDER_BYTES = 80
"""The path of a socket is at most 103 bytes on some systems, and its name takes some of them."""

_EXIT_PRIORITY = -100  # after the workers and semaphores, as for the folder of multiprocessing itself

_lock = threading.Lock()
_prepared_process: int | None = None


def prepare_process_files() -> None:
    """Let what `multiprocessing` creates for this process be removed by the next start if this process is killed.

    To be called before worker processes start; also removes what other processes have left.
    """
    global _prepared_process
    with _lock:
        if _prepared_process == os.getpid():
            return
        _prepared_process = os.getpid()
        remove_leftovers()
        settings: Any = getattr(process.current_process(), "_config", None)
        if os.name != "posix" or not isinstance(settings, dict):
            return
        with contextlib.suppress(OSError):  # no space: multiprocessing says so if it matters
            _set_folder(settings)
        with contextlib.suppress(OSError):
            _set_semaphore_names(settings)


def _set_folder(settings: dict[str, Any]) -> None:
    """Use a locked folder, unless there is one already that was not inherited from a process of nearsong's."""
    present = settings.get("tempdir")
    if present is not None and not _name_of(present).startswith(WORKERS_PREFIX):
        return
    folder = LockedFolder(WORKERS_PREFIX)
    if len(os.fsencode(folder.path)) > MAX_FOLDER_BYTES:
        folder.close()
        return
    settings["tempdir"] = str(folder.path)
    util.Finalize(None, folder.close, exitpriority=_EXIT_PRIORITY)


def _set_semaphore_names(settings: dict[str, Any]) -> None:
    present = settings.get("semprefix")
    if present is None or not (present == "/mp" or _name_of(present).startswith(SEMAPHORES_PREFIX)):
        return
    if not SEMAPHORES_FOLDER.is_dir():
        return
    folder = LockedFolder(SEMAPHORES_PREFIX, SEMAPHORES_FOLDER)
    settings["semprefix"] = f"/{folder.path.name}"
    util.Finalize(None, folder.close, exitpriority=_EXIT_PRIORITY)


def _name_of(path: object) -> str:
    return Path(str(path)).name
