"""Settings and a library -> a server that runs until Ctrl-C, or one line that says why it cannot."""

import errno
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from threadpoolctl import threadpool_limits

from nearsong.errors import InvalidInputError
from nearsong.library import Library
from nearsong.web.app import create_app
from nearsong.web.connections import (
    Listener,
    Room,
    file_limit,
    most_connections,
    protocol_in,
    raise_file_limit,
    taken_at_once,
)
from nearsong.web.logs import tidy_logs
from nearsong.web.service import Service
from nearsong.web.settings import ServeSettings

_PATIENCE = 3
"""Seconds that answers may go on after Ctrl-C."""


def serve(
    library: Library, settings: ServeSettings, *, say: Callable[[str], None] = print, browser: bool = False
) -> None:
    """Serve a library until Ctrl-C.

    Parameters
    ----------
    library : Library
    settings : ServeSettings
    say : callable
        Told what the user should know.
    browser : bool, default=False
        Whether to open the page.

    Raises
    ------
    InvalidInputError
        If the address cannot be listened on.
    """
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    raise_file_limit()
    listener = listen(settings)
    address = address_of(settings, listener.getsockname()[1])
    # Threads of BLAS wait for each other by counting in circles: beside requests that is time taken from them.
    threadpool_limits(1, user_api="blas")
    service = Service(library, settings)
    server = Server(configuration(service), service)
    threading.Thread(target=service.uploads.warm, daemon=True).start()
    say(f"nearsong is at {address}")
    if settings.token is not None:
        say("Log in there with the token; programs send it as `Authorization: Bearer TOKEN`.")
    say("Ctrl-C stops it.")
    if browser:
        threading.Thread(target=_open_when_ready, args=(server, address), daemon=True).start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # raised again by the server after it has ended well
        pass
    finally:
        listener.close()


class Server(uvicorn.Server):
    """A server that ends the answers that would go on while a job does."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._service.jobs.stop_taking()
        await super().shutdown(sockets)


def configuration(service: Service) -> uvicorn.Config:
    """Return how a service is run."""
    settings, files = service.settings, file_limit()
    config = uvicorn.Config(
        create_app(service),
        access_log=settings.verbose,
        log_level="info" if settings.verbose else "warning",
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.host_names),
        timeout_graceful_shutdown=_PATIENCE,
        http=protocol_in(Room(most_connections(files))),
        loop="asyncio",
        backlog=taken_at_once(files),
        ws="none",
    )
    tidy_logs()
    return config


def listen(settings: ServeSettings) -> Listener:
    """Return a socket that listens, or say in one line why there is none."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = Listener(family, kind, protocol)
    except OSError as error:
        raise InvalidInputError(
            f"{settings.host} is no address of this machine ({error.strerror}); use 127.0.0.1, or 0.0.0.0 for all."
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise InvalidInputError(_why_not(settings, error)) from error
    return listener


def _why_not(settings: ServeSettings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {settings.port} is taken by another program; choose another with --port, or 0 for any."
    if error.errno == errno.EACCES:
        return f"port {settings.port} is not open to this user; choose one from 1024 on with --port."
    return f"{settings.host} port {settings.port} cannot be listened on ({error.strerror}); use 127.0.0.1."


def address_of(settings: ServeSettings, port: int) -> str:
    """Return the address that a person opens.

    >>> address_of(ServeSettings(), 8337), address_of(ServeSettings(host="0.0.0.0", token="x" * 12), 80)
    ('http://127.0.0.1:8337/', 'http://localhost:80/')
    """
    host = settings.host.strip("[]")
    host = "localhost" if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _open_when_ready(server: uvicorn.Server, address: str) -> None:
    pause = threading.Event()
    while not server.started and not server.should_exit:
        pause.wait(0.05)
    if not server.should_exit:
        webbrowser.open(address)
