"""A service that really runs, for a test to talk to."""

import threading
import time
from pathlib import Path

from fastapi import FastAPI

from nearsong.library import Library
from nearsong.web.app import create_app
from nearsong.web.opening import OpeningApp
from nearsong.web.server import Server, configuration, listen
from nearsong.web.service.account_watch import authentication_of
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings


class running:  # noqa: N801 - used as a function
    """A server in a thread while a block runs; gives its address. With a certificate it speaks HTTPS.

    With ``until`` the complete application is loaded only when that is set, and the block begins before.
    """

    def __init__(
        self,
        library: Library,
        settings: ServeSettings,
        certificate: tuple[Path, Path] | None = None,
        until: threading.Event | None = None,
    ) -> None:
        self._listener = listen(settings)
        self.service = Service(library, settings)
        authentication = authentication_of(self.service.accounts, settings, self.service.shared)
        self._until = until

        def load() -> FastAPI:
            if until is not None:
                until.wait()
            return create_app(self.service, authentication)

        self.opening = OpeningApp(settings, authentication, load)
        config = configuration(self.opening, settings)
        self._scheme = "http" if certificate is None else "https"
        if certificate is not None:
            config.ssl_certfile, config.ssl_keyfile = certificate
        self._server = Server(config, self.opening)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started or (self._until is None and self.opening.app is None):
            assert self._thread.is_alive(), "the server has ended"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)
        return f"{self._scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def n_requests(self) -> int:
        """How many requests are being answered."""
        return len(self._server.server_state.tasks)

    def stop(self) -> None:
        """Let the server end, without waiting for it."""
        self._server.should_exit = True

    def __exit__(self, *_error: object) -> None:
        self.stop()
        self._thread.join(60)
        self._listener.close()
