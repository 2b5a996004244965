"""A real server for tests, an application on a free port of this machine, in a thread; and a player that asks it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

from nearsong.library import Library
from nearsong.web.app import create_app
from nearsong.web.service import Service
from nearsong.web.settings import ServeSettings


@contextmanager
def serving(library: Library, token: str | None = None) -> Iterator[tuple[Service, int]]:
    """Serve a library; gives the service and the port."""
    service = Service(library, ServeSettings(port=0, token=token))
    server = uvicorn.Server(uvicorn.Config(create_app(service), host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield service, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def playing(library_file: Path, folder: Path) -> Iterator["Player"]:
    """Serve a copy of a library; gives what asks it."""
    place = folder / "library.sqlite"
    place.write_bytes(library_file.read_bytes())
    with (
        Library.open(place) as library,
        serving(library) as (service, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/rest/", timeout=30) as client,
    ):
        yield Player(client, service)


class Player:
    def __init__(self, client: httpx.Client, service: Service) -> None:
        self.client, self.service, self.snapshot = client, service, service.snapshot

    def response(self, method: str, **asked: Any) -> httpx.Response:
        return self.client.get(method, params={"u": "me", "p": "", "c": "test", "v": "1.16.1", "f": "json", **asked})

    def ask(self, method: str, **asked: Any) -> dict[str, Any]:
        said = self.response(method, **asked).json()["subsonic-response"]
        assert said["status"] == "ok", said
        return said

    def fails(self, method: str, **asked: Any) -> tuple[int, str]:
        said = self.response(method, **asked).json()["subsonic-response"]
        assert said["status"] == "failed", said
        return said["error"]["code"], said["error"]["message"]

    def nearest(self, song_id: int) -> list[int]:
        """All other songs by their distance, straight from the places."""
        space = self.snapshot.space
        places = space.places.astype(np.float64)
        away = np.linalg.norm(places - places[space.row_of[song_id]], axis=1)
        order = np.lexsort((space.ids, away))
        return [int(one) for one in space.ids[order] if one != song_id]


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in records]
