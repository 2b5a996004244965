"""What tests of the service share: a service on a trained library, clients of it, and a server that really runs."""

import io
import logging
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import soundfile
from anyio.from_thread import start_blocking_portal

import foreign_music
import music_library
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library
from nearsong.library.store.database import Database
from nearsong.web.app import create_app
from nearsong.web.jobs import process
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.media.converted import Conversions
from nearsong.web.service.service import Service
from nearsong.web.service.writes import WriteQueue
from nearsong.web.settings import ServeSettings
from required import require
from running_service import running
from shared_folder import made_by_one_worker
from waiting import wait_for

ADDRESS = "http://127.0.0.1:8337"
LONG_SECONDS = 90


async def _use_anyio() -> None:
    async with await anyio.open_file(__file__) as file, anyio.create_task_group() as group:
        group.start_soon(file.read)


# anyio imports itself piece by piece as it is used, and pytest, which rewrites it because it is a plugin, parses each
# piece; Python 3.11 cannot make syntax trees in two threads at once. So all pieces are imported here, in one thread.
anyio.run(_use_anyio)


class InProcess(httpx.BaseTransport):
    """Speaks to an application without a network, from a test that is no coroutine."""

    def __init__(self, app: Any, address: str) -> None:
        self._app = app
        self._transport = httpx.ASGITransport(app=app, raise_app_exceptions=False, client=(address, 4321))
        self._running = ExitStack()
        self._portal = self._running.enter_context(start_blocking_portal())
        self._running.enter_context(self._portal.wrap_async_context_manager(app.router.lifespan_context(app)))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = httpx.ByteStream(request.read())  # a stream, to which httpx adds no second length
        complete = httpx.Request(request.method, request.url, headers=request.headers, stream=body)
        return self._portal.call(self._answer, complete)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        body = b"".join([part async for part in response.stream])
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(body))

    def close(self) -> None:
        self._running.close()


class Client(httpx.Client):
    """A client that knows the service behind it."""

    def __init__(self, service: Service, address: str, caller: str) -> None:
        self.service = service
        super().__init__(transport=InProcess(create_app(service), caller), base_url=address)


@pytest.fixture
def make_client(trained, monkeypatch) -> Iterator[Callable[..., Client]]:
    """Return a function that makes clients of services with other settings, on the same trained library."""
    monkeypatch.setattr("nearsong.web.service.service.POLL_SECONDS", 0.05)
    with ExitStack() as open_ones:

        def make(
            library: Library | None = None, address: str = ADDRESS, caller: str = "127.0.0.1", **settings: Any
        ) -> Client:
            service = Service(trained if library is None else library, ServeSettings(**settings))
            return open_ones.enter_context(Client(service, address, caller))

        yield make


@pytest.fixture
def client(make_client) -> Client:
    """A client of a service on a trained library; ``client.service`` is the service."""
    return make_client()


@pytest.fixture(scope="module")
def shared_client(trained_file, tmp_path_factory) -> Iterator[Callable[..., Client]]:
    """Return a function that gives the tests of a file one client per settings, for requests that change nothing."""
    made: dict[str, Client] = {}
    library_file = shutil.copy(trained_file, tmp_path_factory.mktemp("shared") / "library.sqlite")
    with Library.open(library_file) as library, ExitStack() as open_ones:

        def give(**settings: Any) -> Client:
            key = repr(sorted(settings.items()))
            if key not in made:
                service = Service(library, ServeSettings(**settings))
                made[key] = open_ones.enter_context(Client(service, ADDRESS, "127.0.0.1"))
            return made[key]

        yield give


class EventStream(io.StringIO):
    """Gives each line that a job writes to who follows it."""

    def __init__(self, follow: Callable[[bytes], None]) -> None:
        super().__init__()
        self._follow = follow

    def flush(self) -> None:
        self._follow(self.getvalue().encode())
        self.seek(0)
        self.truncate()


@pytest.fixture
def jobs_here(monkeypatch) -> None:
    """Run jobs in a thread of this process, which costs no imports; a queue with a command of its own runs that."""
    run = JobQueue._run

    def run_here(queue: JobQueue, job: Any) -> Any:
        if queue.command[-1] != process.__name__:
            return run(queue, job)
        errors: list[str | None] = []
        writer = process.ProgressWriter(EventStream(lambda line: errors.append(queue._read_event(job, line))))
        try:
            process.run({**job.spec.model_dump(mode="json"), "address": queue._address}, writer)
        except Exception as error:
            writer.error(process.error_words(error))
        return queue._outcome(job, 1, next(filter(None, errors), None), b"")

    monkeypatch.setattr(JobQueue, "_run", run_here)


@pytest.fixture
def service(client) -> Service:
    """The service behind ``client``."""
    return client.service


@pytest.fixture
def empty_client(make_client, tmp_path) -> Iterator[Client]:
    """A client of a service on a library without songs."""
    with Library.open(tmp_path / "empty" / "library.sqlite") as library:
        client = make_client(library)
        yield client
        client.close()


