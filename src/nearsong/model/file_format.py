"""A model <-> one file: an ``.npz`` of plain arrays with a JSON header, a version and a checksum; no pickle."""

import contextlib
import hashlib
import io
import json
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, ModelFileError
from nearsong.model.plain_arrays import array_names, read_array

FORMAT = "nearsong model"
VERSION = 1
_HEADER = "header"

Arrays = Mapping[str, npt.NDArray[Any]]
Model = TypeVar("Model")


def save_file(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to a file, by way of another one beside it that takes its place when complete."""
    signed = _signed(header, arrays)
    target = Path(os.path.realpath(path)) if "\0" not in os.fspath(path) else Path(path)  # through links
    folder = target.parent
    name = folder / f".{target.name}.{secrets.token_hex(6)}.part"
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{target}: cannot be written ({reason}); check the folder.") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write(file, signed, arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except OSError as error:
        raise ModelFileError(f"{target}: cannot be written ({error.strerror}); check the folder and disk.") from error
    finally:
        name.unlink(missing_ok=True)
    _sync_folder(folder)


def to_bytes(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes that :func:`save_file` would write."""
    file = io.BytesIO()
    _write(file, _signed(header, arrays), arrays)
    return file.getvalue()


def load_bytes(data: bytes, build: Callable[[Mapping[str, Any], Arrays], Model]) -> Model:
    """Read what :func:`to_bytes` made, as :func:`load_file` does."""
    return _built(io.BytesIO(data), "a model kept in the library", build)


def load_file(path: str | os.PathLike[str], build: Callable[[Mapping[str, Any], Arrays], Model]) -> Model:
    """Read a file, refuse it if anything is wrong, and return what ``build(header, arrays)`` makes of it."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - only a failure to open it is to be caught here
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{os.fspath(path)}: cannot be opened ({reason}); check the path.") from error
    with file:
        return _built(file, os.fspath(path), build)


def _built(file: Any, name: str, build: Callable[[Mapping[str, Any], Arrays], Model]) -> Model:
    header, arrays = _read(file, name)
    try:
        return build(header, arrays)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: its parts do not fit together ({error}); train it anew.") from error


def _signed(header: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the header with format, version and checksum."""
    try:
        text = _canonical({"format": FORMAT, "version": VERSION, **header})
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"trained_on cannot be written as JSON ({error}); use numbers, texts and lists."
        ) from error
    facts: dict[str, Any] = json.loads(text)
    facts["checksum"] = _checksum(facts, arrays)
    return facts


def _write(file: Any, signed: Mapping[str, Any], arrays: Arrays) -> None:
    np.savez(file, **{_HEADER: _bytes_of(_canonical(signed))}, **arrays)  # type: ignore[arg-type]


def _read(file: Any, path: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    foreign = ModelFileError(
        f"{path}: is not a nearsong model, or was cut short; give a file that SimilarityModel.save wrote."
    )
    damaged = ModelFileError(f"{path}: was changed or damaged after it was written; copy it again or train anew.")
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            # our files are never compressed, so that none can grow beyond its size while it is read
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise foreign
            if f"{_HEADER}.npy" not in names:
                raise foreign
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise foreign from error
    try:
        with zipfile.ZipFile(file) as archive:
            header = _parse(read_array(archive, _HEADER))
            if header is None or header.get("format") != FORMAT:
                raise foreign
            version = header.get("version")
            if version != VERSION:
                raise _other_version(path, version)
            arrays = {name: read_array(archive, name) for name in array_names(archive) if name != _HEADER}
        whole = header.pop("checksum", None) == _checksum(header, arrays)
    except ModelFileError:
        raise
    except Exception as error:  # damaged bytes raise of everything
        raise damaged from error
    if not whole:
        raise damaged
    return header, arrays


def _other_version(path: str, version: Any) -> ModelFileError:
    if isinstance(version, int) and version > VERSION:
        return ModelFileError(
            f"{path}: has format {version}, written by a newer nearsong; this one reads {VERSION}, so upgrade it."
        )
    return ModelFileError(f"{path}: has format {version!r}, which this nearsong does not read; train it anew.")


def _parse(array: npt.NDArray[Any]) -> dict[str, Any] | None:
    try:
        header = json.loads(array.tobytes().decode())
    except (ValueError, UnicodeDecodeError):
        return None
    return header if isinstance(header, dict) else None


def _canonical(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _bytes_of(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _checksum(header: Mapping[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(_canonical(header).encode())
    for name in sorted(arrays):
        _add_array(digest, name, arrays[name])
    return digest.hexdigest()


def fingerprint(histograms: npt.NDArray[Any], *relations: Any) -> str:
    """Return a short name for training data: the same for the same songs and the same relations."""
    digest = hashlib.sha256()
    _add_array(digest, "histograms", histograms)
    for relation in relations:
        if relation is not None and not sp.issparse(relation) and np.ndim(relation) == 1:
            _add_array(digest, "labels", np.unique(relation, return_inverse=True)[1].astype(np.int64))
        elif relation is not None:
            matrix = sp.csr_array(relation, copy=True)  # what follows writes into it
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            matrix.sort_indices()
            _add_array(digest, "pointers", matrix.indptr.astype(np.int64))
            _add_array(digest, "indices", matrix.indices.astype(np.int64))
    return digest.hexdigest()[:16]


def _add_array(digest: Any, name: str, array: npt.NDArray[Any]) -> None:
    digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # the file is there; this is for the worst case only
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
