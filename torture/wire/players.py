"""OpenSubsonic methods with any parameters -> an answer in the protocol's envelope, never a failure."""

import json
from urllib.parse import quote_from_bytes
from xml.etree import ElementTree

import numpy as np

from nearsong.web.subsonic import METHODS
from torture.attack import Figures, check
from torture.wire.client import Client, Reply, check_busy, loopback_address
from torture.wire.target import Target

NAMES = (
    "id", "count", "size", "offset", "type", "query", "artist", "genre", "fromYear", "toYear", "seed", "name",
    "songId", "playlistId", "songIdToAdd", "songIndexToRemove", "startSongId", "endSongId", "time", "submission",
    "format", "maxBitRate", "ifModifiedSince", "artistCount", "albumCount", "songCount", "artistOffset",
    "albumOffset", "songOffset", "username", "c", "v", "musicFolderId", "timeOffset", "estimateContentLength",
)  # fmt: skip
MEDIA = ("stream", "download", "getCoverArt", "getAvatar")
MAX_QUERY_CHARACTERS = 30_000
"""Of a request's first line; more is sent as a form."""

ROOT_TAG = "{http://subsonic.org/restapi}subsonic-response"


def fuzz_methods(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Call each method ``n`` times with parameters good and bad."""
    client = Client(target.service, loopback_address(random), with_token=False)
    names = [*METHODS, "getOpenSubsonicExtensions", "noSuchMethod"]
    known = _known_ids(client, target)
    n_ok = n_calls = 0
    for name in names:
        for _ in range(n):
            query, format = _query(random, known, target.service.token or "")
            n_calls += 1
            n_ok += _checked(_call(random, client, name, query), name, query, format)
    check(n_ok > len(names) // 4, f"only {n_ok} of {n_calls} calls succeeded: the parameters are never right")
    return {"OpenSubsonic calls": n_calls, "OpenSubsonic calls that succeeded": n_ok, "methods": len(names)}


def _known_ids(client: Client, target: Target) -> list[str]:
    """Return ids that exist: of songs, albums and artists."""
    found = client.ask(f"/rest/search3?query=&f=json&apiKey={target.service.token}&albumCount=5&artistCount=5").json()
    hits = found["subsonic-response"]["searchResult3"]
    return [str(hit["id"]) for kind in ("song", "album", "artist") for hit in hits.get(kind, [])[:5]]


def _call(random: np.random.Generator, client: Client, name: str, query: str) -> Reply:
    path = f"/rest/{name}{random.choice(['', '.view'])}"
    if random.integers(4) and len(query) < MAX_QUERY_CHARACTERS:
        return client.ask(f"{path}?{query}", method=str(random.choice(["GET", "GET", "GET", "HEAD"])))
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return client.ask(path, method="POST", headers=form, body=query.encode())


def _query(random: np.random.Generator, known: list[str], token: str) -> tuple[str, str]:
    """Return a query string and the format it asks for."""
    format = str(random.choice(["json", "json", "xml", "", "jsonp", "JSON"]))
    pairs = [("apiKey", token.encode()), ("f", format.encode())]
    names = [*random.choice(NAMES, size=int(random.integers(9))), *random.choice(["id", "type", "query"], size=2)]
    for name in names:
        pairs += [(str(name), _value(random, known))] * int(random.choice([1, 1, 1, 1, 2, 30]))
    return "&".join(f"{name}={quote_from_bytes(value)}" for name, value in pairs), format


def _value(random: np.random.Generator, known: list[str]) -> bytes:
    if random.integers(2):
        return str(random.choice(known)).encode()
    texts = ["", "0", "1", "-1", "10", "999999999999999999", "9" * 40, "1e9", "NaN", "true", "false", "raw", "mp3"]
    texts += [
        "newest",
        "random",
        "byYear",
        "byGenre",
        "alphabeticalByName",
        "ar-",
        "al-",
        "pl-1",
        "pl-x",
        "ar-\u00e9",
    ]
    texts += ["'; DROP TABLE songs; --", '<a>&amp;"', "../../etc/passwd", "%00", "a" * 5_000, "\u202e\ufffe", "*"]
    values = [text.encode() for text in texts] + [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", random.bytes(12)]
    return values[int(random.integers(len(values)))]


def _checked(reply: Reply, name: str, query: str, format: str) -> bool:
    """Check an answer; return whether the call succeeded."""
    asked = f"{name}?{query[query.find('f=') :][:300]}"
    kind = reply.headers.get("content-type", "")
    if reply.status in (429, 503):  # a scan when many wait, or a conversion
        check_busy(reply, asked)
    else:
        check(reply.status < 500, f"{asked}: {reply.status}")
    if name in MEDIA and kind.startswith(("audio/", "image/")):
        return True
    if not reply.body:  # of HEAD, or an empty file
        return reply.status == 200
    try:
        status = _status(reply, kind, format)
    except (ValueError, KeyError, ElementTree.ParseError) as error:
        check(False, f"{asked}: {reply.status} {kind}, no envelope ({error}): {reply.body[:100]!r}")
    check(status in ("ok", "failed"), f"{asked}: status {status!r}")
    return status == "ok"


def _status(reply: Reply, kind: str, format: str) -> str:
    if kind.startswith("application/json"):
        envelope = json.loads(reply.body, parse_constant=_refuse)["subsonic-response"]
        if envelope["status"] == "failed":
            int(envelope["error"]["code"])
        return str(envelope["status"])
    if format == "json":
        raise ValueError("not JSON")
    root = ElementTree.fromstring(reply.body)
    if root.tag != ROOT_TAG:
        raise ValueError(root.tag)
    return root.attrib["status"]


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