@pytest.fixture(scope="session")
def served(trained_file, tmp_path_factory) -> Iterator[str]:
    """The address of a server that really runs, with a trained library of its own."""
    library_file = shutil.copy(trained_file, tmp_path_factory.mktemp("served") / "library.sqlite")
    with Library.open(library_file) as library, running(library, ServeSettings(port=0)) as address:
        yield address


@pytest.fixture(autouse=True)
def _writes_are_queued(monkeypatch) -> Iterator[None]:
    """Fail every test in which a request writes to the library outside of the write queue."""
    in_queue, wrong = threading.local(), []
    run, writing = WriteQueue.run, Database.writing

    def flagged(write: Callable[..., Any], *arguments: Any) -> Any:
        in_queue.now = True
        try:
            return write(*arguments)
        finally:
            in_queue.now = False

    async def run_flagged(self: WriteQueue, write: Callable[..., Any], *arguments: Any) -> Any:
        return await run(self, flagged, write, *arguments)

    def checked(self: Database, *arguments: Any) -> Any:
        name = threading.current_thread().name
        if name.startswith(("AnyIO", "nearsong-batch")) and not getattr(in_queue, "now", False):
            wrong.append("".join(traceback.format_stack(limit=8)))
        return writing(self, *arguments)

    monkeypatch.setattr(WriteQueue, "run", run_flagged)
    monkeypatch.setattr(Database, "writing", checked)
    yield
    assert not wrong, f"written outside of the write queue:\n{wrong[0]}"


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("httpx").setLevel(logging.WARNING)


# ---------------------------------------------------------------- a real browser


@pytest.fixture(scope="session")
def real_browser() -> Iterator[Any]:
    """Chromium, started once; tests skip where there is none."""
    import browsing

    require("browser", browsing.CHROMIUM is not None, "there is no chromium on this machine")
    browser = browsing.RealBrowser()
    yield browser
    browser.close()


@pytest.fixture
def visit(real_browser) -> Iterator[Any]:
    """Open pages of a server: ``visit(address, "#/map")``; at the end nothing may have gone wrong in them.

    Ask for it after a server of one's own: the pages close before the server does.
    """
    import browsing

    real_browser.wake()
    visits = browsing.Visits(real_browser)
    try:
        yield visits
        visits.close()
    finally:
        real_browser.rest()


@pytest.fixture(scope="session")
def serving() -> Callable[..., running]:
    """A function that serves a library while a block runs: ``with serving(library, token="...") as address``."""

    def serve(library: Library, **settings: Any) -> running:
        return running(library, ServeSettings(**{"port": 0} | settings))

    return serve


@pytest.fixture
def own_server(trained_file, tmp_path) -> Iterator[str]:
    """The address of a server whose library may be changed."""
    library_file = shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(library_file) as library, running(library, ServeSettings(port=0)) as address:
        yield address


@pytest.fixture
def long_server(trained_file, serving, tmp_path):
    """A server that has three songs of a minute and a half."""
    folder = tmp_path / "music" / "Long Player"
    folder.mkdir(parents=True)
    for number in (1, 2, 3):
        file = folder / f"Long {number}.wav"
        soundfile.write(file, music_library.sound(0, number, LONG_SECONDS), music_library.RATE)
        write_tags(file, Tags("Long Player", f"Long {number}", "Long", "low hum", 2001))
    shutil.copy(trained_file, tmp_path / "library.sqlite")
    with Library.open(tmp_path / "library.sqlite") as library:
        library.scan(tmp_path / "music", workers=1)
        with serving(library) as address:
            yield address


@pytest.fixture(scope="session")
def scanned_file(styled_music, tmp_path_factory) -> Path:
    """A library with songs of a few artists, and no listens; copy it before you change it."""

    def make(folder: Path) -> None:
        for artist in range(6):
            name = music_library.artist_name(artist)
            shutil.copytree(styled_music / name, folder / "music" / name)
        with Library.open(folder / "library.sqlite") as library:
            library.scan(folder / "music", workers=1)

    return made_by_one_worker(tmp_path_factory, "scanned", make) / "library.sqlite"


# ---- songs that browsers cannot play


@pytest.fixture(scope="session")
def foreign_file(trained_file, tmp_path_factory) -> Path:
    """A library with songs of foreign formats; copy it before you change it."""

    def make(folder: Path) -> None:
        foreign_music.make_library(trained_file, folder)

    return made_by_one_worker(tmp_path_factory, "foreign", make) / "library.sqlite"


@pytest.fixture
def foreign(foreign_file, tmp_path):
    """A library with songs of foreign formats, which may be changed."""
    with Library.open(foreign_music.move_library(foreign_file, tmp_path)) as library:
        yield library


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


class Held:
    """Holds back conversions until they are let go, and counts them."""

    def __init__(self, monkeypatch) -> None:
        self.begun: list[str] = []
        self.gate = threading.Event()
        convert = Conversions._convert

        def held(conversions, wanted):
            self.begun.append(wanted.song.title)
            assert self.gate.wait(60)
            convert(conversions, wanted)

        monkeypatch.setattr(Conversions, "_convert", held)

    def until(self, n: int) -> None:
        wait_for(lambda: len(self.begun) >= n)


@pytest.fixture
def held(monkeypatch) -> Held:
    return Held(monkeypatch)
