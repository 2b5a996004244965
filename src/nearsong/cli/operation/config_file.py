"""``nearsong.toml`` -> its sections, or an error that names the file and the line."""

import os
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from nearsong.errors import InvalidInputError

FILE_NAME = "nearsong.toml"
CONFIG_VARIABLE = "NEARSONG_CONFIG"


def default_config() -> Path:
    """Return the config file of this user; it need not exist.

    There is none in the current folder: a folder of music may hold files of strangers.
    """
    import platformdirs

    return Path(platformdirs.user_config_dir("nearsong")) / FILE_NAME


def read_config(path: Path | None) -> tuple[Path | None, dict[str, Any]]:
    """Return the file that applies, if any, and what is in it.

    Parameters
    ----------
    path : Path or None
        The file that was asked for, which must exist; None for :func:`default_config`, which need not.
    """
    file = default_config() if path is None else path.expanduser()
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if path is None:
            return None, {}
        raise InvalidInputError(f"config file not found: {file}.") from None
    except OSError as error:
        if path is None and isinstance(error, PermissionError):
            return None, {}  # the home folder of another user, as under sudo
        raise InvalidInputError(f"{file} cannot be read ({error.strerror}).") from None
    try:
        return file, tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InvalidInputError(f"{file} is not UTF-8; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        words = str(error).replace(" (at ", ", at ").rstrip(")")
        raise InvalidInputError(f"{file} is not valid TOML: {words[:1].lower()}{words[1:]}.") from None


def unknown(file: Path | str, what: str, key: str, known: list[str]) -> InvalidInputError:
    """Return the error about a name that means nothing, with the nearest one that does."""
    near = get_close_matches(key.replace("_", "-"), known, n=1)
    advice = f"did you mean {near[0]}?" if near else "see `nearsong config --all`."
    return InvalidInputError(f"{os.fspath(file)}: {what} {key} is unknown; {advice}")
