"""Requests for songs similar to one song, as most clients send them -> answers, without routing and validation.

The way through the router takes longer than the search of 100,000 songs (decision 35). A request is taken here if its
address consists of known parameters in their usual form; all others, those with mistakes among them, go on to the
route in `similar`, which would give the same answer to those that are taken.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from nearsong.errors import NearsongError
from nearsong.library import Filters
from nearsong.library import Query as SongQuery
from nearsong.web.api.similar import MAX_SIMILAR, similar
from nearsong.web.http.problems import of_error
from nearsong.web.json.answers import Json
from nearsong.web.service.service import Service

PATH = "/api/v1/similar"

_ID = re.compile(rb"[1-9][0-9]{0,17}")
_NUMBER = re.compile(rb"[1-9][0-9]{0,2}")
_METRICS = {b"active": "active", b"native": "native"}
_FLAGS = {b"true": True, b"false": False}
_NAMES = frozenset({b"seed", b"n", b"metric", b"one_per_artist", b"new_artists"})


@dataclass(frozen=True, slots=True)
class UsualQuery:
    """The parameters of a request for songs similar to one song."""

    seed: int
    n: int
    metric: str
    filters: Filters


def usual_query(query: bytes) -> UsualQuery | None:
    """Return what the query of an address asks for; None if it is not in the usual form.

    >>> usual_query(b"seed=7&n=20").n, usual_query(b"seed=7").metric
    (20, 'active')
    >>> [usual_query(query) for query in (b"seed=7&seed=8", b"seed=%37", b"seed=7&n=201", b"seed=7&genre=pop", b"")]
    [None, None, None, None, None]
    """
    parts = query.split(b"&")
    given = {name: value for name, _, value in (part.partition(b"=") for part in parts)}
    if len(given) != len(parts) or not given.keys() <= _NAMES:
        return None
    seed, n = given.get(b"seed", b""), given.get(b"n", b"10")
    metric = _METRICS.get(given.get(b"metric", b"active"))
    per_artist = _FLAGS.get(given.get(b"one_per_artist", b"false"))
    new_artists = _FLAGS.get(given.get(b"new_artists", b"false"))
    is_usual = _ID.fullmatch(seed) and _NUMBER.fullmatch(n) and int(n) <= MAX_SIMILAR
    if not is_usual or metric is None or per_artist is None or new_artists is None:
        return None
    return UsualQuery(int(seed), int(n), metric, _filters(per_artist, new_artists))


@lru_cache
def _filters(per_artist: bool, new_artists: bool) -> Filters:
    return Filters(one_per_artist=per_artist, new_artists=new_artists)


class QuickSimilar:
    """Answers the usual requests for similar songs, and passes on all others.

    Parameters
    ----------
    app : ASGI application
        With the route that the requests would have taken.
    service : Service
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        is_for_us = scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET"
        query = usual_query(scope["query_string"]) if is_for_us else None
        snapshot = self._service.loaded
        if query is None or snapshot is None or not snapshot.is_ready(query.metric):
            await self.app(scope, receive, send)
            return
        scope["endpoint"] = similar  # as the router notes it, for the metrics
        try:
            asked = SongQuery([snapshot.seed(query.seed, query.metric)], query.n, query.filters)
            body = await self._service.similar_batcher.submit((snapshot, query.metric), asked)
        except NearsongError as error:
            await of_error(error)(scope, receive, send)
            return
        await Json(body)(scope, receive, send)
