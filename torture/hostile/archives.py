"""Names -> listening histories that ask for a lot: bombs, deep nesting, giant fields, archives that reach outside."""

import bz2
import gzip
import io
import json
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable

from torture.hostile.histories import HistoryFile

MIB = 1 << 20
_HEADER = b"user,artist,title,plays,time\n"
_ROW = b"ann,Band A0,Song 1,3,1600000000\n"


def gzip_of(piece: bytes, times: int, head: bytes = b"") -> bytes:
    """Return gzip of a piece many times over, at once: members may follow each other."""
    return (gzip.compress(head) if head else b"") + gzip.compress(piece, 9) * times


def zip_of(members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip; names are written as they are."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return file.getvalue()


def zip_bomb(name: bytes, head: bytes, piece: bytes, times: int) -> bytes:
    """Return a zip of one member, a piece many times over, at once: compressed once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packed += (packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)) * times + b"\x03\x00"
    checksum = zlib.crc32(head)
    for _ in range(times):
        checksum = zlib.crc32(piece, checksum)
    facts = struct.pack(
        "<HHHHHIIIHH", 20, 0, 8, 0, 33, checksum, len(packed), len(head) + times * len(piece), len(name), 0
    )
    local = b"PK\x03\x04" + facts + name + packed
    entry = b"PK\x01\x02\x14\x03" + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    return local + entry + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)


def _zip_link() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("listens.csv")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../secret.txt")
    return file.getvalue()


def _zip_patched(old: bytes, new: bytes) -> bytes:
    return zip_of({"listens.csv": _HEADER + _ROW * 50}).replace(old, new)


def _nested_zip(depth: int) -> bytes:
    data = _HEADER + _ROW * 10
    for _ in range(depth):
        data = zip_of({"inner.zip": data, "listens.csv": _HEADER + _ROW})
    return data


def _overlapping_zip() -> bytes:
    """Return a zip in which thousands of entries share one member's bytes."""
    data = zip_of({"a.csv": _HEADER + _ROW * 20_000})
    at = data.find(b"PK\x01\x02")
    entry = data[at : data.find(b"PK\x05\x06")]
    n_entries = 300
    entries = b"".join(entry.replace(b"a.csv", b"%c.csv" % (97 + number % 26)) for number in range(n_entries))
    end = bytearray(data[data.find(b"PK\x05\x06") :])
    end[8:10] = end[10:12] = n_entries.to_bytes(2, "little")
    end[12:16] = len(entries).to_bytes(4, "little")
    return data[:at] + entries + bytes(end)


def billion_laughs(n_levels: int = 12) -> bytes:
    """Return a playlist whose title is entities of entities, and one that names a file."""
    entities = "".join(
        f'<!ENTITY e{level + 1} "{"".join(f"&e{level};" for _ in range(10))}">' for level in range(n_levels)
    )
    text = f'<?xml version="1.0"?><!DOCTYPE playlist [<!ENTITY e0 "ha"><!ENTITY file SYSTEM "file:///etc/passwd">{entities}]>'
    return (
        text + f'<playlist xmlns="http://xspf.org/ns/0/"><title>&e{n_levels};&file;</title><trackList/></playlist>'
    ).encode()


def _deep(open_: str, close: str, depth: int) -> str:
    return open_ * depth + close * depth


def _parquet_bomb() -> bytes:
    """Return a table of few bytes: a giant name in the dictionary, said twenty thousand times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * MIB]))
    file = io.BytesIO()
    pq.write_table(pa.table({"artist": names}), file, compression="zstd", row_group_size=20_000, store_schema=False)
    return file.getvalue()


def _parquet_wide() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"artist": ["x"], **{f"c{number}": [1] for number in range(5_000)}}), file)
    return file.getvalue()


def _records(value: str, n: int = 3) -> bytes:
    return ("[" + ",".join('{"artist": %s, "user": "a", "plays": 1}' % value for _ in range(n)) + "]").encode()  # noqa: UP031


BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros.csv.gz": lambda: gzip_of(bytes(MIB), 4_096),
    "one-line.csv.gz": lambda: gzip_of(b"a" * MIB, 2_048, _HEADER),
    "empty-lines.csv.gz": lambda: gzip_of(b"\n" * MIB, 8, _HEADER + _ROW),
    "one-record.json.gz": lambda: gzip_of(b"a" * MIB, 2_048, b'[{"artist": "'),
    "one-playlist.jspf.gz": lambda: gzip_of(b"a" * MIB, 2_048, b'{"playlist": {"title": "'),
    "spaces.json.gz": lambda: gzip_of(b" " * MIB, 512, b'{"listens": '),
    "nested.csv.gz": lambda: gzip.compress(gzip.compress(gzip_of(_ROW, 50, _HEADER))),
    "bomb.zip": lambda: zip_bomb(b"listens.csv", _HEADER, b"b" * MIB, 1_024),
    "bomb.csv.bz2": lambda: bz2.compress(_HEADER + bytes(32 * MIB)),
    "bomb.csv.xz": lambda: lzma.compress(_HEADER + bytes(32 * MIB)),
    "bzip2.zip": lambda: zip_of({"listens.csv": _HEADER + b"b" * (32 * MIB)}, compression=zipfile.ZIP_BZIP2),
    "lzma.zip": lambda: zip_of({"listens.csv": _HEADER + b"b" * (32 * MIB)}, compression=zipfile.ZIP_LZMA),
    "outside.zip": lambda: zip_of(
        {"../../outside.csv": _HEADER + _ROW, "/tmp/absolute.csv": _HEADER + _ROW, "a\0b.csv": _HEADER}
    ),
    "link.zip": _zip_link,
    "matryoshka.zip": lambda: _nested_zip(40),
    "zip-of-bombs.zip": lambda: zip_of(
        dict.fromkeys(map("{}.zip".format, range(50)), zip_bomb(b"listens.csv", _HEADER, b"b" * MIB, 1_024))
    ),
    "zip-in-zip-bomb.zip": lambda: zip_bomb(b"inner.zip", b"PK\x03\x04", bytes(MIB), 1_024),
    "overlapping.zip": _overlapping_zip,
    "many.zip": lambda: zip_of({f"{number}.csv": b"" for number in range(120_000)}, compression=zipfile.ZIP_STORED),
    "version.zip": lambda: _zip_patched(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xff"),
    "method.zip": lambda: zip_of({"listens.csv": _HEADER + _ROW}).replace(b"\x08\0", b"\x63\0"),
    "encrypted.zip": lambda: _zip_patched(b"\x14\0\0\0\x08\0", b"\x14\0\x01\0\x08\0"),
    "not-utf8.zip": lambda: _zip_patched(b"listens.csv", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9.csv").replace(
        b"\x14\0\0\0\x08\0", b"\x14\0\0\x08\x08\0"
    ),
    "user.zip": lambda: zip_of(
        {"user.json": b'{"username": ' + _deep("[", "]", 100_000).encode() + b"}", "listens.csv": _HEADER + _ROW}
    ),
    "laughs.xspf": billion_laughs,
    "laughs-wide.xspf": lambda: billion_laughs().decode().encode("utf-16"),
    "deep.xspf": lambda: ("<playlist>" + _deep("<a>", "</a>", 200_000) + "</playlist>").encode(),
    "deep.json": lambda: _records(_deep("[", "]", 100_000)),
    "deep-objects.json": lambda: _records(_deep('{"name":', "}", 100_000).replace(":}", ":1}", 1)),
    "deep.jsonl": lambda: (b'{"artist": "a"}\n' + b'{"artist": ' + _deep("[", "]", 100_000).encode() + b"}\n") * 5,
    "long-number.json": lambda: _records("1" * 200_000),
    "giant-field.csv": lambda: _HEADER + b"ann," + b"x" * (10 * MIB) + b",Song,1,1\n" + _ROW * 10,
    "giant-quoted.csv": lambda: _HEADER + b'ann,"' + b"x\n" * (5 * MIB) + b'",Song,1,1\n' + _ROW * 10,
    "giant-field.json": lambda: _records(json.dumps("\U0001f3b5" * (3 * MIB))),
    "columns.csv": lambda: (
        (",".join(["artist", *(f"c{number}" for number in range(100_000))]) + "\n").encode()
        + b"x," * 100_000
        + b"x\n"
    ),
    "commas.csv": lambda: _HEADER + (b"," * 100_000 + b"\n") * 100,
    "spaces-before.json": lambda: b" " * 65_000 + b"[" + b'{"artist": "a"}]',
    "spaces-in-time.json": lambda: json.dumps([{"artist": "a", "time": "1" + " " * 200_000 + "x"}] * 5).encode(),
    "spaces-in-time.csv": lambda: _HEADER + (b"ann,Band,Song,1,1" + b" " * 100_000 + b"x\n") * 5,
    "digits.m3u8": lambda: b"#EXTM3U\n" + b"#EXTINF:" + b"1" * 200_000 + b"\nx.mp3\n",
    "dashes.m3u8": lambda: b"#EXTM3U\n" + b"#EXTINF:1," + b" -" * 200_000 + b"\n" + b" - " * 100_000 + b"x.mp3\n",
    "attributes.m3u8": lambda: b"#EXTM3U\n" + b"#EXTINF:1" + b' a=""' * 100_000 + b"\nx.mp3\n",
    "numbers.pls": lambda: b"[playlist]\n" + b"File" + b"1" * 200_000 + b"=x\n" + b"Title1 " + b" " * 200_000 + b"\n",
    "giant-page.parquet": _parquet_bomb,
    "wide.parquet": _parquet_wide,
}
"""File name -> content."""

SMOKE_BOMBS = (
    "zeros.csv.gz",
    "one-record.json.gz",
    "many.zip",
    "version.zip",
    "not-utf8.zip",
    "outside.zip",
    "laughs.xspf",
    "deep.json",
    "deep-objects.json",
    "spaces-before.json",
    "spaces-in-time.json",
    "digits.m3u8",
    "giant-page.parquet",
    "giant-field.csv",
    "user.zip",
)


def make_bomb(name: str) -> HistoryFile:
    """Return a bomb by its name."""
    return HistoryFile(name=name, data=BOMBS[name](), rows=0)
