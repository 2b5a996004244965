"""A library -> what all requests share: the newest snapshot, kept fresh in the background; jobs; uploads.

No request waits for a change: a thread looks for one about once a second, loads and warms the new snapshot, then
swaps it for the old one. Only the first requests wait: until the songs are read, and each for what it needs of them.
"""

import logging
import threading
import time
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from nearsong.errors import EmptyLibraryError, NearsongError
from nearsong.library import Library
from nearsong.web.asking import Asking
from nearsong.web.converted import Conversions
from nearsong.web.covers import Covers
from nearsong.web.heavy import Heavy
from nearsong.web.jobs import Jobs
from nearsong.web.limits import RateLimit
from nearsong.web.map_answer import MapAnswer
from nearsong.web.metrics import Metrics
from nearsong.web.near_answers import near_answers
from nearsong.web.settings import ServeSettings
from nearsong.web.uploads import Uploads

if TYPE_CHECKING:
    from nearsong.library.snapshot import Snapshot

log = logging.getLogger("nearsong.web")

LOOK_SECONDS = 1.0
"""How often to look whether the library has changed."""

GATHER_SECONDS = 600.0
"""How often what was played becomes listens: all that is counted from listens is counted anew each time."""

PLAYS_PER_MINUTE = 1_000
"""Plays that one address may tell: a player that was offline tells of many at once."""

CLOSE_SECONDS = 10.0
"""How long a look at the library may still take when all ends; a database that hangs could take for ever."""

MOST_SAID = 5
"""Different troubles of which the log tells until the library is back."""


class Service:
    """What the routes share.

    Parameters
    ----------
    library : Library
        Stays open while the service runs; whoever opened it closes it.
    settings : ServeSettings, optional

    Attributes
    ----------
    jobs : Jobs
        Scans, trainings and maps in processes of their own.
    uploads : Uploads
        Files that are sent to be heard.
    conversions : Conversions
        Songs in forms that browsers and players can play.
    job_limit : RateLimit
        How often one address may start work or change the model.
    play_limit : RateLimit
        How often one address may tell that something was played.
    asking : Asking
        Answers questions for near songs, those of many requests together.
    heavy : Heavy
        The turns of questions that take a while.
    covers : Covers
    map_answer : MapAnswer
    metrics : Metrics
    """

    def __init__(self, library: Library, settings: ServeSettings | None = None) -> None:
        self.library = library
        self.settings = settings or ServeSettings()
        self.metrics = Metrics()
        self.job_limit = RateLimit(self.settings.jobs_per_hour, per=3600)
        self.play_limit = RateLimit(PLAYS_PER_MINUTE, per=60)
        self.heavy = Heavy()
        self.covers = Covers()
        self.map_answer = MapAnswer()
        self.jobs = Jobs(library.place)
        self.uploads = Uploads(self.settings)
        self.conversions = Conversions()
        self.asking = Asking(near_answers)
        self._loading = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._gathered = time.monotonic()
        self.metrics.watch(self)

    @property
    def snapshot(self) -> "Snapshot":
        """The library as it was a moment ago.

        Raises
        ------
        EmptyLibraryError
            If there are no songs yet.
        """
        return self._snapshot or self._first()

    @property
    def loaded(self) -> "Snapshot | None":
        """The snapshot if there is one; nobody waits for it."""
        return self._snapshot

    def refresh(self, *, now: bool = False) -> None:
        """Look for a change, and wait until it can be seen; with ``now``, also of songs that have just come."""
        with self._loading:
            kept = self._snapshot
            if kept is not None and kept.stamp == self.library.stamp():
                return
            try:
                newest = self.library.snapshot(now=now)
                if newest is not kept and kept is not None:  # the old one answers meanwhile
                    newest.warm()
                self._snapshot = newest
            except EmptyLibraryError:
                self._snapshot = None

    def start(self) -> None:
        """Begin to look for changes."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._look, name="nearsong-refresh", daemon=True)
        self._thread.start()
        self.uploads.start()
        self.conversions.start()

    def close(self) -> None:
        """Stop what runs in the background, and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            self._thread = None
        self.asking.close()
        self.uploads.close()
        self.conversions.close()
        self.jobs.close()

    def _first(self) -> "Snapshot":
        self.refresh()
        found = self._snapshot
        if found is None:
            raise EmptyLibraryError("there are no songs yet; scan a folder of music first.")
        return found

    def _look(self) -> None:
        ended: set[str] = set()
        said: set[str] = set()
        while not self._stop.is_set():
            try:
                ended = self._look_once(ended)
                if said:
                    log.warning("the library can be read again.")
                    said.clear()
            except Exception as error:  # a library that is busy or gone may be back a second later
                what = f"{type(error).__name__}: {error}"
                if what not in said and len(said) < MOST_SAID:  # not every second until it is
                    said.add(what)
                    unforeseen = not isinstance(error, NearsongError)
                    level = logging.ERROR if unforeseen else logging.WARNING
                    log.log(level, "the library could not be read anew: %s", error, exc_info=unforeseen)
            self._stop.wait(LOOK_SECONDS)
        self._gather_plays()

    def _look_once(self, ended: set[str]) -> set[str]:
        """Bring what is new, also of jobs other than those that had ended before; return those that have by now."""
        over = {job.id for job in self.jobs.all() if job.ended is not None}
        self.refresh(now=not over <= ended)  # what a job has brought is not to go unseen
        newest = self._snapshot
        if newest is not None and not newest.warming:
            newest.warm()  # the first one, behind the first answers
        if time.monotonic() - self._gathered >= GATHER_SECONDS:
            self._gather_plays()
        return over

    def _gather_plays(self) -> None:
        """Let what was played since the last time count as listens; what fails now may work the next time."""
        self._gathered = time.monotonic()
        try:
            if self.settings.plays and self.library.played.waiting():
                self.library.played.gather()
        except NearsongError as error:
            log.warning("what was played could not be made a listening history yet: %s", error)


def service_of(request: Request) -> Service:
    """Return the service of the application that a request came to."""
    service: Service = request.app.state.service
    return service


async def _shared(request: Request) -> Service:
    """Return the service to a route; a plain function would be called in a thread of its own, for each request."""
    return service_of(request)


Shared = Annotated[Service, Depends(_shared)]
"""What a route takes to get the service."""
