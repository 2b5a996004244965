"""A library and settings -> a server that runs until Ctrl-C, or an error that says why it cannot."""

import asyncio
import errno
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from nearsong.errors import InvalidInputError
from nearsong.library import Library
from nearsong.web.http.authentication import Authentication
from nearsong.web.http.connections import HeadTimeoutProtocol, file_limit, max_connections, raise_file_limit
from nearsong.web.http.logs import filter_logs
from nearsong.web.opening import OpeningApp
from nearsong.web.service.account_watch import AccountWatch, authentication_of
from nearsong.web.service.memory import use_few_heaps
from nearsong.web.settings import ServeSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from nearsong.library import SharedState

SHUTDOWN_SECONDS = 3
"""How long responses may continue after Ctrl-C."""

BACKLOG = 128
"""Connections that wait to be accepted, and that asyncio accepts in a row."""


def serve(
    library: Library, settings: ServeSettings, *, say: Callable[[str], None] = print, browser: bool = False
) -> None:
    """Serve a library until Ctrl-C.

    Parameters
    ----------
    library : Library
    settings : ServeSettings
    say : callable
        Called with messages for the user.
    browser : bool, default=False
        Whether to open the page in a browser.

    Raises
    ------
    InvalidInputError
        If the service cannot listen on the address.
    """
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    raise_file_limit()
    use_few_heaps()
    listener = listen(settings)
    address = address_of(settings, listener.getsockname()[1])
    accounts, shared = AccountWatch(library, settings), library.shared_state()
    authentication = authentication_of(accounts, settings, shared)

    def load() -> "FastAPI":
        return _load(library, settings, accounts, authentication, shared)

    opening = OpeningApp(settings, authentication, load)

    def say_where() -> None:
        say(f"nearsong runs at {address}")
        if not accounts.current.is_open:
            whose = "your token" if accounts.current.has_accounts else "the token"
            say(f"Log in with {whose}; programs send it as `Authorization: Bearer TOKEN`.")
        say("Press Ctrl-C to stop.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server = Server(configuration(opening, settings), opening, on_started=say_where)
    accounts.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # raised again by the server after a clean shutdown
        pass
    finally:
        accounts.close()
        listener.close()
    if opening.error is not None:
        raise opening.error


def _load(
    library: Library,
    settings: ServeSettings,
    accounts: AccountWatch,
    authentication: Authentication,
    shared: "SharedState | None",
) -> "FastAPI":
    """Return the complete application; most of the time is that of the imports."""
    from threadpoolctl import threadpool_limits

    from nearsong.web.app import create_app
    from nearsong.web.service.service import Service

    # BLAS threads wait for each other in busy loops, which takes processor time from requests
    threadpool_limits(1, user_api="blas")
    service = Service(library, settings, accounts, shared)
    app = create_app(service, authentication)
    threading.Thread(target=service.uploads.warm, daemon=True).start()
    return app


class Server(uvicorn.Server):
    """A server that says when it answers, and ends responses that follow a job, so that it can shut down.

    Parameters
    ----------
    config : uvicorn.Config
    opening : OpeningApp
        The application; if it cannot be loaded, the server ends.
    on_started : callable
        Called when the server answers.
    """

    def __init__(
        self, config: uvicorn.Config, opening: OpeningApp, on_started: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self._opening, self._on_started = opening, on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """Say, some times a second, whether to end."""
        return await super().on_tick(counter) or self._opening.error is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down; no connection is left open that nobody answers."""
        self._opening.stop_waiting()
        if self._opening.app is not None:
            self._opening.app.state.service.jobs.stop_accepting()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):  # made meanwhile, or of a client that reads no more
            connection.transport.abort()
        await asyncio.sleep(0)  # the event loop closes them


def configuration(app: OpeningApp, settings: ServeSettings) -> uvicorn.Config:
    """Return the configuration of the server."""
    config = uvicorn.Config(
        app,
        access_log=settings.verbose,
        log_level="info" if settings.verbose else "warning",
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=HeadTimeoutProtocol,
        limit_concurrency=max_connections(file_limit()),
        loop="asyncio",
        backlog=BACKLOG,
        ws="none",
    )
    filter_logs()
    return config


def listen(settings: ServeSettings) -> socket.socket:
    """Return a listening socket, or raise an error that says why there is none."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidInputError(
            f"{settings.host} is not an address of this machine ({error.strerror}); try 127.0.0.1 or 0.0.0.0."
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise InvalidInputError(_listen_error(settings, error)) from error
    return listener


def _listen_error(settings: ServeSettings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {settings.port} is in use; choose another with --port, or 0 for any free one."
    if error.errno == errno.EACCES:
        return f"port {settings.port} needs administrator rights; choose one from 1024 on with --port."
    return f"cannot listen on {settings.host} port {settings.port} ({error.strerror}); try 127.0.0.1."


def address_of(settings: ServeSettings, port: int) -> str:
    """Return the address to open in a browser.

    >>> everywhere = ServeSettings(host="0.0.0.0", token="0123456789abcdef" * 2)
    >>> address_of(ServeSettings(), 8337), address_of(everywhere, 80)
    ('http://127.0.0.1:8337/', 'http://localhost:80/')
    """
    host = settings.host.strip("[]")
    host = "localhost" if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
