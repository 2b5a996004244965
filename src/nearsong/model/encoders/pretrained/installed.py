"""The user's folder of encoders that were installed: weights that do not come with nearsong."""

import os
from pathlib import Path

import platformdirs

from nearsong.errors import EncoderNotInstalledError

ENVIRONMENT = "NEARSONG_ENCODERS"
"""Variable that names another folder."""


def encoders_folder() -> Path:
    """Return the folder of installed encoders; it may not exist yet."""
    return Path(os.environ.get(ENVIRONMENT) or Path(platformdirs.user_data_dir("nearsong")) / "encoders")


def installed_file(name: str, encoder: str, command: str, folder: Path | None = None) -> Path:
    """Return a file of an installed encoder, or raise with the command that installs it."""
    path = (folder or encoders_folder()) / name
    if not path.is_file():
        raise EncoderNotInstalledError(f"The encoder {encoder} is not installed. Run: {command}")
    return path


def make_folder() -> Path:
    """Return the folder of installed encoders, created if necessary."""
    folder = encoders_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EncoderNotInstalledError(
            f"{folder} cannot be created ({error.strerror}); set {ENVIRONMENT} to another folder."
        ) from error
    return folder
