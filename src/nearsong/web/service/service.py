"""A library -> what all requests share: the current snapshot, refreshed in the background; jobs; uploads.

On PostgreSQL there may be other services; what they must know of each other is in the database (`SharedState`).

Requests never wait for a refresh: a thread checks for changes every second, loads and warms a new snapshot, then
replaces the old one. Only the first requests wait, each for the data it needs.
"""

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from nearsong.errors import EmptyLibraryError, NearsongError
from nearsong.library import GraphBuilder, Library, SharedState
from nearsong.temporary import remove_leftovers
from nearsong.web.http.callers import Caller, Callers, check_caller
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.jobs.shared_queue import SharedJobQueue
from nearsong.web.json.map import MapAnswer
from nearsong.web.json.similar import similar_batch_json
from nearsong.web.media.converted import Conversions
from nearsong.web.media.covers import Covers
from nearsong.web.media.moments import SharedMoments
from nearsong.web.media.song_lyrics import SongLyrics
from nearsong.web.media.uploads import Uploads
from nearsong.web.service.account_watch import AccountWatch
from nearsong.web.service.automation.automation import Automation
from nearsong.web.service.batching import QueryBatcher
from nearsong.web.service.concurrency import ConcurrencyLimit
from nearsong.web.service.memory import SparedMemory, give_back_memory
from nearsong.web.service.metrics import Metrics
from nearsong.web.service.now_playing import NowPlayingBoard, SharedPlaying
from nearsong.web.service.writes import LOCK_TIMEOUT_SECONDS, WriteQueue
from nearsong.web.settings import ServeSettings

if TYPE_CHECKING:
    from nearsong.library import Snapshot

log = logging.getLogger("nearsong.web")

POLL_SECONDS = 1.0
"""How often to check whether the library has changed."""

GATHER_SECONDS = 600.0
"""How often recorded plays become listens; each time, everything computed from listens is computed again."""

TRIM_SECONDS = 20.0
"""How often freed memory goes back to the system: replaced snapshots and the work on answers leave some."""

PLAYS_PER_MINUTE = 1_000
"""Plays that one address may report; a player that was offline reports many at once."""

CLOSE_SECONDS = 10.0
"""How long a check may still take at shutdown; a database that hangs could take forever."""

MAX_LOGGED_ERRORS = 5
"""Different errors that are logged until the library can be read again."""


