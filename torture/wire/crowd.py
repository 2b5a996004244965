"""Many clients with all kinds of requests on one service -> how long each waited, and what was wrong."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.keep_alive import Answer, KeepAlive
from torture.wire.client import loopback_address

MAX_DRAFTS = 8
"""Playlists generated at the same time; the service refuses what is more than four running and eight waiting."""

MAX_TRIES = 10
RETRY_SECONDS = 2.0
"""A play that is refused because another process writes is sent again after a while."""

SHARES = {
    "similar": 0.72,
    "new artists": 0.03,
    "playlist": 0.02,
    "search": 0.05,
    "list": 0.04,
    "status": 0.02,
    "audio": 0.05,
    "play": 0.03,
    "player": 0.04,
}
"""How many of the requests are of each kind."""

_JSON = "Content-Type: application/json\r\n"


@dataclass(kw_only=True)
class Diary:
    """What a crowd saw.

    Attributes
    ----------
    counts : Counter
        Requests by kind.
    waits : list of float
        Seconds until each answer with similar songs.
    n_compared : int
        Answers whose songs were compared with the bare index.
    wrong : list of str
        Everything that should not be.
    """

    counts: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    n_compared: int = 0
    wrong: list[str] = field(default_factory=list)


class Crowd:
    """Clients, each at an address of its own, with its next request as soon as it has an answer.

    Parameters
    ----------
    port : int
    n_clients : int
    n_songs : int
        Songs 1 to ``n_songs`` can be asked for.
    audio : mapping of int to bytes
        The files of some songs.
    nearest : mapping of int to sequence of int
        The nearest of some songs under ``model``, as the bare index has them.
    model : int
    """

    def __init__(
        self,
        port: int,
        n_clients: int,
        n_songs: int,
        audio: Mapping[int, bytes],
        nearest: Mapping[int, Sequence[int]],
        model: int,
    ) -> None:
        self._port, self._n_clients, self._n_songs = port, n_clients, n_songs
        self._audio, self._nearest, self._model = audio, nearest, model
        self._known = list(nearest)

    def run(self, seconds: float, random: np.random.Generator) -> Diary:
        """Let all clients ask for some seconds."""
        diary = Diary()
        asyncio.run(self._run(diary, time.monotonic() + seconds, random))
        return diary

    async def _run(self, diary: Diary, deadline: float, random: np.random.Generator) -> None:
        drafts = asyncio.Semaphore(MAX_DRAFTS)
        await asyncio.gather(
            *(self._one_client(diary, deadline, drafts, own) for own in random.spawn(self._n_clients))
        )

    async def _one_client(
        self, diary: Diary, deadline: float, drafts: asyncio.Semaphore, random: np.random.Generator
    ) -> None:
        client = KeepAlive(self._port, loopback_address(random))
        kinds, shares = list(SHARES), np.array(list(SHARES.values())) / sum(SHARES.values())
        while time.monotonic() < deadline:
            kind = str(random.choice(kinds, p=shares))
            started = time.perf_counter()
            try:
                if kind == "playlist":
                    if drafts.locked():
                        client.close()  # the service would: connections without a request have five seconds
                    async with drafts:
                        wrong = await self._ask(client, kind, random, diary)
                else:
                    wrong = await self._ask(client, kind, random, diary)
            except (OSError, EOFError, ValueError, KeyError) as error:
                wrong = f"{type(error).__name__}: {error}"
                client.close()
            if kind == "similar":
                diary.waits.append(time.perf_counter() - started)
            diary.counts[kind] += 1
            if wrong:
                diary.wrong.append(f"{kind}: {wrong}")
        client.close()

    async def _ask(self, client: KeepAlive, kind: str, random: np.random.Generator, diary: Diary) -> str:
        """Ask; return what is wrong with the answer."""
        song = int(random.integers(1, self._n_songs + 1))
        if kind == "similar":
            return await self._similar(client, random, diary)
        if kind == "audio":
            return await self._range(client, random)
        if kind == "play":
            body = json.dumps({"song_id": song}).encode()
            return await _play(client, body, diary)
        if kind == "playlist":
            body = json.dumps({"seeds": [song], "length": 20}).encode()
            answer = await client.ask("/api/v1/playlists/draft", method="POST", headers=_JSON, body=body)
            return _status(answer, 200) or ("" if len(answer.json()["songs"]) == 20 else "not 20 songs")
        path = {
            "new artists": f"/api/v1/similar?seed={song}&n=10&new_artists=true",
            "search": f"/api/v1/songs?search=artist+{song % 997}",
            "list": f"/api/v1/songs?sort=title&offset={song - 1}&limit=50",
            "status": "/api/v1/status",
            "player": f"/rest/getSimilarSongs?f=json&u=me&id={song}&count=10",
        }[kind]
        answer = await client.ask(path)
        wrong = _status(answer, 200)
        if not wrong and kind == "player" and answer.json()["subsonic-response"]["status"] != "ok":
            wrong = f"{answer.body[:200]!r}"
        return wrong

    async def _similar(self, client: KeepAlive, random: np.random.Generator, diary: Diary) -> str:
        compared = bool(random.integers(2)) and bool(self._known)
        song = int(random.choice(self._known)) if compared else int(random.integers(1, self._n_songs + 1))
        answer = await client.ask(f"/api/v1/similar?seed={song}&n=10")
        wrong = _status(answer, 200)
        if wrong:
            return wrong
        found = answer.json()
        ids = [one["song"]["id"] for one in found["songs"]]
        if len(ids) != 10 or song in ids or found["seeds"][0]["id"] != song:
            return f"the songs similar to {song} are {ids}"
        if compared and found["model"]["id"] == self._model:
            diary.n_compared += 1
            old = [one for one in ids if one <= self._n_songs]  # scans add others meanwhile
            if old != list(self._nearest[song][: len(old)]):
                return f"the songs similar to {song} are {ids}, but {list(self._nearest[song])} by the bare index"
        return ""

    async def _range(self, client: KeepAlive, random: np.random.Generator) -> str:
        song = int(random.choice(list(self._audio)))
        data = self._audio[song]
        first, last = sorted(int(at) for at in random.integers(len(data), size=2))
        header = f"Range: bytes={first}-{last}\r\n"
        answer = await client.ask(f"/api/v1/songs/{song}/audio?original=true", headers=header)
        return _status(answer, 206) or (
            "" if answer.body == data[first : last + 1] else "other bytes than the file's"
        )


async def _play(client: KeepAlive, body: bytes, diary: Diary) -> str:
    """Report a play, again if the service says that it is busy writing, as players do."""
    for _ in range(MAX_TRIES):
        answer = await client.ask("/api/v1/plays", method="POST", headers=_JSON, body=body)
        if answer.status != 503:
            break
        diary.counts["play refused for now"] += 1
        await asyncio.sleep(RETRY_SECONDS)
    return _status(answer, 204)


def _status(answer: Answer, expected: int) -> str:
    return "" if answer.status == expected else f"{answer.status} {answer.body[:200]!r}"
