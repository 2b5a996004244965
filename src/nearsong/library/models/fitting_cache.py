"""Samples that were read and encoders that were fitted -> files, so that a fit that is killed continues.

They are kept in the library's cache folder until the library has stored its encoders. An entry has the name of a hash
of everything that determines it and a checksum, and contains no pickle; one that is damaged is ignored. Where nothing
can be written, nothing is kept, and a killed fit starts again.
"""

import hashlib
import json
import os
import shutil
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.atomic_write import atomic_write
from nearsong.audio import FrameFeatures, Frames
from nearsong.errors import AudioError, DatabaseError, LibraryError, UnreadableAudioError
from nearsong.model import SongEncoder
from nearsong.model.encoders import encoder_class, read_encoder
from nearsong.model.plain_arrays import array_names, read_array
from nearsong.temporary import remove_unfinished

FOLDER_NAME = "fitting"
SAMPLE_SUFFIX = ".sample"
ENCODER_SUFFIX = ".encoder"

MAX_BYTES = 512 << 20
"""Total size of all entries; 600 songs take 152 MB with the default encoders."""

MIN_FREE_BYTES = 1 << 30
"""Space that is left to others, such as the library itself."""

MAX_AGE_SECONDS = 7 * 86_400.0
"""Older entries are of a scan that nobody continued."""

_FORMAT = 1
_REASON = "reason"
_KEY = "key"
Sample = dict[str, Frames]


class FittingCache:
    """What a fit of encoders has done so far.

    Parameters
    ----------
    folder : Path
        The library's cache folder; it may not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER_NAME
        self._n_bytes = _tidy(self._folder)

    # ---- samples

    def sample_key(self, path: str, features: Sequence[FrameFeatures], *, seed: int, seconds: float) -> str | None:
        """Return a hash of what determines the sample of a file as it is now; None if there is no such file."""
        try:
            facts = os.stat(path)
        except (OSError, ValueError):
            return None
        kinds = sorted(kind.key for kind in features)
        return _hash(["sample", os.fsencode(path).hex(), facts.st_size, facts.st_mtime_ns, seed, seconds, kinds])

    def sample(self, key: str, path: str, features: Sequence[FrameFeatures]) -> Sample | AudioError | None:
        """Return the sample of a file, or why it has none; None if it was not read yet."""
        file = self._folder / f"{key}{SAMPLE_SUFFIX}"
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = {name: read_array(archive, name) for name in array_names(archive)}
            if _text(arrays[_KEY]) != key:
                return None  # the entry of another file
            result = _sample_of(arrays, path, sorted(kind.key for kind in features))
        except Exception:  # a damaged file may raise anything; it counts as missing
            return None
        _touch(file)
        return result

    def put_sample(self, key: str, result: Sample | AudioError) -> None:
        """Keep the sample of a file, or why it cannot be read."""
        if isinstance(result, AudioError):
            arrays: dict[str, npt.NDArray[Any]] = {_REASON: _bytes(result.reason)}
        else:
            arrays = {str(number): result[kind] for number, kind in enumerate(sorted(result))}
        self._write(f"{key}{SAMPLE_SUFFIX}", {_KEY: _bytes(key), **arrays})

    # ---- encoders

    def encoder_key(
        self, name: str, features: FrameFeatures, samples: Sequence[str | None], *, seed: int
    ) -> str | None:
        """Return a hash of what determines a fitted encoder, samples by their keys; None if one has no key."""
        if None in samples:
            return None
        return _hash(["encoder", name, encoder_class(name).version, features.key, seed, list(samples)])

    def encoder(self, key: str, name: str) -> SongEncoder | None:
        """Return a fitted encoder; None if it was not fitted yet."""
        file = self._folder / f"{key}{ENCODER_SUFFIX}"
        try:
            encoder = read_encoder(file.read_bytes())
        except Exception:  # as for a sample
            return None
        if encoder.name != name:
            return None
        _touch(file)
        return encoder

    def put_encoder(self, key: str, encoder: SongEncoder) -> None:
        """Keep a fitted encoder."""
        self._write(f"{key}{ENCODER_SUFFIX}", encoder.to_bytes())

    # ---- files

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Clear it at the end, also if files cannot be used, which the next fit tries again; not if interrupted."""
        if error is None or (isinstance(error, LibraryError) and not isinstance(error, DatabaseError)):
            self.clear()

    def clear(self) -> None:
        """Remove everything: the library has its encoders, or there can be none.

        Another fit in the same folder reads its samples again if it is killed now.
        """
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, name: str, content: bytes | Mapping[str, npt.NDArray[Any]]) -> None:
        size = len(content) if isinstance(content, bytes) else sum(array.nbytes for array in content.values())
        file = self._folder / name
        with suppress(OSError):  # without it, a killed fit starts again
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._n_bytes + size > MAX_BYTES or shutil.disk_usage(self._folder).free < MIN_FREE_BYTES + size:
                return
            with atomic_write(file) as stream:
                if isinstance(content, bytes):
                    stream.write(content)
                else:
                    np.savez(stream, **content)  # type: ignore[arg-type]
            self._n_bytes += size


def _sample_of(arrays: Mapping[str, npt.NDArray[Any]], path: str, kinds: list[str]) -> Sample | AudioError:
    if _REASON in arrays:
        return UnreadableAudioError(path, _text(arrays[_REASON]))
    frames = [arrays[str(number)] for number in range(len(kinds))]
    if not all(array.dtype == np.float32 and array.ndim == 2 and len(array) for array in frames):
        raise ValueError("these are no frames")
    return dict(zip(kinds, frames, strict=True))


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def _text(data: npt.NDArray[Any]) -> str:
    return data.tobytes().decode()


def _hash(facts: list[Any]) -> str:
    from nearsong import __version__  # here, as it imports everything

    return hashlib.sha256(json.dumps([_FORMAT, __version__, *facts]).encode()).hexdigest()[:32]


def _touch(file: Path) -> None:
    with suppress(OSError):
        os.utime(file)  # the least recently used entries are removed first


def _tidy(folder: Path) -> int:
    """Remove old entries, and the least recently used ones above half of the limit; return the size of the rest."""
    remove_unfinished(folder)
    n_bytes = 0
    with suppress(OSError):
        entries = [(file.stat(), file) for file in folder.iterdir() if file.suffix in (SAMPLE_SUFFIX, ENCODER_SUFFIX)]
        for facts, file in sorted(entries, key=lambda entry: entry[0].st_mtime, reverse=True):
            if time.time() - facts.st_mtime > MAX_AGE_SECONDS or n_bytes + facts.st_size > MAX_BYTES // 2:
                file.unlink(missing_ok=True)
            else:
                n_bytes += facts.st_size
    return n_bytes