class Service:
    """What the routes share.

    Parameters
    ----------
    library : Library
        Stays open while the service runs; the caller closes it. Its writes wait for others only for seconds.
    settings : ServeSettings, optional
    accounts : AccountWatch, optional
        Who may send requests, if that is known already; the service closes it.
    shared : SharedState, optional
        What it shares with other services, if that is known already.

    Attributes
    ----------
    shared : SharedState or None
        What services on a PostgreSQL database share; on SQLite there is one service.
    jobs : JobQueue
        Long tasks in processes of their own.
    uploads : Uploads
        Files to analyse.
    conversions : Conversions
        Songs in formats that browsers and players can play.
    job_limit : RateLimit
        How often one address may start jobs or change the model.
    play_limit : RateLimit
        How often one address may report plays.
    similar_batcher : QueryBatcher
        Similar songs for several requests at once.
    concurrency : ConcurrencyLimit
        Limits expensive requests.
    writes : WriteQueue
        Where requests that write to the library wait.
    now_playing : NowPlayingBoard
        What listeners play at the moment.
    covers : Covers
    lyrics : SongLyrics
    moments : SharedMoments
        Where two songs sound most alike.
    map_answer : MapAnswer
    metrics : Metrics
    accounts : AccountWatch
        Who may send requests.
    automation : Automation
        Scans, pulls and trains by itself.
    """

    def __init__(
        self,
        library: Library,
        settings: ServeSettings | None = None,
        accounts: AccountWatch | None = None,
        shared: SharedState | None = None,
    ) -> None:
        library.set_lock_timeout(LOCK_TIMEOUT_SECONDS)
        self.library = library
        self.shared = shared = library.shared_state() if shared is None else shared
        self.settings = settings or ServeSettings()
        self.metrics = Metrics()
        self.job_limit = RateLimit(self.settings.jobs_per_hour, per=3600)
        self.play_limit = RateLimit(PLAYS_PER_MINUTE, per=60)
        self.concurrency = ConcurrencyLimit()
        self.writes = WriteQueue(check=self.check_caller)
        self.now_playing = NowPlayingBoard(store=None if shared is None else SharedPlaying(shared.now_playing))
        self.covers = Covers(library)
        self.lyrics = SongLyrics(library)
        self.moments = SharedMoments(library)
        self.map_answer = MapAnswer()
        self.jobs = JobQueue(library.address) if shared is None else SharedJobQueue(library.address, shared)
        self.uploads = Uploads(self.settings)
        self.conversions = Conversions()
        self.similar_batcher = QueryBatcher(similar_batch_json)
        self._graphs = GraphBuilder()
        self._spared = SparedMemory()
        self._loading = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._gathered = self._trimmed = time.monotonic()
        self.metrics.watch(self)
        self._gathers = _alone if shared is None else shared.lease("plays").hold
        self.automation = Automation(
            library,
            self.jobs,
            is_running=self.settings.automatic,
            on_run=self.metrics.count_run,
            is_turn=_alone if shared is None else shared.lease("automation").hold,
        )
        self.accounts = AccountWatch(library, self.settings) if accounts is None else accounts
        self.accounts.on_gone = self.now_playing.forget

    @property
    def snapshot(self) -> "Snapshot":
        """The library as of a moment ago.

        Raises
        ------
        EmptyLibraryError
            If the library has no songs.
        """
        return self._snapshot or self._load_first()

    @property
    def loaded(self) -> "Snapshot | None":
        """The snapshot if it is loaded, else None."""
        return self._snapshot

    def refresh(self, *, now: bool = False) -> None:
        """Load a new snapshot if the library has changed; with ``now``, also for songs that were just added."""
        with self._loading:
            current = self._snapshot
            if current is not None and current.stamp == self.library.version_stamp():
                return
            try:
                newest = self.library.snapshot(now=now)
                if newest is not current and current is not None:  # which serves requests meanwhile
                    newest.warm()
                self._snapshot = newest
            except EmptyLibraryError:
                self._snapshot = None

    @property
    def callers(self) -> Callers:
        """Who may send requests, as of a moment ago."""
        return self.accounts.current

    def check_caller(self) -> Caller:
        """Return who sends the request that is being answered; raises if they may no longer."""
        return check_caller(self.callers)

    def start(self) -> None:
        """Start the background work, and remove what killed processes have left."""
        remove_leftovers()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="nearsong-refresh", daemon=True)
        self._thread.start()
        self.accounts.start()
        self.jobs.start()
        self.automation.start()

    def close(self) -> None:
        """Stop the background work, and wait for it."""
        self.automation.close()
        self.accounts.close()
        self._stop.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            self._thread = None
        self._graphs.close()
        self._spared.close()
        self.similar_batcher.close()
        self.uploads.close()
        self.conversions.close()
        self.covers.close()
        self.lyrics.close()
        self.moments.close()
        self.jobs.close()
        if self.shared is not None:
            with suppress(NearsongError):  # what it has is free soon in any case
                self.shared.leave()

    def _load_first(self) -> "Snapshot":
        self.refresh()
        snapshot = self._snapshot
        if snapshot is None:
            raise EmptyLibraryError("the library has no songs yet; scan a folder of music first.")
        return snapshot

    def _watch(self) -> None:
        ended: set[str] = set()
        logged: set[str] = set()
        while not self._stop.is_set():
            try:
                ended = self._check(ended)
                if logged:
                    log.warning("the library can be read again.")
                    logged.clear()
            except Exception as error:  # the library may be back a second later
                self._log_error(error, logged)
            self._stop.wait(POLL_SECONDS)
        self._gather_plays()

    def _log_error(self, error: Exception, logged: set[str]) -> None:
        """Log an error unless the same was logged since the library could last be read."""
        text = f"{type(error).__name__}: {error}"
        if text in logged or len(logged) >= MAX_LOGGED_ERRORS:
            return
        logged.add(text)
        is_unexpected = not isinstance(error, NearsongError)
        level = logging.ERROR if is_unexpected else logging.WARNING
        log.log(level, "the library could not be read: %s", error, exc_info=is_unexpected)

    def _check(self, ended_before: set[str]) -> set[str]:
        """Refresh the snapshot, at once if a job has ended since; return the jobs that have ended."""
        ended = {job.id for job in self.jobs.all() if job.ended is not None}
        self.refresh(now=not ended <= ended_before)
        snapshot = self._snapshot
        if snapshot is not None and not snapshot.warming:
            snapshot.warm()  # the first one, while it serves requests already
        if snapshot is not None:
            self._graphs.look_after(snapshot.space)
            self._spared.look_after(snapshot)
        if time.monotonic() - self._gathered >= GATHER_SECONDS:
            self._gather_plays()
        if time.monotonic() - self._trimmed >= TRIM_SECONDS:
            self._trimmed = time.monotonic()
            give_back_memory()
        return ended

    def _gather_plays(self) -> None:
        """Turn recorded plays into listens; what fails now is tried again the next time."""
        self._gathered = time.monotonic()
        try:
            if self.settings.plays and self._gathers() and self.library.play_log.pending():
                self.library.play_log.update_history()
        except NearsongError as error:
            log.warning("recorded plays could not be stored as a listening history yet: %s", error)


def _alone() -> bool:
    """Say that it is this service's turn, as there is no other."""
    return True


def service_of(request: Request) -> Service:
    """Return the service of a request's application."""
    service: Service = request.app.state.service
    return service


async def _shared(request: Request) -> Service:
    """Return the service to a route; a plain function would be called in a thread for each request."""
    return service_of(request)


Shared = Annotated[Service, Depends(_shared)]
"""The service, as a parameter of a route."""
