"""Ranges of audio, sensible and not -> answers compared byte by byte with the file."""

import os
import re
from email.utils import formatdate
from pathlib import Path

import numpy as np
import numpy.typing as npt

from torture.attack import Figures, check
from torture.wire.client import Client, Reply, loopback_address
from torture.wire.target import Target

MAX_PARTS = 20
_SPAN = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


def abuse_ranges(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Ask for ranges of songs; valid ones come exactly, others are ignored or refused."""
    client = Client(target.service, loopback_address(random))
    counts = {"whole": 0, "one range": 0, "several ranges": 0, "refused": 0}
    for _ in range(n):
        song = int(random.integers(len(target.songs)))
        path = target.songs[song]
        size = path.stat().st_size
        headers = {"Range": _header(random, size)}
        version, is_current = _version(random, client, song)
        if version is not None:
            headers["If-Range"] = version
        reply = client.ask(f"/api/v1/songs/{song + 1}/audio?original=true", headers=headers)
        counts[_checked(reply, headers, path, is_current=is_current)] += 1
    return {"ranges": n, **{f"ranges answered with {name}": count for name, count in counts.items()}}


def _header(random: np.random.Generator, size: int) -> str:
    """Return a Range header: one range or many, in any order, perhaps absurd."""
    n = int(random.choice([1, 1, 1, 2, 3, 8, MAX_PARTS, MAX_PARTS + 1, 300]))
    make = _valid_range if random.integers(3) else _range
    unit = random.choice(["bytes"] * 8 + ["Bytes", "lines", ""])
    return f"{unit}={random.choice([',', ', ']).join([make(random, size) for _ in range(n)])}"


def _valid_range(random: np.random.Generator, size: int) -> str:
    first, last = sorted(int(at) for at in random.integers(size + size // 8, size=2))
    short = min(first + int(random.integers(200)), last)
    kinds = [f"{first}-{last}", f"{first}-{short}", f"{first}-{short}", f"{first}-", f"-{short}", f"{first}-{first}"]
    kinds += [f"{size - 1}-", f"{first}-{10**30}", f"-{10**25}", f"{size}-", "-0", f"{10**40}-"]
    return str(random.choice(kinds))


def _range(random: np.random.Generator, size: int) -> str:
    first, last = sorted(int(at) for at in random.integers(size, size=2))
    kinds = ["-", "", f"{last + 1}-{first}", f"{first}--{last}", f"0x{first:x}-", f"{first}.5-", "a-b"]
    kinds += [f"{first}-{last}-{size}", f"+{first}-{last}", f"{first}-{last};", f"{first} {first}-{last}"]
    return str(random.choice([*kinds, _valid_range(random, size)]))


def _version(random: np.random.Generator, client: Client, song: int) -> tuple[str | None, bool]:
    """Return a version for If-Range, perhaps none, and whether ranges of the file as it is are to be sent."""
    kind = random.integers(6)
    if kind > 2:
        return None, True
    if kind > 1:
        return str(random.choice(['"nothing"', 'W/"x"', formatdate(0, usegmt=True), "*"])), False
    head = client.ask(f"/api/v1/songs/{song + 1}/audio?original=true", method="HEAD").headers
    return head["etag" if kind else "last-modified"], True


def _checked(reply: Reply, headers: dict[str, str], path: Path, *, is_current: bool) -> str:
    """Check an answer against the file; return which kind it is."""
    data, asked = path.read_bytes(), f"{headers} of {os.path.getsize(path)} bytes"
    wanted = _wanted(headers["Range"], len(data)) if is_current else None
    if reply.status == 200:
        check(reply.body == data, f"{asked}: the whole file is wrong")
        check(wanted is None, f"{asked}: a valid range was ignored")
        return "whole"
    if reply.status == 416:
        check(wanted is not None and not wanted.any(), f"{asked}: a range that exists was refused")
        check(reply.headers.get("content-range") == f"bytes */{len(data)}", f"{asked}: 416 without the size")
        return "refused"
    check(reply.status == 206, f"{asked}: {reply.status}")
    check(len(reply.body) <= len(data) + 200 * (MAX_PARTS + 1), f"{asked}: more was sent than the file has")
    parts = _parts(reply)
    sent = np.zeros(len(data), bool)
    for span, body in parts:
        match = _SPAN.fullmatch(span)
        check(match is not None, f"{asked}: Content-Range {span!r}")
        assert match is not None
        first, last, size = map(int, match.groups())
        check(size == len(data) and body == data[first : last + 1], f"{asked}: {span} has other bytes")
        check(not sent[first : last + 1].any(), f"{asked}: {span} was sent twice")
        sent[first : last + 1] = True
    check(wanted is not None and bool((sent == wanted).all()), f"{asked}: other ranges than requested")
    return "one range" if len(parts) == 1 else "several ranges"


def _parts(reply: Reply) -> list[tuple[str, bytes]]:
    """Return Content-Range and bytes of each part."""
    kind = reply.headers["content-type"]
    if not kind.startswith("multipart/byteranges"):
        return [(reply.headers["content-range"], reply.body)]
    boundary = b"\r\n--" + kind.partition("boundary=")[2].encode()
    parts = []
    for part in reply.body.split(boundary)[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        named = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        parts.append((named["Content-Range"], body))
    return parts


def _wanted(header: str, size: int) -> npt.NDArray[np.bool_] | None:
    """Return which bytes a Range header asks for, by RFC 9110; None if it is to be ignored."""
    unit, _, text = header.partition("=")
    specs = text.split(",")
    if unit.lower() != "bytes" or len(specs) > MAX_PARTS:
        return None
    wanted = np.zeros(size, bool)
    for spec in specs:
        match = re.fullmatch(r"[ \t]*([0-9]*)-([0-9]*)[ \t]*", spec)
        if match is None or match.groups() == ("", ""):
            return None
        first, last = match.groups()
        if first and last and int(last) < int(first):
            return None
        if not first:
            wanted[max(size - int(last), 0) :] = True
        elif int(first) < size:
            wanted[int(first) : min(int(last) if last else size - 1, size - 1) + 1] = True
    return wanted
