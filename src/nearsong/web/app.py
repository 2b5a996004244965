"""A service -> the application: the API below /api/v1, OpenSubsonic below /rest, the page and its files, /docs.

Middleware from the outside in: metrics, security (who may pass, headers, errors), compression.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from nearsong import __version__
from nearsong.web import pages, subsonic
from nearsong.web.api import jobs, listens, map, model, playlists, plays, query, similar, songs, status
from nearsong.web.http import problems
from nearsong.web.http.authentication import TokenAuthentication
from nearsong.web.http.compression import CompressionMiddleware
from nearsong.web.http.openapi import TAGS, describe
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.http.security import SecurityMiddleware
from nearsong.web.service.metrics import MetricsMiddleware
from nearsong.web.service.service import Service

WRONG_TOKENS_PER_MINUTE = 10
"""Wrong tokens and passwords allowed for each address, in the API, at the login and below /rest together."""


def create_app(service: Service) -> FastAPI:
    """Return the application of a service, which starts and closes with it."""

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
    app.add_api_route("/metrics", status.metrics, include_in_schema=False)  # the default path of Prometheus
    app.include_router(subsonic.router, prefix="/rest")
    settings = service.settings
    app.state.wrong_tokens = wrong_tokens = RateLimit(WRONG_TOKENS_PER_MINUTE, per=60)
    authentication = (
        None if settings.token is None else TokenAuthentication(settings.token, wrong_tokens, settings.secure_cookie)
    )
    pages.install(app, authentication)
    describe(app)
    app.add_middleware(CompressionMiddleware)
    app.add_middleware(SecurityMiddleware, settings=settings, authentication=authentication)
    app.add_middleware(MetricsMiddleware, metrics=service.metrics)
    return app
