"""A model file + a generator -> forgeries of it: changed bytes, changed arrays with valid checksums, bombs."""

import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from nearsong.model.file_format import checksum
from torture.hostile.archives import zip_bomb
from torture.hostile.mutations import MUTATIONS
from torture.hostile.songs import Song

Random = np.random.Generator
Arrays = dict[str, np.ndarray]


class Payload:
    """Creates a file if anybody unpickles it."""

    def __init__(self, canary: str) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (self.canary, "w"))


def read_model(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a well-formed model file."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    del header["checksum"]
    return header, arrays


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    """Return an array as a file of its own."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def npy_with(description: str, body: bytes = b"", version: bytes = b"\1\0") -> bytes:
    """Return an array file with any header."""
    text = description.encode("latin-1") + b" " * 8 + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\1\0" else 4, "little") + text + body


def packed(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip of members, in order; names may repeat and lead anywhere."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore")  # names that repeat
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return file.getvalue()


def signed(header: dict[str, Any], arrays: Arrays) -> list[tuple[str, bytes]]:
    """Return the members of a model file with a valid checksum, as a forger would make it."""
    header = header | {"checksum": checksum(header, arrays)}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    members = [("header.npy", npy(np.frombuffer(text, np.uint8)))]
    return members + [(f"{name}.npy", npy(array)) for name, array in arrays.items()]


def _some(arrays: Arrays, random: Random) -> str:
    return sorted(arrays)[int(random.integers(len(arrays)))]


def changed_values(header: dict[str, Any], arrays: Arrays, random: Random) -> list[tuple[str, bytes]]:
    """One array of zeros, NaN, infinity, huge or tiny numbers, in whole or in one place."""
    name = _some(arrays, random)
    array = arrays[name].copy()
    value = random.choice([0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e38, 1e-320, -1.0])
    with np.errstate(all="ignore"):
        if array.dtype.kind not in "fc":
            array = array.astype(array.dtype) * 0 + (
                np.array([int(value)]).astype(array.dtype)
                if np.isfinite(value) and abs(value) < 2**31
                else array.dtype.type(1)
            )
        elif random.random() < 0.5 or array.size == 0:
            array[...] = value
        else:
            array.reshape(-1)[int(random.integers(array.size))] = value
    return signed(header, arrays | {name: array})


def changed_form(header: dict[str, Any], arrays: Arrays, random: Random) -> list[tuple[str, bytes]]:
    """One array of another type or shape, lacking or too many."""
    name = _some(arrays, random)
    array = arrays[name]
    forms: list[Callable[[], Arrays]] = [
        lambda: {name: array.astype("S8") if array.dtype.kind in "US" else array.astype(np.complex128)},
        lambda: {name: array.astype(np.float16)},
        lambda: {name: array.astype(">f8")},
        lambda: {name: array.astype(np.uint8)},
        lambda: {name: array[..., None]},
        lambda: {name: array.reshape(-1)},
        lambda: {name: array[:0]},
        lambda: {name: array[:-1]},
        lambda: {name: np.zeros((0, 7))},
        lambda: {name: np.zeros((3, 2**20))},
        lambda: {name: np.array(1.0)},
        lambda: {name: np.asfortranarray(array)},
        lambda: {"stranger": np.zeros(3)},
    ]
    new = forms[int(random.integers(len(forms)))]()
    with np.errstate(all="ignore"):
        kept = {key: value for key, value in arrays.items() if random.random() > 0.02}
    return signed(header, kept | new)


def changed_header(header: dict[str, Any], arrays: Arrays, random: Random) -> list[tuple[str, bytes]]:
    """One value of the header that is of another kind, absurd or lacking."""
    header = json.loads(json.dumps(header))
    places = list(_places(header))
    holder, key = places[int(random.integers(len(places)))]
    values: list[Any] = [
        None,
        -1,
        0,
        1,
        2**31,
        2**63,
        1e308,
        "",
        "x" * 100_000,
        [],
        {},
        [[]] * 1000,
        True,
        "../../x",
        {"a": {"b": 1}},
    ]
    if random.random() < 0.15:
        del holder[key]
    else:
        holder[key] = values[int(random.integers(len(values)))]
    return signed(header, arrays)


def _places(value: Any) -> Any:
    """Yield every place of a document: its holder and its key."""
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


def crafted(header: dict[str, Any], arrays: Arrays, canary: str) -> dict[str, bytes]:
    """Return forgeries that each try one trick."""
    members = signed(header, arrays)
    name = sorted(arrays)[0]
    others = [member for member in members if member[0] != f"{name}.npy"]
    objects = np.array([Payload(canary)], dtype=object)
    deep = ("[" * 100_000 + "]" * 100_000).encode()
    plain = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"

    def instead(data: bytes) -> bytes:
        return packed([*others, (f"{name}.npy", data)])

    def header_of(text: bytes) -> bytes:
        return packed([("header.npy", npy(np.frombuffer(text, np.uint8))), *members[1:]])

    return {
        "pickle in an array": instead(npy(objects, allow_pickle=True)),
        "pickle as an array": instead(pickle.dumps(Payload(canary))),
        "pickle as the file": pickle.dumps(Payload(canary)),
        "pickle as the header": packed([("header.npy", npy(objects, allow_pickle=True)), *members[1:]]),
        "code in a header": instead(npy_with(f"__import__('os').open({canary!r}, 65)")),
        "record type": instead(
            npy_with("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8))
        ),
        "shape of 2^62": instead(npy_with(plain % ("<f8", f"({2**62},)"), bytes(64))),
        "shape that overflows": instead(npy_with(plain % ("<f8", f"({2**32}, {2**32}, 0)"))),
        "shape of a million axes": instead(
            npy_with(plain % ("<f8", "(" + "1, " * 1_000_000 + ")"), bytes(8), b"\2\0")
        ),
        "shape of 2^40 zeros": instead(npy_with(plain % ("<f8", f"({2**40}, 0)"))),
        "item of 2^31 bytes": instead(npy_with(plain % ("S2147483647", "(0,)"))),
        "header of 4 GB": instead(b"\x93NUMPY\2\0" + b"\xff\xff\xff\xff" + b"x" * 100),
        "zip bomb": _zip_bomb(),
        "compressed": packed(members, zipfile.ZIP_DEFLATED),
        "compressed bomb": _array_bomb(name, others),
        "names that repeat": packed([*members, *members]),
        "names that lead outside": packed(
            [*members, ("../../outside.npy", npy(np.zeros(2))), ("/tmp/outside.npy", npy(np.zeros(2)))]
        ),
        "a hundred thousand members": packed([*members, *((f"m{number}.npy", b"") for number in range(100_000))]),
        "deep header": header_of(deep),
        "deep object": header_of(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        "long number": header_of(b'{"format": ' + b"1" * 1_000_000 + b"}"),
        "header of NaN": header_of(b'{"format": NaN, "version": Infinity}'),
        "header that is no text": header_of(b"\xff\xfe\xfd"),
        "header of 60 MB": header_of(b'{"format": "' + b"x" * (60 << 20) + b'"}'),
        "newer version": packed(signed(header | {"version": 99}, arrays)),
        "absurd version": packed(signed(header | {"version": "x" * 100_000}, arrays)),
        "empty": b"",
        "end of a zip only": b"PK\x05\x06" + bytes(18),
        "not a zip": b"PK\x03\x04" + b"\xff" * 1000,
    }


def _zip_bomb() -> bytes:
    """Return a zip whose header unpacks to gigabytes."""
    return zip_bomb(b"header.npy", b"", bytes(1 << 20), 3_000)


def _array_bomb(name: str, others: list[tuple[str, bytes]]) -> bytes:
    """Return a model file of which one array is compressed, and has 2 GiB."""
    n_numbers = 1 << 28
    head = npy_with(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n_numbers},), }}")
    file = io.BytesIO(zip_bomb(f"{name}.npy".encode(), head, bytes(1 << 20), n_numbers * 8 >> 20))
    with zipfile.ZipFile(file, "a") as archive:
        for other, data in others:
            archive.writestr(zipfile.ZipInfo(other), data)
    return file.getvalue()


def forge(model: bytes, random: Random) -> tuple[str, bytes]:
    """Return a forgery, and how it was made."""
    choice = random.random()
    if choice < 0.25:
        kind = list(MUTATIONS)[int(random.integers(len(MUTATIONS)))]
        return kind, MUTATIONS[kind](model, [Song(ending="npz", data=model)], random)
    header, arrays = read_model(model)
    make = changed_values if choice < 0.55 else changed_form if choice < 0.75 else changed_header
    return make.__name__, packed(make(header, arrays, random))
