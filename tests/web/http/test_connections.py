"""Clients that hold connections and send nothing, on a running server: others are answered all the same."""

import asyncio
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from nearsong.web import server
from nearsong.web.http import connections
from nearsong.web.http.connections import max_connections
from nearsong.web.http.logs import REPEAT_SECONDS, WithoutRepeats, filter_logs
from nearsong.web.opening import OpeningApp
from nearsong.web.settings import ServeSettings
from running_service import running

HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LOGIN = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture
def reach(served, monkeypatch):
    """A function that connects to a server with short time limits; ``reach.address`` is its address."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr("nearsong.web.http.security.MAX_BODY_SECONDS", 0.6)
    with ExitStack() as open_ones:

        def connect(sent: bytes = b"") -> socket.socket:
            caller = open_ones.enter_context(socket.create_connection(("127.0.0.1", int(served.rsplit(":")[-1]))))
            caller.settimeout(30)
            caller.sendall(sent)
            return caller

        connect.address = served
        yield connect


def received(caller: socket.socket) -> bytes:
    """Return all that a client receives until the server closes the connection."""
    parts = []
    with suppress(ConnectionResetError):
        while part := caller.recv(65536):
            parts.append(part)
    return b"".join(parts)


@contextmanager
def dripping(caller: socket.socket) -> Iterator[None]:
    """Send a byte now and then."""
    ended = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            while not ended.wait(0.1):
                caller.sendall(b"a")

    with ThreadPoolExecutor(1) as threads:
        threads.submit(drip)
        try:
            yield
        finally:
            ended.set()


# ---- time limits


@pytest.mark.parametrize("sent", [b"", b"G", HEALTH[:-2], HEALTH[:-2] + b"X: "])
def test_a_request_whose_head_does_not_arrive_is_disconnected(reach, sent):
    assert received(reach(sent)) == b""


@pytest.mark.parametrize(
    "sent",
    [
        HEALTH[:-2] + b"X: ",
        HEALTH + HEALTH[:-2] + b"X: ",
        LOGIN + b"Origin: https://evil.example\r\nContent-Length: 99999\r\n\r\n",  # refused before it is read
    ],
)
def test_a_byte_now_and_then_extends_no_time_limit(reach, sent):
    caller = reach(sent)
    with dripping(caller):
        assert received(caller).count(b"HTTP/1.1") == (0 if sent.startswith(HEALTH[:-2] + b"X") else 1)


def test_a_body_that_does_not_come_ends_in_a_problem(reach):
    answer = received(reach(LOGIN + b"Content-Length: 20\r\n\r\ntoken=x"))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    assert b"the request did not arrive within 0.6 s" in answer


def test_the_time_limit_of_a_body_is_for_all_of_it(reach):
    caller = reach(LOGIN + b"Content-Length: 99999\r\n\r\n")
    with dripping(caller):
        assert received(caller).startswith(b"HTTP/1.1 408 ")


def test_a_connection_serves_several_requests(reach):
    caller = reach()
    for pause in (0.2, 0.7, 0.0, 0.7):  # together longer than a head may take
        time.sleep(pause)
        if pause:
            caller.sendall(HEALTH[:10])
        caller.sendall(HEALTH[10 if pause else 0 :])
        answer = b""
        while b"}" not in answer:
            answer += caller.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 ")


# ---- two lengths


CHUNKED = b"5\r\ntoken\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        b"transfer-encoding: CHUNKED\r\ncontent-length: 15\r\n",
    ],
)
def test_a_request_with_two_lengths_is_refused_and_what_follows_it_is_not_read(reach, lengths):
    answer = received(reach(LOGIN + lengths + b"\r\n" + CHUNKED + HEALTH))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.lower()
    assert b"send Content-Length or Transfer-Encoding, not both" in answer


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nX: y\r\ncontent-length: 5\r\n",
        b"Content-Length: 5, 5\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: -5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length : 5\r\n",
        b"Content-Length: 5\r\n 5\r\n",
        b"Content-Length: 5\n",
        b"X: y\r\n z\r\nContent-Length: 5\r\n",
        b"X: y\r\n\tz\r\nContent-Length: 5\r\n",
        b"X: y\rContent-Length: 5\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused_and_what_follows_it_is_not_read(reach, head):
    answer = received(reach(LOGIN + head + b"\r\n" + b"token" + HEALTH))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"zz\r\ntoken\r\n0\r\n\r\n", 400),
        (b"-5\r\ntoken\r\n0\r\n\r\n", 400),
        (b"0x5\r\ntoken\r\n0\r\n\r\n", 400),
        (b"5\ntoken\n0\n\n", 400),
        (b"3\r\ntoken\r\n0\r\n\r\n", 400),
        (b"5\r\ntokenXX0\r\n\r\n", 400),
        (b"0" * 30 + b"5\r\ntoken\r\n0\r\n\r\n", 400),
        (b"f" * 20 + b"\r\ntoken\r\n0\r\n\r\n", 408),  # the rest never comes
    ],
)
def test_chunks_of_no_clear_size_are_refused_and_what_follows_them_is_not_read(reach, body, status):
    answer = received(reach(LOGIN + b"Transfer-Encoding: chunked\r\n\r\n" + body + HEALTH))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.count(b"HTTP/1.1") == 1


def test_an_ambiguous_head_is_refused_however_it_arrives_and_on_a_used_connection(reach):
    caller = reach(HEALTH)
    answer = b""
    while b"}" not in answer:
        answer += caller.recv(65536)
    for part in (LOGIN, b"Content-Length: 5\r\nContent-", b"Length: 5\r\n", b"\r", b"\ntoken" + HEALTH):
        caller.sendall(part)
        time.sleep(0.05)
    answer = received(caller)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_requests_in_a_row_whose_bodies_look_like_ambiguous_heads_are_answered(reach):
    body = b"token=x&more=\n y\nContent-Length: 5, 5\n\n"
    request = LOGIN + b"Content-Length: %d\r\n\r\n" % len(body) + body
    answer = received(reach(request + request + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))
    assert [line[9:12] for line in answer.splitlines() if line.startswith(b"HTTP/1.1")] == [b"303", b"303", b"200"]


def test_chunks_from_a_client_that_cannot_know_them_are_refused(reach):
    request = LOGIN.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Transfer-Encoding: chunked\r\n\r\n"
    assert b" 400 " in received(reach(request + CHUNKED)).splitlines()[0]


def test_a_request_with_one_length_is_answered(reach):
    for head, body in ((b"Content-Length: 7\r\n", b"token=x"), (b"Transfer-Encoding: chunked\r\n", CHUNKED)):
        answer = received(reach(LOGIN + head + b"Connection: close\r\n\r\n" + body))
        assert answer.startswith(b"HTTP/1.1 303 ")


# ---- many connections


@pytest.mark.parametrize("sent", [b"", HEALTH[:-2], LOGIN + b"Content-Length: 20\r\n\r\n"])
def test_hundreds_of_silent_clients_delay_nobody_and_are_disconnected(reach, sent):
    crowd = [reach(sent) for _ in range(200)]
    for _ in range(3):
        assert httpx.get(f"{reach.address}/api/v1/health", timeout=10).status_code == 200
    assert all(b"200" not in received(client) for client in crowd)


def lingering(answer, over):
    """Return a method with requests that go on until ``over``, whether or not their clients are there."""

    async def linger(app, scope, receive, send):
        while scope.get("path") == "/linger" and not over.is_set():
            await asyncio.sleep(0.05)
        await answer(app, scope, receive, send)

    return linger


@pytest.fixture
def crowded(trained, serving, monkeypatch):
    """A function that connects to a server that takes eight connections, from any address of loopback."""
    monkeypatch.setattr(server, "max_connections", lambda _files: 8)
    over = threading.Event()
    monkeypatch.setattr(OpeningApp, "__call__", lingering(OpeningApp.__call__, over))
    with serving(trained) as address, ExitStack() as open_ones:
        open_ones.callback(over.set)
        port = int(address.rsplit(":")[-1])

        def connect(sent: bytes = b"", source: str = "127.0.0.2") -> socket.socket:
            caller = socket.create_connection(("127.0.0.1", port), 30, (source, 0))
            caller.sendall(sent)
            return open_ones.enter_context(caller)

        connect.address = address
        yield connect


@pytest.mark.parametrize("sent", [b"", HEALTH[:-2], LOGIN + b"Content-Length: 20\r\n\r\n"])
def test_whoever_holds_more_connections_than_there_are_loses_them_and_others_are_answered(crowded, sent):
    for _ in range(3):
        for _ in range(12):
            crowded(sent)
        for _ in range(3):
            assert httpx.get(f"{crowded.address}/api/v1/health").status_code == 200


def test_requests_whose_clients_are_gone_leave_room_for_others(crowded):
    for _ in range(12):
        client = crowded(b"GET /linger HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert httpx.get(f"{crowded.address}/api/v1/health").status_code == 200
        client.close()


def test_connections_are_taken_from_the_address_that_has_most(crowded):
    patient = crowded(source="127.0.0.1")  # the first to come, and it has not said anything yet
    crowd = [crowded() for _ in range(20)]
    assert received(crowd[0]) == b""
    patient.sendall(HEALTH)
    assert patient.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_runs_is_closed_after_those_that_have_not_begun(crowded):
    busy = crowded(LOGIN + b"Content-Length: 7\r\nConnection: close\r\n\r\ntok")
    assert httpx.get(f"{crowded.address}/api/v1/health").status_code == 200  # so the other request is read by now
    crowd = [crowded() for _ in range(20)]
    assert received(crowd[0]) == b""
    busy.sendall(b"en=x")
    assert received(busy).startswith(b"HTTP/1.1 303 ")


# ---- files


def test_there_are_two_files_for_each_connection():
    for files in (128, 256, 512, 1024, 4096, 65_536):
        assert 2 * max_connections(files) + 30 < files


def test_the_file_limit_is_raised_as_far_as_the_system_allows():
    script = (
        "import resource as r; from nearsong.web.http.connections import file_limit, raise_file_limit;"
        "r.setrlimit(r.RLIMIT_NOFILE, (100, 900)); print(file_limit()); raise_file_limit(); print(file_limit())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["100", "900"]


# ---- an end in the middle of an upload


def test_an_upload_that_a_shutdown_interrupts_gets_a_503_and_the_log_no_traceback(
    trained, serving, monkeypatch, capsys
):
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.3)
    answer = []
    with serving(trained) as address:
        caller = socket.create_connection(("127.0.0.1", int(address.rsplit(":")[-1])))
        caller.settimeout(30)
        caller.sendall(
            b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            b"Content-Length: 999\r\n\r\n--b\r\n"
            b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'
        )
        listening = threading.Thread(target=lambda: answer.append(received(caller)))
        listening.start()
        time.sleep(0.5)
    listening.join()
    caller.close()
    assert answer[0].startswith(b"HTTP/1.1 503 ")
    assert b"the service is stopping" in answer[0]
    assert b"connection: close" in answer[0].lower()
    assert "Traceback" not in capsys.readouterr().err


def test_the_log_mentions_too_many_connections_once_a_minute():
    now = [0.0]
    repeats = WithoutRepeats("Exceeded concurrency limit", clock=lambda: now[0])
    full = logging.makeLogRecord({"msg": "Exceeded concurrency limit."})
    other = logging.makeLogRecord({"msg": "another problem"})
    assert [repeats.filter(full), repeats.filter(full), repeats.filter(other)] == [True, False, True]
    now[0] = REPEAT_SECONDS
    assert repeats.filter(full)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("uvicorn.error", "Exceeded concurrency limit."),
        ("asyncio", "socket.accept() out of system resource\nsocket: 7"),
    ],
)
def test_neither_too_many_connections_nor_too_few_files_flood_the_log(name, message):
    filter_logs()
    logger, record = logging.getLogger(name), logging.makeLogRecord({"msg": message})
    logger.filter(record)
    assert not logger.filter(record)
    assert logger.filter(logging.makeLogRecord({"msg": "another problem"}))


# ---- the end


def test_a_server_that_ends_leaves_no_connection_open_that_was_made_in_that_moment(trained, monkeypatch):
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.2)
    monkeypatch.setattr(connections.HeadTimeoutProtocol, "shutdown", lambda _made_later: None)
    with running(trained, ServeSettings(port=0)) as address:
        caller = socket.create_connection(("127.0.0.1", int(address.rsplit(":")[-1])))
        caller.settimeout(10)
        caller.sendall(HEALTH)
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come apart
            answer += caller.recv(65536)
    with caller:
        assert received(caller) == b""
