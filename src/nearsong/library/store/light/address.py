"""The address of a library -> its file, without opening it."""

import os

from nearsong.errors import InvalidInputError, LibraryError

ENVIRONMENT = "NEARSONG_LIBRARY"
FILE_NAME = "library.sqlite"


def default_address() -> str:
    """Return the default library address: NEARSONG_LIBRARY if set, else a file in the user's data folder."""
    if address := os.environ.get(ENVIRONMENT):
        return address
    import platformdirs

    return os.path.join(platformdirs.user_data_dir("nearsong"), FILE_NAME)


def is_file_address(text: str) -> bool:
    """Return whether an address is a path; otherwise it is a URL, or a mistaken one."""
    return "://" not in text and not text.startswith(("postgres:", "postgresql:", "sqlite:"))


def file_of(text: str) -> str:
    """Return the file that a path means: itself, or the library in a folder."""
    if not text.strip() or "\0" in text:
        raise InvalidInputError(f"--library {text!r} is not a valid path; give a file, a folder or a URL.")
    path = os.path.abspath(os.path.expanduser(text))
    return os.path.join(path, FILE_NAME) if os.path.isdir(path) or text.endswith(("/", os.sep)) else path


def shown_path(path: str) -> str:
    """Return a path that is safe to display, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def not_found(name: str) -> LibraryError:
    """Return the error for an address without a library."""
    return LibraryError(f"library not found: {name}; create one with `nearsong scan FOLDER`.")
