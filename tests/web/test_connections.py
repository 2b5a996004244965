"""Callers that hold connections and say nothing, on a server that really runs: others are answered all the same."""

import errno
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field

import httpx
import pytest

from nearsong.web import connections, server
from nearsong.web.connections import Listener, Room, most_connections, taken_at_once

HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LOGIN = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture
def reach(trained, serving):
    """A function that connects to a server with little patience; ``reach.address`` is where it is."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as open_ones:
        patch.setattr(connections, "HEAD_SECONDS", 1.0)
        patch.setattr("nearsong.web.security.BODY_SECONDS", 0.6)
        patch.setattr(connections, "PER_LOOPBACK", 20)
        address = open_ones.enter_context(serving(trained))

        def connect(said: bytes = b"") -> socket.socket:
            caller = open_ones.enter_context(socket.create_connection(("127.0.0.1", int(address.rsplit(":")[-1]))))
            caller.settimeout(30)
            caller.sendall(said)
            return caller

        connect.address = address
        yield connect


def heard(caller: socket.socket) -> bytes:
    """Return all that a caller is told until the other side ends it."""
    parts = []
    with suppress(ConnectionResetError):
        while part := caller.recv(65536):
            parts.append(part)
    return b"".join(parts)


def drip(caller: socket.socket, ended: threading.Event) -> None:
    """Send a letter now and then."""
    with suppress(OSError):
        while not ended.wait(0.1):
            caller.sendall(b"a")


# ---- patience


@pytest.mark.parametrize("said", [b"", b"G", HEALTH[:-2], HEALTH[:-2] + b"X: "])
def test_who_does_not_say_what_he_wants_is_let_go(reach, said):
    assert heard(reach(said)) == b""


@pytest.mark.parametrize(
    "said",
    [
        HEALTH[:-2] + b"X: ",
        HEALTH + HEALTH[:-2] + b"X: ",
        LOGIN + b"Origin: https://evil.example\r\nContent-Length: 99999\r\n\r\n",  # refused before it is read
    ],
)
def test_a_letter_now_and_then_buys_no_time(reach, said):
    caller, ended = reach(said), threading.Event()
    thread = threading.Thread(target=drip, args=(caller, ended))
    thread.start()
    try:
        assert heard(caller).count(b"HTTP/1.1") == (0 if said.startswith(HEALTH[:-2] + b"X") else 1)
    finally:
        ended.set()
        thread.join()


def test_a_body_that_does_not_come_ends_in_a_problem(reach):
    said = heard(reach(LOGIN + b"Content-Length: 20\r\n\r\ntoken=x"))
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in said
    assert b"the request did not arrive within 0.6 s" in said


def test_a_body_in_slow_letters_is_counted_as_a_whole(reach):
    caller, ended = reach(LOGIN + b"Content-Length: 99999\r\n\r\n"), threading.Event()
    thread = threading.Thread(target=drip, args=(caller, ended))
    thread.start()
    try:
        assert heard(caller).startswith(b"HTTP/1.1 408 ")
    finally:
        ended.set()
        thread.join()


def test_who_asks_in_time_may_ask_again_on_the_same_connection(reach):
    caller = reach()
    for pause in (0.2, 1.3, 0.0):  # longer than one may take for a head: between two requests that is no matter
        time.sleep(pause)
        if pause:
            caller.sendall(HEALTH[:10])
        caller.sendall(HEALTH[10 if pause else 0 :])
        said = b""
        while b"}" not in said:
            said += caller.recv(65536)
        assert said.startswith(b"HTTP/1.1 200 ")


# ---- places


@pytest.mark.parametrize("said", [b"", LOGIN + b"Content-Length: 20\r\n\r\n"])
def test_more_silent_callers_than_places_shut_nobody_out(reach, said):
    crowd = [reach(said) for _ in range(70)]
    for _ in range(3):
        assert httpx.get(f"{reach.address}/api/v1/health").status_code == 200
    assert sum(bool(select.select([caller], [], [], 0)[0]) for caller in crowd) >= 50  # the first made room


@dataclass(eq=False)
class Fake:
    is_waiting: bool = True
    ended: list = field(default_factory=list)

    def abort(self):
        self.ended.append(1)


def test_the_one_that_waits_for_longest_makes_room_and_never_one_that_is_answered():
    room = Room(8)
    busy, *others = (Fake(is_waiting=number > 0) for number in range(6))
    assert all(room.enter(each, "192.0.2.1") for each in (busy, *others))  # 6 of 8: three quarters
    assert room.enter(Fake(), "192.0.2.1")
    assert (busy.ended, others[0].ended, others[1].ended, len(room)) == ([], [1], [], 6)
    room.leave(others[0])
    room.leave(others[1])
    assert len(room) == 5


def test_where_all_are_answered_there_is_no_place():
    room = Room(8)
    assert all(room.enter(Fake(False), "192.0.2.1") for _ in range(6))
    assert not room.enter(Fake(), "192.0.2.1")
    assert room.enter(Fake(), "192.0.2.2")
    assert len(room) == 7


def test_a_full_room_takes_from_the_address_with_the_most():
    room = Room(8)
    first, *_ = crowd = [Fake() for _ in range(6)]
    few = [Fake(), Fake()]
    assert all(room.enter(each, "192.0.2.1") for each in crowd)
    assert all(room.enter(each, "192.0.2.2") for each in few)
    assert room.enter(Fake(), "192.0.2.3")
    assert first.ended
    assert not any(each.ended for each in (*crowd[1:], *few))
    assert len(room) == 8


@pytest.mark.parametrize(("address", "most"), [("192.0.2.1", 256), ("127.0.0.1", 1024), ("::", 1024), ("x", 256)])
def test_an_address_has_its_share(address, most):
    room = Room(10_000)
    for _ in range(most + 50):
        room.enter(Fake(), address)
    assert len(room) == most


def test_who_finds_no_place_is_told_so(reach, monkeypatch):
    monkeypatch.setattr(Room, "enter", lambda *_: False)
    said = heard(reach(HEALTH))
    assert said == b"" or said.startswith(b"HTTP/1.1 503 ")  # the system may drop it when more has come meanwhile
    quiet = heard(reach())
    assert quiet.startswith(b"HTTP/1.1 503 ")
    assert b"too many connections; try again in some seconds." in quiet


# ---- files


def test_each_connection_has_files_enough():
    for files in (128, 256, 512, 1024, 4096, 65_536):
        assert 2 * most_connections(files) + taken_at_once(files) + 30 < files


def test_the_limit_of_files_is_raised_as_far_as_it_may_be():
    script = (
        "import resource as r; from nearsong.web.connections import file_limit, raise_file_limit;"
        "r.setrlimit(r.RLIMIT_NOFILE, (100, 900)); print(file_limit()); raise_file_limit(); print(file_limit())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["100", "900"]


def test_without_files_callers_are_turned_away_and_the_log_says_so_once(caplog):
    with closing(Listener()) as listener, ExitStack() as callers:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        crowd = [callers.enter_context(socket.create_connection(listener.getsockname())) for _ in range(5)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            for _ in range(4):
                with pytest.raises(BlockingIOError) as caught:
                    listener.accept()
                assert caught.value.__cause__.errno == errno.EMFILE
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for caller in crowd[:4]:
            caller.settimeout(30)
            assert caller.recv(1) == b""
        accepted, _ = listener.accept()
        accepted.close()
    assert caplog.text.count("there are more connections than this process may have files open") == 1


# ---- an end in the middle of an upload


def test_an_upload_that_is_cut_short_by_the_end_is_told_so_and_the_log_has_no_traceback(
    trained, serving, monkeypatch, capsys
):
    monkeypatch.setattr(server, "_PATIENCE", 0.3)
    said = []
    with serving(trained) as address:
        caller = socket.create_connection(("127.0.0.1", int(address.rsplit(":")[-1])))
        caller.settimeout(30)
        caller.sendall(
            b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            b"Content-Length: 999\r\n\r\n--b\r\n"
            b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'
        )
        listening = threading.Thread(target=lambda: said.append(heard(caller)))
        listening.start()
        time.sleep(0.5)
    listening.join()
    caller.close()
    assert said[0].startswith(b"HTTP/1.1 503 ")
    assert b"the service is stopping" in said[0]
    assert b"connection: close" in said[0].lower()
    assert "Traceback" not in capsys.readouterr().err
