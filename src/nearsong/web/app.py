"""A service -> the application: the API below /api/v1, OpenSubsonic below /rest, the page and its files, /docs.

Around everything, from the outside in: counting, the guard (who may come in, headers, errors), compression.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from nearsong import __version__
from nearsong.web import pages, problems, subsonic
from nearsong.web.api import jobs, listens, map, model, playlists, plays, query, similar, songs, status
from nearsong.web.compression import Compressed
from nearsong.web.limits import RateLimit
from nearsong.web.metrics import Measured
from nearsong.web.openapi import TAGS, describe
from nearsong.web.security import Door, Guard
from nearsong.web.service import Service

WRONG_PER_MINUTE = 10
"""Tokens and passwords that one address may get wrong, wherever it says them."""


def create_app(service: Service) -> FastAPI:
    """Return the application of a service; it starts with the application and ends with it."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="nearsong",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_tags=TAGS,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    problems.install(app)
    api = APIRouter(prefix="/api/v1")
    for part in (status, songs, similar, query, playlists, map, listens, plays, model, jobs):
        api.include_router(part.router)
    app.include_router(api)
    app.add_api_route("/metrics", status.metrics, include_in_schema=False)  # where Prometheus looks unless told
    app.include_router(subsonic.router, prefix="/rest")
    settings = service.settings
    app.state.wrong_tokens = wrong_tokens = RateLimit(WRONG_PER_MINUTE, per=60)
    door = None if settings.token is None else Door(settings.token, wrong_tokens, settings.secure_cookie)
    pages.install(app, door)
    describe(app)
    app.add_middleware(Compressed)
    app.add_middleware(Guard, settings=settings, door=door)
    app.add_middleware(Measured, metrics=service.metrics)
    return app
