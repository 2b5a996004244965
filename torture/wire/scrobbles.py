"""Listens as ListenBrainz and Last.fm clients send them, good and bad -> stored, or refused in one line."""

import json
import time
from collections import Counter
from typing import Any

import numpy as np

from torture.attack import Figures, check
from torture.wire.client import Client, Reply, check_busy, loopback_address
from torture.wire.target import Target

MAX_REASON_CHARACTERS = 1_000
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 2**80, "", " ", "x", "x" * 20_000, "\u202e\x1b[2J", "\ud800", [], {}, ["a"],
    {"a": [{}]}, "'; DROP TABLE plays; --", "../..", "1700000000", 1_700_000_000.5, -2**63, "NaN",
)  # fmt: skip
METHODS = ("track.scrobble", "track.updateNowPlaying", "auth.getMobileSession", "track.love", "user.getInfo", "x", "")


def send_scrobbles(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Send ``n`` requests to each protocol; what is accepted can be read back."""
    client = Client(target.service, loopback_address(random), with_token=False)
    admin = Client(target.service, loopback_address(random))
    made = admin.send("POST", "/api/v1/listeners", {"name": f"scrobbler {random.integers(10**9)}"}).json()
    token = {"Authorization": f"Token {made['token']}", "Content-Type": "application/json"}
    statuses: Counter[str] = Counter()
    for _ in range(n):
        body = _listens(random)
        reply = client.ask("/1/submit-listens", method="POST", headers=token, body=body)
        _check(reply, "ListenBrainz", body)
        statuses[f"ListenBrainz {reply.status}"] += 1
        form = _form(random)
        reply = client.ask("/2.0/", method="POST", headers={"Content-Type": FORM}, body=form)
        _check(reply, "Last.fm", form)
        statuses["Last.fm"] += 1
    good = json.dumps(_payload("single", [_listen(int(time.time()) - 60)])).encode()
    check(
        client.ask("/1/submit-listens", method="POST", headers=token, body=good).status == 200, "a good listen fails"
    )
    counted = client.ask(f"/1/user/{made['name'].replace(' ', '%20')}/listen-count", headers=token)
    check(counted.status == 200 and counted.json()["payload"]["count"] >= 1, "an accepted listen cannot be read back")
    check(statuses["ListenBrainz 200"] > 0, "no listen was accepted: the requests are never right")
    check(statuses["ListenBrainz 400"] > 0, "no listen was refused: the requests are never wrong")
    return {"ListenBrainz requests": n, "Last.fm requests": n}


FORM = "application/x-www-form-urlencoded"


def _check(reply: Reply, protocol: str, body: bytes) -> None:
    check_busy(reply, protocol)
    check(reply.status < 500 or reply.status == 503, f"{protocol}: {reply.status} to {body[:200]!r}")
    check(
        reply.status == 200 or len(reply.body) <= MAX_REASON_CHARACTERS,
        f"{protocol}: a long refusal of {body[:200]!r}",
    )


def _listen(at: Any) -> dict[str, Any]:
    names = {"artist_name": "Nina Simone", "track_name": "Sinnerman", "release_name": "Pastel Blues"}
    return {"listened_at": at, "track_metadata": {**names, "additional_info": {"duration_ms": 622_000}}}


def _payload(kind: Any, listens: Any) -> dict[str, Any]:
    return {"listen_type": kind, "payload": listens}


def _listens(random: np.random.Generator) -> bytes:
    """Return a request body: some right, some with one wrong value at any depth, some no JSON at all."""
    kind = str(random.choice(["single", "import", "playing_now"]))
    at = int(time.time()) - int(random.integers(10**7))
    document: Any = _payload(kind, [_listen(at + 300 * i) for i in range(1 if kind != "import" else 5)])
    if kind == "playing_now":
        del document["payload"][0]["listened_at"]
    if random.integers(3):
        _spoil(random, document)
    data = json.dumps(document).encode()
    if not random.integers(8):
        data = data[: int(random.integers(len(data)))] + random.bytes(3)
    return data if random.integers(20) else b"[" * 50_000


def _spoil(random: np.random.Generator, document: Any) -> None:
    """Replace, remove or add one value somewhere."""
    node, path = document, []
    while isinstance(node, dict | list) and node and (not path or random.integers(4)):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        path.append((node, keys[int(random.integers(len(keys)))]))
        node = path[-1][0][path[-1][1]]
    parent, key = path[-1]
    if random.integers(4):
        parent[key] = VALUES[int(random.integers(len(VALUES)))]
    else:
        del parent[key]


def _form(random: np.random.Generator) -> bytes:
    names = ("artist", "track", "timestamp", "artist[0]", "track[0]", "timestamp[0]", "artist[49]", "sk", "api_key")
    names += ("username", "password", "authToken", "format", "api_sig", "artist[x]", "duration")
    pairs = [("method", str(random.choice(METHODS)))]
    for name in random.choice(names, size=int(random.integers(12))):
        value = VALUES[int(random.integers(len(VALUES)))]
        text = value if isinstance(value, str) else json.dumps(value)
        pairs.append((str(name), text))
    quoted = [f"{name}={_quoted(value)}" for name, value in pairs]
    return "&".join(quoted).encode()


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))
