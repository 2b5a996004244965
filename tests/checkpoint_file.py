"""Checkpoints as TensorFlow writes them, and a wheel of musicnn with random weights in one."""

import hashlib
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nearsong.model.encoders.pretrained import musicnn_weights
from random_weights import random_weights


def _varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Write entries, each key without the prefix it shares with the one before."""
    written, last = b"", b""
    for key, value in entries:
        shared = next((i for i, pair in enumerate(zip(key, last, strict=False)) if pair[0] != pair[1]), 0)
        rest = key[shared:]
        written += _varint(shared) + _varint(len(rest)) + _varint(len(value)) + rest + value
        last = key
    return written + struct.pack("<II", 0, 1)


def checkpoint_bytes(arrays: dict[str, np.ndarray], kind: int = 1) -> tuple[bytes, bytes]:
    """Write a checkpoint as TensorFlow does: index and data."""
    data, entries = b"", [(b"", b"\x08\x01")]
    for name, array in sorted(arrays.items()):
        sizes = b"".join(b"\x12" + _varint(len(d := b"\x08" + _varint(size))) + d for size in array.shape)
        raw = array.astype("<f4").tobytes()
        value = b"\x08" + _varint(kind) + b"\x12" + _varint(len(sizes)) + sizes
        value += b"\x20" + _varint(len(data)) + b"\x28" + _varint(len(raw)) + b"\x35" + bytes(4)
        entries.append((name.encode(), value))
        data += raw
    half = len(entries) // 2
    index, handles = b"", []
    for part in (entries[:half], entries[half:]):
        content = _block(part)
        handles.append((part[-1][0] + b"~", _varint(len(index)) + _varint(len(content))))
        index += content + bytes(5)
    content = _block(handles)
    footer = _varint(0) + _varint(0) + _varint(len(index)) + _varint(len(content))
    index += content + bytes(5) + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
    return index, data


def musicnn_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a wheel of musicnn with random weights, and make its hashes the known ones."""
    contents = checkpoint_bytes({**random_weights(), "adam/slot": np.ones(3)})
    files = dict(zip(musicnn_weights.HASHES, contents, strict=True))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(musicnn_weights, "HASHES", hashes)
    with zipfile.ZipFile(folder / "musicnn.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return folder / "musicnn.whl"
