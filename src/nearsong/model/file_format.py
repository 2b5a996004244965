"""A model <-> one file: an ``.npz`` of plain arrays with a JSON header, a version and a checksum; no pickle."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.errors import InvalidInputError, ModelFileError
from nearsong.model.plain_arrays import array_names, read_array
from nearsong.validation import MAX_LEARNED

FORMAT = "nearsong model"
VERSION = 4
_HEADER = "header"

MAX_REASON_CHARACTERS = 300
"""Length of a message about the content of a file."""

Arrays = Mapping[str, npt.NDArray[Any]]
Model = TypeVar("Model")


def save_file(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to a file, which is replaced atomically."""
    signed = _signed(header, arrays)
    try:
        with atomic_write(path) as file:
            _write(file, signed, arrays)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{os.fspath(path)}: cannot be written ({reason}); check the folder.") from error


def to_bytes(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes that :func:`save_file` would write."""
    file = io.BytesIO()
    _write(file, _signed(header, arrays), arrays)
    return file.getvalue()


def load_bytes(data: bytes, build: Callable[[Mapping[str, Any], Arrays], Model]) -> Model:
    """Read and check bytes of :func:`to_bytes`, as :func:`load_file` does."""
    return _built(io.BytesIO(data), "a stored model", build)


def load_file(path: str | os.PathLike[str], build: Callable[[Mapping[str, Any], Arrays], Model]) -> Model:
    """Read and check a file, and return ``build(header, arrays)``."""
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
        _check_numbers(header, arrays)
        return build(header, arrays)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        reason = " ".join(str(error)[:MAX_REASON_CHARACTERS].split())  # it may quote what a forged file says
        raise ModelFileError(f"{name}: its parts do not fit together ({reason}); train it again.") from error


def _check_numbers(header: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise if a number is not finite or so large that embeddings would overflow."""
    for key, array in arrays.items():
        if array.dtype.kind not in "iuf" or not array.dtype.isnative:
            raise InvalidInputError(f"the array {key} has the type {array.dtype.str}")
        if array.size and not np.abs(array, dtype=np.float64).max() <= MAX_LEARNED:  # NaN is not, either
            raise InvalidInputError(f"the array {key} has a number that is not finite or beyond {MAX_LEARNED:g}")
    described = {key: value for key, value in header.items() if key != "trained_on"}
    if any(abs(number) > MAX_LEARNED for number in _numbers(described)):
        raise InvalidInputError(f"the header has a number beyond {MAX_LEARNED:g}")


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in JSON, however deep."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)


def _signed(header: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the header with format, version and checksum."""
    try:
        text = _canonical({"format": FORMAT, "version": VERSION, **header})
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"trained_on cannot be written as JSON ({error}); use numbers, strings and lists."
        ) from error
    signed: dict[str, Any] = json.loads(text)
    signed["checksum"] = checksum(signed, arrays)
    return signed


def _write(file: Any, signed: Mapping[str, Any], arrays: Arrays) -> None:
    np.savez(file, **{_HEADER: _bytes_of(_canonical(signed))}, **arrays)  # type: ignore[arg-type]


def _read(file: Any, path: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    foreign = ModelFileError(
        f"{path}: is not a nearsong model, or is truncated; give a file written by SimilarityModel.save."
    )
    damaged = ModelFileError(f"{path}: was changed or damaged after it was written; copy it again or train it again.")
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            # our files are never compressed, so that none can expand in memory
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
        is_intact = header.pop("checksum", None) == checksum(header, arrays)
    except ModelFileError:
        raise
    except Exception as error:  # damaged bytes raise all kinds of errors
        raise damaged from error
    if not is_intact:
        raise damaged
    return header, arrays


def _other_version(path: str, version: Any) -> ModelFileError:
    shown = str(version)[:40]
    if isinstance(version, int) and version > VERSION:
        return ModelFileError(
            f"{path}: has format {shown}, written by a newer nearsong; this one reads {VERSION}, so upgrade it."
        )
    return ModelFileError(f"{path}: has format {shown!r}, which this nearsong does not read; train it again.")


def _parse(array: npt.NDArray[Any]) -> dict[str, Any] | None:
    try:
        header = json.loads(array.tobytes().decode())
    except (ValueError, UnicodeDecodeError):
        return None
    return header if isinstance(header, dict) else None


def _canonical(header: Mapping[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _bytes_of(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def checksum(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return a checksum of everything in a model file."""
    digest = hashlib.sha256(_canonical(header).encode())
    for name in sorted(arrays):
        _add_array(digest, name, arrays[name])
    return digest.hexdigest()


def fingerprint(vectors: npt.NDArray[Any], *relations: Any) -> str:
    """Return a hash of training data: the same for the same songs and the same relations."""
    import scipy.sparse as sp  # trainings only; readers need none

    digest = hashlib.sha256()
    _add_array(digest, "histograms", vectors)
    for relation in relations:
        if relation is not None and not sp.issparse(relation) and np.ndim(relation) == 1:
            _add_array(digest, "labels", np.unique(relation, return_inverse=True)[1].astype(np.int64))
        elif relation is not None:
            matrix = sp.csr_array(relation, copy=True)  # canonicalised in place below
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            matrix.sort_indices()
            _add_array(digest, "pointers", matrix.indptr.astype(np.int64))
            _add_array(digest, "indices", matrix.indices.astype(np.int64))
    return digest.hexdigest()[:16]


def _add_array(digest: Any, name: str, array: npt.NDArray[Any]) -> None:
    digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
