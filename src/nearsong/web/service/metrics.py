"""Requests and the state of the service -> metrics for Prometheus."""

import time
from collections import Counter as Counts
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from nearsong.library import Snapshot
    from nearsong.web.jobs.queue import JobQueue

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class ObservedService(Protocol):
    """The state of a service that metrics report."""

    jobs: "JobQueue"

    @property
    def loaded(self) -> "Snapshot | None":
        """The newest snapshot."""


class Metrics:
    """Counters and histograms, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("nearsong_requests", "Requests.", labels, registry=self.registry)
        self.seconds = Histogram(
            "nearsong_request_seconds",
            "Time to first byte.",
            ("route",),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.runs = Counter(
            "nearsong_automatic_runs", "What the service did by itself.", ("task", "state"), registry=self.registry
        )
        self.uploads = Counter("nearsong_uploads", "Uploaded files by result.", ("result",), registry=self.registry)

    def watch(self, service: "ObservedService") -> None:
        """Report the songs, the model and the jobs of a service as well."""
        self.registry.register(_ServiceCollector(service))

    def count_run(self, task: str, state: str) -> None:
        """Count something that the service did by itself."""
        self.runs.labels(task, state).inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _ServiceCollector(Collector):
    """Reads the state of a service whenever metrics are collected."""

    def __init__(self, service: "ObservedService") -> None:
        self._service = service

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        loaded = self._service.loaded
        songs = 0 if loaded is None else len(loaded.space.songs)
        yield GaugeMetricFamily("nearsong_songs", "Songs in the library.", value=songs)
        yield GaugeMetricFamily("nearsong_model", "Id of the active model.", value=loaded.model.id if loaded else 0)
        states = GaugeMetricFamily("nearsong_jobs", "Jobs by state.", labels=("state",))
        found = Counts(job.state for job in self._service.jobs.all())
        for state in ("pending", "running", "done", "failed", "cancelled"):
            states.add_metric((state,), found[state])
        yield states


class MetricsMiddleware:
    """Counts and times the requests of an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and measure it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500
        took: float | None = None

        async def send_timed(message: Message) -> None:
            nonlocal status, took
            if message["type"] == "http.response.start":
                status, took = message["status"], time.perf_counter() - begun
            await send(message)

        try:
            await self.app(scope, receive, send_timed)
        finally:
            route = _route_of(scope)
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.requests.labels(method, route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - begun if took is None else took)


def _route_of(scope: Scope) -> str:
    """Return the route of a request, with names for its parameters: the number of labels stays bounded."""
    path: str = scope["path"]
    if path.startswith("/static/"):
        return "/static"
    if "endpoint" not in scope:
        return "other"
    for name, value in scope.get("path_params", {}).items():
        if "/" in str(value):  # the rest of an address
            path = path.removesuffix(str(value)) + f"{{{name}}}"
    names = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
    return "/".join(names.get(part, part) for part in path.split("/"))
