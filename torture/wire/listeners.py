"""A listener who tries everything on another -> the other's things are as before, and nothing of them was shown."""

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

import numpy as np

from torture.attack import Figures, check
from torture.wire.client import Client, Reply, check_busy, loopback_address
from torture.wire.target import Target

SECRET = "a playlist that is nobody else's"
PATHS = (
    "/hearts?listener={name}", "/ratings?listener={name}", "/listeners/{name}", "/listeners/{name}/everything",
    "/listeners/{name}/token", "/listeners/{name}/app-password", "/songs/{song}/heart?listener={name}",
    "/songs/{song}/rating?listener={name}", "/plays", "/skips", "/playlists", "/playlists/{playlist}",
    "/playlists/{playlist}/export", "/listens", "/listens?user={name}", "/listens/1", "/jobs", "/model", "/listeners",
)  # fmt: skip
METHODS = ("GET", "GET", "PUT", "POST", "DELETE")
SHOWN = (200, 201, 202, 204)


def trespass(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Let one listener ask ``n`` things about another; then delete the one, and the other stays."""
    admin = Client(target.service, loopback_address(random))
    victim, intruder = (_Listener(admin, target, random, name) for name in _names(random))
    playlist = victim.set_up()
    before = victim.belongings()
    statuses: Counter[int] = Counter()
    for _ in range(n):
        path, method, body = _request(random, victim.name, playlist, len(target.songs))
        reply = intruder.ask(method, path, body)
        statuses[reply.status] += 1
        asked = f"{method} {path} {body}"
        check(reply.status < 500 or reply.status == 503, f"{asked}: {reply.status}")
        check_busy(reply, asked)
        check(SECRET.encode() not in reply.body, f"{asked} showed a playlist of another listener")
        check(victim.token.encode() not in reply.body, f"{asked} showed a token")
    check(statuses[403] > n // 20, f"only {statuses[403]} of {n} requests were refused: nothing was tried")
    check(victim.belongings() == before, "what belongs to a listener has changed")
    check(intruder.ask("DELETE", "/listeners/me", None).status in (200, 503), "a listener cannot delete themselves")
    check(victim.belongings() == before, "what belongs to a listener went with another")
    check(intruder.ask("GET", "/status", None).status == 401, "a deleted listener may still enter")
    check(admin.ask(f"/api/v1/listeners/{quote(victim.name)}", method="DELETE").status == 200, "cannot be deleted")
    return {"requests about others": n, "refused": statuses[403] + statuses[404]}


def _names(random: np.random.Generator) -> tuple[str, str]:
    number = int(random.integers(10**9))
    return f"Ada {number}", f"ada {number}\u0301"


class _Listener:
    def __init__(self, admin: Client, target: Target, random: np.random.Generator, name: str) -> None:
        made = admin.send("POST", "/api/v1/listeners", {"name": name})
        check(made.status == 201, f"a listener was not added: {made.status} {made.body[:200]!r}")
        self.name, self.token = made.json()["name"], made.json()["token"]
        self._client = Client(target.service, loopback_address(random), with_token=False)

    def ask(self, method: str, path: str, body: Any) -> Reply:
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is None:
            return self._client.ask(f"/api/v1{path}", method=method, headers=headers)
        headers["Content-Type"] = "application/json"
        return self._client.ask(f"/api/v1{path}", method=method, headers=headers, body=json.dumps(body).encode())

    def set_up(self) -> int:
        """Give the listener a heart, a rating, a password for players and a playlist; return the playlist's id."""
        for method, path, body in (
            ("PUT", "/songs/1/heart", None),
            ("PUT", "/songs/2/rating", {"stars": 4}),
            ("POST", "/listeners/me/app-password", None),
        ):
            check(self.ask(method, path, body).status in SHOWN, f"{method} {path} failed for a listener's own")
        saved = self.ask("POST", "/playlists", {"name": SECRET, "songs": [1, 2]})
        return int(saved.json()["id"])

    def belongings(self) -> list[Any]:
        """Return what belongs to the listener, as they see it."""
        paths = ("/hearts", "/ratings", "/playlists", "/listeners/me")
        return [self.ask("GET", path, None).json() for path in paths]


def _request(random: np.random.Generator, name: str, playlist: int, n_songs: int) -> tuple[str, str, Any]:
    """Return a path, a method and a body of a request about another listener."""
    spelled = str(random.choice([name, name.upper(), f" {name} ", name.replace("a", "\u0430"), f"{name}\x00"]))
    path = str(random.choice(PATHS)).format(
        name=quote(spelled), song=random.integers(1, n_songs + 1), playlist=playlist
    )
    method = str(random.choice(METHODS))
    bodies = (
        None, {"stars": 1}, {"song_id": 1, "listener": spelled}, {"is_admin": True},
        {"name": spelled, "is_admin": True}, {"name": "x", "songs": []},
        {"name": "x", "songs": [], "owner": spelled}, {"kind": "train"}, {"id": 1},
    )  # fmt: skip
    return path, method, None if method == "GET" else bodies[int(random.integers(len(bodies)))]
