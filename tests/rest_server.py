"""A real server on a free port of this machine, in a thread, and players that ask it."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from libopensonic import AsyncConnection

from nearsong.library import Library, Snapshot
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings
from running_service import running


@contextmanager
def serving(library: Library, token: str | None = None) -> Iterator[tuple[Service, int]]:
    """Serve a library; gives the service and the port."""
    server = running(library, ServeSettings(port=0, token=token))
    with server as address:
        yield server.service, int(address.rsplit(":", 1)[1])


def connected(port: int, session: Callable[[AsyncConnection], Awaitable[Any]], **known: Any) -> Any:
    """Return what py-opensonic, which nobody here wrote, does with a service on this machine."""

    async def connect() -> Any:
        connection = AsyncConnection("http://127.0.0.1", port=port, **known)
        try:
            return await session(connection)
        finally:
            await connection.cleanup()

    return asyncio.run(connect())


@contextmanager
def playing(library_file: Path, folder: Path, token: str | None = None) -> Iterator["Player"]:
    """Serve a copy of a library; gives what asks it."""
    address = folder / "library.sqlite"
    address.write_bytes(library_file.read_bytes())
    with (
        Library.open(address) as library,
        serving(library, token) as (service, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/rest/", timeout=30) as client,
    ):
        yield Player(client, service)


class Player:
    def __init__(self, client: httpx.Client, service: Service) -> None:
        self.client, self.service = client, service

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        return self.service.snapshot

    def response(self, method: str, **asked: Any) -> httpx.Response:
        return self.client.get(method, params={"u": "me", "p": "", "c": "test", "v": "1.16.1", "f": "json", **asked})

    def ask(self, method: str, **asked: Any) -> dict[str, Any]:
        answer = self.response(method, **asked).json()["subsonic-response"]
        assert answer["status"] == "ok", answer
        return answer

    def fails(self, method: str, **asked: Any) -> tuple[int, str]:
        answer = self.response(method, **asked).json()["subsonic-response"]
        assert answer["status"] == "failed", answer
        return answer["error"]["code"], answer["error"]["message"]

    def nearest(self, song_id: int) -> list[int]:
        """All other songs by their distance, straight from the embeddings."""
        space = self.snapshot.space
        embeddings = space.embeddings.astype(np.float64)
        distances = np.linalg.norm(embeddings - embeddings[space.row_of[song_id]], axis=1)
        order = np.lexsort((space.ids, distances))
        return [int(one) for one in space.ids[order] if one != song_id]


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in records]
