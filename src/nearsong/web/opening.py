"""An application that takes seconds to load -> its page at once, and every other request when it is loaded.

Importing what answers requests takes far longer than opening the library. So the server starts with an application
of a few modules. It has the same checks, the same callers and the same pages; a thread loads the complete one, which
then takes all requests.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from nearsong.web import pages
from nearsong.web.http.authentication import Authentication
from nearsong.web.http.compression import CompressionMiddleware
from nearsong.web.http.problems import ApiError, stopping
from nearsong.web.http.security import SecurityMiddleware
from nearsong.web.settings import ServeSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

CLOSE_SECONDS = 10.0
"""How long loading may still take at shutdown: a thread within a library's code must not be cut off."""


class OpeningApp:
    """Answers pages while the complete application is loaded, lets other requests wait, then hands over for good.

    Who is refused during the opening is refused by the same rules as later: pages pass the same checks, and what
    waits is checked once more by the complete application.

    Parameters
    ----------
    settings : ServeSettings
    authentication : Authentication
        That of the complete application too, so that sessions last.
    load : callable
        Returns the complete application; called in a thread.

    Attributes
    ----------
    app : FastAPI or None
        The complete application, once its service has started.
    error : Exception or None
        Why there is none.
    """

    def __init__(
        self, settings: ServeSettings, authentication: Authentication, load: "Callable[[], FastAPI]"
    ) -> None:
        self._load = load
        self._router = Router(default=_no_page, redirect_slashes=False, lifespan=self._lifespan)
        pages.install(self._router, authentication)
        self._pages = CompressionMiddleware(self._router)
        self._checked = SecurityMiddleware(self._answer, settings, authentication)
        self._settled = asyncio.Event()
        self._closing = asyncio.Event()
        self.app: FastAPI | None = None
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "lifespan":
            await self._router(scope, receive, send)
        elif self.app is not None:
            await self.app(scope, receive, send)
        else:
            await self._checked(scope, receive, send)

    def stop_waiting(self) -> None:
        """Answer the requests that wait, since the server stops."""
        self._settled.set()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page now, and any other, also for a page that there is not, when all is loaded."""
        if scope["method"] in pages.METHODS:
            with suppress(HTTPException, ApiError):
                await self._pages(dict(scope), receive, send)  # a copy, as routing writes to it
                return
        await self._settled.wait()
        await (self.app or stopping())(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: object) -> AsyncIterator[None]:
        life = asyncio.create_task(self._live())
        try:
            yield
        finally:
            self.stop_waiting()
            self._closing.set()
            await asyncio.wait({life}, timeout=CLOSE_SECONDS if self.app is None else None)

    async def _live(self) -> None:
        """Load the complete application, and run its lifespan."""
        try:
            app = await self._loaded()
            if self._settled.is_set():  # the server stops
                app.state.service.close()
                return
            async with app.router.lifespan_context(app):
                self.app = app
                self._settled.set()
                await self._closing.wait()
        except Exception as error:
            self.error = error
        finally:
            self._settled.set()

    async def _loaded(self) -> "FastAPI":
        """Load in a thread that does not outlive the process, as those of an executor would."""
        loop = asyncio.get_running_loop()
        loaded: asyncio.Future[FastAPI] = loop.create_future()

        def settle(app: "FastAPI | None", error: BaseException | None) -> None:
            if loaded.cancelled():
                return
            if app is None:
                loaded.set_exception(error or RuntimeError("nothing was loaded"))
            else:
                loaded.set_result(app)

        def load() -> None:
            app, error = None, None
            try:
                app = self._load()
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(settle, app, error)

        threading.Thread(target=load, name="nearsong-opening", daemon=True).start()
        return await loaded


async def _no_page(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise HTTPException(404)
