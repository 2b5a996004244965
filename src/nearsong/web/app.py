"""A service -> the application: the API below /api/v1, protocols of players, the page and its files, /docs.

Players speak OpenSubsonic below /rest, ListenBrainz below /1 and Last.fm at /2.0.

Middleware from the outside in: metrics, security (who may pass, headers, errors), compression, the short
way to similar songs.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from nearsong import __version__
from nearsong.web import login, pages, subsonic
from nearsong.web.api import (
    for_you,
    jobs,
    listeners,
    map,
    model,
    navidrome,
    playlists,
    plays,
    query,
    reactions,
    similar,
    songs,
    status,
)
from nearsong.web.api.browsing import albums, home
from nearsong.web.api.browsing.first_answers import first_answers
from nearsong.web.api.quick_similar import QuickSimilar
from nearsong.web.api.settings import automation, connection, files, folders, listens, models
from nearsong.web.http import problems
from nearsong.web.http.authentication import Authentication
from nearsong.web.http.compression import CompressionMiddleware
from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.openapi import TAGS, describe
from nearsong.web.http.security import SecurityMiddleware
from nearsong.web.scrobbling import lastfm, listenbrainz
from nearsong.web.service.account_watch import authentication_of
from nearsong.web.service.metrics import MetricsMiddleware
from nearsong.web.service.service import Service


def create_app(service: Service, authentication: Authentication | None = None) -> FastAPI:
    """Return the application of a service, which starts and closes with it.

    ``authentication`` may be one that has let callers in before.
    """

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
    music = (status, songs, albums, similar, navidrome, home, for_you, query, playlists, map)
    of_library = (files, folders, listens, models, listeners, automation, connection)
    for part in (*music, plays, reactions, model, jobs, *of_library):
        api.include_router(part.router)
    app.include_router(api)
    app.add_api_route(
        "/metrics", status.metrics, dependencies=[ADMIN], include_in_schema=False
    )  # the default path of Prometheus
    app.include_router(subsonic.router, prefix="/rest")
    app.include_router(listenbrainz.router, prefix="/1")
    app.include_router(lastfm.router)
    settings = service.settings
    if authentication is None:
        authentication = authentication_of(service.accounts, settings, service.shared)
    app.state.authentication = authentication
    app.state.wrong_tokens = authentication.failures
    pages.install(app.router, authentication, lambda: first_answers(service))
    login.install(app, authentication)
    describe(app)
    app.add_middleware(QuickSimilar, service=service)
    app.add_middleware(CompressionMiddleware)
    app.add_middleware(SecurityMiddleware, settings=settings, authentication=authentication)
    app.add_middleware(MetricsMiddleware, metrics=service.metrics)
    return app
