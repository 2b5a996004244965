"""A service without songs on this machine, for programs that report what they play."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from nearsong.library import Library
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings
from running_service import running

TOKEN = "correct-horse-battery-staple-4242"


@dataclass
class Served:
    """A running service, and the accounts that it has."""

    address: str
    service: Service
    library: Library
    anna: str = ""
    ben: str = ""
    password: str = ""
    token: str = TOKEN

    def played(self, listener: str) -> list[tuple[str, str, int]]:
        plays = self.library.play_log.latest(listener, 1_000)
        return [(play.track.artist, play.track.title, play.time) for play in plays]


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    """A service with a token and the accounts of Anna, an admin, and Ben."""
    with Library.open(tmp_path / "library.sqlite") as library:
        anna, ben = library.accounts.add("Anna", is_admin=True), library.accounts.add("Ben")
        password = library.accounts.renew_app_password("Ben")
        server = running(library, ServeSettings(port=0, token=TOKEN))
        with server as address:
            yield Served(address, server.service, library, anna, ben, password)


@pytest.fixture
def open_service(tmp_path) -> Iterator[Served]:
    """A service for everybody on this machine."""
    with Library.open(tmp_path / "library.sqlite") as library:
        server = running(library, ServeSettings(port=0))
        with server as address:
            yield Served(address, server.service, library)


@pytest.fixture
def http(served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.address, timeout=30) as client:
        yield client
