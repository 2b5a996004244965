"""Requests and what the service holds -> numbers for Prometheus."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from nearsong.web.service import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Metrics:
    """Counts, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("nearsong_requests", "Requests.", labels, registry=self.registry)
        self.seconds = Histogram(
            "nearsong_request_seconds", "Until the answer began.", ("route",), registry=self.registry, buckets=BUCKETS
        )
        self.uploads = Counter(
            "nearsong_uploads", "Files that were sent, by how it ended.", ("result",), registry=self.registry
        )

    def watch(self, service: "Service") -> None:
        """Tell of a service too: its songs, its model, its jobs."""
        self.registry.register(_Watch(service))

    def text(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return generate_latest(self.registry)


class _Watch(Collector):
    """Looks at a service when somebody asks."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        loaded = self._service.loaded
        songs = 0 if loaded is None else len(loaded.space.songs)
        yield GaugeMetricFamily("nearsong_songs", "Songs that can be compared.", value=songs)
        yield GaugeMetricFamily(
            "nearsong_model", "Number of the model that answers.", value=loaded.model.id if loaded else 0
        )
        states = GaugeMetricFamily("nearsong_jobs", "Scans, trainings and maps by state.", labels=("state",))
        found: dict[str, int] = {}
        for job in self._service.jobs.all():
            found[job.state] = found.get(job.state, 0) + 1
        for state in ("waiting", "running", "done", "failed", "cancelled"):
            states.add_metric((state,), found.get(state, 0))
        yield states


class Measured:
    """Counts what goes through an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500
        took: float | None = None

        async def sending(message: Message) -> None:
            nonlocal status, took
            if message["type"] == "http.response.start":
                status, took = message["status"], time.perf_counter() - begun
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            route = _route_of(scope)
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.requests.labels(method, route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - begun if took is None else took)


def _route_of(scope: Scope) -> str:
    """Return the address as the API has it, with names for what varies: there are only so many of them."""
    path: str = scope["path"]
    for start in ("/static", "/docs/ui"):
        if path.startswith(start + "/"):
            return start
    if "endpoint" not in scope:
        return "other"
    names = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
    return "/".join(names.get(part, part) for part in path.split("/"))
