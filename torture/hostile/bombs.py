"""Names -> small files that ask for a lot: of memory, of time, of nesting, of space."""

import os
import socket
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pictures
from torture.hostile.songs import Song, monkeys_audio, png

MIB, GIB = 1 << 20, 1 << 30
EXTREME = 2**32 - 1

Songs = dict[str, bytes]
"""Well-formed songs by extension."""
Bomb = Callable[[Songs], Song]


def deflated_zeros(n_bytes: int) -> bytes:
    """Return a zlib stream of zeros, at once: one compressed piece, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    n_pieces = n_bytes // MIB
    adler = ((n_pieces * MIB % 65_521) << 16) | 1
    return b"\x78\x9c" + piece * n_pieces + b"\x03\x00" + struct.pack(">I", adler)


def _synchsafe(number: int) -> bytes:
    return bytes((number >> shift) & 127 for shift in (21, 14, 7, 0))


def id3_frame(name: bytes, data: bytes, *, unpacked: int | None = None, declared: int | None = None) -> bytes:
    """Return a frame of ID3v2.4, compressed if its unpacked size is given."""
    if unpacked is not None:
        data = _synchsafe(min(unpacked, 2**28 - 1)) + data
    flags = b"\0\x09" if unpacked is not None else b"\0\0"
    return name + _synchsafe(len(data) if declared is None else declared) + flags + data


def with_id3(frames: bytes, audio: bytes, declared: int | None = None) -> bytes:
    """Return audio with an ID3v2.4 tag before it."""
    return b"ID3\x04\0\0" + _synchsafe(len(frames) if declared is None else declared) + frames + audio


def with_ape(items: bytes, audio: bytes, size: int | None = None, count: int = 1) -> bytes:
    """Return audio with an APEv2 tag after it, of whatever declared size."""
    size = len(items) + 32 if size is None else size
    return audio + items + b"APETAGEX" + struct.pack("<IIII8x", 2000, size, count, 0)


def ape_item(key: bytes, value: bytes, declared: int | None = None) -> bytes:
    """Return an item of an APEv2 tag, of whatever declared size."""
    return struct.pack("<II", len(value) if declared is None else declared, 2) + key + b"\0" + value


def with_cover(picture: bytes, audio: bytes) -> bytes:
    """Return audio with a picture in an ID3v2.4 tag."""
    return with_id3(id3_frame(b"APIC", b"\0image/png\0\x03\0" + picture), audio)


def wav(rate: int, channels: int, bits: int, declared: int, data: bytes, kind: int = 1) -> bytes:
    """Return a WAV file with whatever it declares."""
    align = min(channels * bits // 8, 0xFFFF)
    head = struct.pack(
        "<4sI4s4sIHHIIHH",
        b"RIFF",
        EXTREME,
        b"WAVE",
        b"fmt ",
        16,
        kind,
        channels,
        rate,
        min(rate * align, EXTREME),
        align,
        bits,
    )
    return head + struct.pack("<4sI", b"data", declared) + data


def _flac_picture(declared: int, picture: bytes, audio: bytes) -> bytes:
    """Return a FLAC file with a picture block that declares any number of bytes."""
    block = struct.pack(">II", 3, 9) + b"image/png" + struct.pack(">IIIIII", 0, 60, 40, 24, 0, declared) + picture
    head = struct.pack(">I", (6 << 24) | min(len(block), 2**24 - 1))
    return audio[:42] + head + block + audio[42:]


def _ogg_page(data: bytes, granule: int) -> bytes:
    """Return an Ogg file whose pages all claim one granule position, with valid checksums."""
    pages = bytearray(data)
    at = 0
    while (at := data.find(b"OggS", at)) >= 0 and at + 27 <= len(data):
        n_segments = data[at + 26]
        size = 27 + n_segments + sum(data[at + 27 : at + 27 + n_segments])
        if at:
            pages[at + 6 : at + 14] = struct.pack("<q", granule)
        pages[at + 22 : at + 26] = bytes(4)
        pages[at + 22 : at + 26] = struct.pack("<I", _ogg_checksum(bytes(pages[at : at + size])))
        at += size
    return bytes(pages)


_OGG_TABLE = []
for _index in range(256):
    _value = _index << 24
    for _ in range(8):
        _value = (_value << 1) ^ (0x04C11DB7 if _value & 0x80000000 else 0)
    _OGG_TABLE.append(_value & 0xFFFFFFFF)


def _ogg_checksum(page: bytes) -> int:
    value = 0
    for byte in page:
        value = ((value << 8) & 0xFFFFFFFF) ^ _OGG_TABLE[(value >> 24) ^ byte]
    return value


def nested_atoms(depth: int, name: bytes = b"moov", inner: bytes = b"") -> bytes:
    """Return MP4 atoms inside each other."""
    heads = b"".join(struct.pack(">I", 8 * (depth - level) + len(inner)) + name for level in range(depth))
    return b"\0\0\0\x14ftypM4A \0\0\0\0M4A " + heads + inner


def _giant_atom(data: bytes, name: bytes, size: int) -> bytes:
    at = data.find(name)
    return data[: at - 4] + struct.pack(">I", size) + data[at:] if at >= 4 else data


def _jpeg(width: int, height: int) -> bytes:
    data = bytearray(pictures.RED)
    at = data.find(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def _many_scans() -> bytes:
    data = pictures.painted(size=(2000, 2000), progressive=True)
    at = data.rfind(b"\xff\xda")
    return data[:at] + data[at:-2] * 2000 + data[-2:]


def _gif(width: int, height: int, n_frames: int = 1) -> bytes:
    data = pictures.painted("GIF", mode="L", colour=5)
    head, body = bytearray(data[:-1]), data[data.find(b",") : -1]
    head[6:10] = struct.pack("<HH", width, height)
    at = head.find(b",")
    head[at + 5 : at + 9] = struct.pack("<HH", width, height)
    return bytes(head) + body * (n_frames - 1) + b";"


def _webp(width: int, height: int) -> bytes:
    data = bytearray(pictures.painted("WEBP", lossless=True))
    at = data.find(b"VP8L") + 9
    bits = int.from_bytes(data[at : at + 4], "little") & 0xF0000000
    data[at : at + 4] = struct.pack("<I", bits | (width - 1) | ((height - 1) << 14))
    return bytes(data)


def _id3_zlib(name: bytes, songs: Songs) -> Song:
    packed = deflated_zeros(2 * GIB)
    return Song(ending="mp3", data=with_id3(id3_frame(name, packed, unpacked=2 * GIB), songs["mp3"]))


def _id3_in_wav(songs: Songs) -> Song:
    tag = with_id3(id3_frame(b"TPE1", deflated_zeros(2 * GIB), unpacked=2 * GIB), b"")
    body = songs["wav"][12:] + b"id3 " + struct.pack("<I", len(tag)) + tag
    return Song(ending="wav", data=b"RIFF" + struct.pack("<I", len(body) + 4) + b"WAVE" + body)


def _flac_bomb(songs: Songs) -> Song:
    picture = png(60_000, 60_000, deflated_zeros(3 * GIB))
    return Song(ending="flac", data=_flac_picture(len(picture), picture, songs["flac"]))


def _ebml_size(data: bytes, element: bytes) -> bytes:
    at = data.find(element)
    return data[: at + len(element)] + b"\x01" + b"\xff" * 6 + b"\xfe" + data[at + len(element) + 8 :]


def _mp3(make: Callable[[bytes], bytes]) -> Bomb:
    return lambda songs: Song(ending="mp3", data=make(songs["mp3"]))


def _covered(picture: Callable[[], bytes]) -> Bomb:
    return lambda songs: Song(ending="mp3", data=with_cover(picture(), songs["mp3"]))


def _wav(**facts: int) -> Bomb:
    return lambda songs: Song(ending="wav", data=wav(data=songs["wav"][44:], **facts))


BOMBS: dict[str, Bomb] = {
    "compressed ID3 text": lambda songs: _id3_zlib(b"TIT2", songs),
    "compressed ID3 comment": lambda songs: _id3_zlib(b"COMM", songs),
    "compressed ID3 cover": lambda songs: _id3_zlib(b"APIC", songs),
    "compressed ID3 in WAV": _id3_in_wav,
    "ID3 of 256 MB declared": _mp3(
        lambda audio: with_id3(id3_frame(b"TIT2", b"\3x", declared=2**28 - 1), audio, 2**28 - 1)
    ),
    "many ID3 frames": _mp3(lambda audio: with_id3(id3_frame(b"TXXX", b"\3a\0b") * 200_000, audio)),
    "giant APIC": _mp3(lambda audio: with_cover(pictures.BLUE + bytes(60 * MIB), audio)),
    "APEv2 of 4 GB declared": _mp3(lambda audio: with_ape(ape_item(b"Title", b"x"), audio, size=EXTREME)),
    "APEv2 with 4 billion items": _mp3(lambda audio: with_ape(ape_item(b"Title", b"x"), audio, count=EXTREME)),
    "APEv2 item of 4 GB": _mp3(lambda audio: with_ape(ape_item(b"Cover Art (Front)", b"x", EXTREME), audio)),
    "PNG cover bomb": _covered(lambda: png(60_000, 60_000, deflated_zeros(3 * GIB))),
    "PNG cover of one line": _covered(lambda: png(2**31 - 1, 1, deflated_zeros(2 * GIB))),
    "PNG cover within the limits": _covered(lambda: png(4000, 4000, deflated_zeros(2 * GIB))),
    "JPEG cover bomb": _covered(lambda: _jpeg(65_500, 65_500)),
    "JPEG cover of many scans": _covered(_many_scans),
    "GIF cover bomb": _covered(lambda: _gif(65_535, 65_535)),
    "GIF cover of many frames": _covered(lambda: _gif(3_900, 3_900, 300)),
    "WebP cover bomb": _covered(lambda: _webp(16_384, 16_384)),
    "FLAC picture of 4 GB": lambda songs: Song(ending="flac", data=_flac_picture(EXTREME, b"x", songs["flac"])),
    "FLAC picture bomb": _flac_bomb,
    "Vorbis at the last granule": lambda songs: Song(ending="ogg", data=_ogg_page(songs["ogg"], 2**63 - 1)),
    "Vorbis before the first granule": lambda songs: Song(ending="ogg", data=_ogg_page(songs["ogg"], -(2**62))),
    "Opus of 6 million years": lambda songs: Song(ending="opus", data=_ogg_page(songs["opus"], 2**63 - 1)),
    "MP4 atoms 100,000 deep": lambda songs: Song(ending="m4a", data=nested_atoms(100_000)),
    "MP4 metadata 5,000 deep": lambda songs: Song(ending="m4a", data=nested_atoms(5_000, b"udta")),
    "AAC in an atom of 4 GB": lambda songs: Song(ending="m4a", data=_giant_atom(songs["m4a"], b"mdat", EXTREME)),
    "ALAC with 4 billion samples": lambda songs: Song(
        ending="m4a", data=_giant_atom(songs["alac.m4a"], b"stsz", EXTREME)
    ),
    "MP4 index of 4 GB": lambda songs: Song(ending="m4a", data=_giant_atom(songs["m4a"], b"moov", 2**31 - 1)),
    "WAV of 2^32-1 samples at 1 Hz": _wav(rate=1, channels=1, bits=8, declared=EXTREME),
    "WAV at 384 kHz": _wav(rate=384_000, channels=1, bits=16, declared=EXTREME),
    "WAV at 2^32-1 Hz": _wav(rate=EXTREME, channels=1, bits=16, declared=EXTREME),
    "WAV of 255 channels": _wav(rate=44_100, channels=255, bits=32, declared=EXTREME, kind=3),
    "WAV of 65,535 channels": _wav(rate=44_100, channels=65_535, bits=16, declared=EXTREME),
    "WAV at 1 Hz, 65,535 channels": _wav(rate=1, channels=65_535, bits=8, declared=EXTREME),
    "Matroska of 2^56 bytes": lambda songs: Song(ending="mka", data=_ebml_size(songs["mka"], b"\x18\x53\x80\x67")),
    "Matroska codec data of 2^56 bytes": lambda songs: Song(ending="mka", data=_ebml_size(songs["mka"], b"\x63\xa2")),
    "Monkey's Audio of 4 billion frames": lambda songs: Song(ending="ape", data=monkeys_audio(EXTREME, EXTREME)),
    "Monkey's Audio of giant blocks": lambda songs: Song(ending="ape", data=monkeys_audio(1, 4, EXTREME)),
}


def make_special(folder: Path) -> None:
    """Put in a folder what is named like songs and is none: pipes, sockets, links, folders."""
    os.mkfifo(folder / "pipe.mp3")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(folder, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{here}/socket.flac")  # a path of any length
        finally:
            os.close(here)
    links = {
        "loop.mp3": "loop.mp3",
        "device.mp3": "/dev/zero",
        "nowhere.ogg": "nothing.ogg",
        "pipe-link.wav": "pipe.mp3",
        "up": "..",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    (folder / "folder.mp3").mkdir()
    (folder / "cover.png").symlink_to("/dev/zero")
    os.mkfifo(folder / "folder.jpg")


def make_sparse(path: Path, head: bytes, n_bytes: int = 8 * GIB) -> None:
    """Write a file that is large and takes no space."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(n_bytes)
