"""Bodies that lie, dawdle, break off or are no forms, on a real connection; and what is left on disk: nothing."""

import contextlib
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.audio.tags import Tags
from nearsong.audio.workers import AudioWorkers
from nearsong.errors import UnreadableAudioError
from nearsong.web.http.problems import ApiError
from nearsong.web.media import receiving
from nearsong.web.media import uploads as uploads_module
from nearsong.web.media.receiving import MAX_NAME_CHARACTERS, Received, display_name, file_name_of, known_ending
from nearsong.web.media.uploads import Uploads, safe_file_name, without_path
from nearsong.web.settings import ServeSettings
from running_service import running
from waiting import in_threads, wait_for

BOUNDARY = "----a line between parts"
START = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="song.mp3"\r\n'
    "Content-Type: audio/mpeg\r\n\r\n"
).encode()
END = f"\r\n--{BOUNDARY}--\r\n".encode()


class Line:
    """A connection to a server, byte by byte."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, int(port)), timeout=60)

    def ask(self, *headers: str, kind: str = f'multipart/form-data; boundary="{BOUNDARY}"') -> None:
        lines = ["POST /api/v1/query HTTP/1.1", f"Host: {self.host}", f"Content-Type: {kind}", *headers, "", ""]
        self.send("\r\n".join(lines).encode())

    def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # it may have answered already
            self.socket.sendall(data)

    def chunk(self, data: bytes) -> None:
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def answer(self) -> tuple[int, str]:
        found = b""
        with contextlib.suppress(ConnectionError):
            while data := self.socket.recv(1 << 16):
                found += data
                _, _, body = found.partition(b"\r\n\r\n")
                if b'"detail"' in body and body.endswith(b"}"):
                    break
        return int(found.split()[1]), found.decode()

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def real(trained):
    """Return a function that connects to a server with tight limits; ``real.uploads`` are its uploads."""
    with contextlib.ExitStack() as open_ones:
        server = running(trained, ServeSettings(port=0, upload_megabytes=1, receive_seconds=1.0))
        address = open_ones.enter_context(server)

        def connect() -> Line:
            line = Line(address)
            open_ones.callback(line.close)
            return line

        connect.uploads = server.service.uploads
        yield connect


def left(uploads: Uploads) -> list[str]:
    return sorted(path.name for path in uploads.folder.iterdir() if path.name != "in-use" and path.suffix != ".npz")


def test_bodies_that_cannot_work_are_refused_and_leave_nothing(real):
    far_too_long = real()
    far_too_long.ask(f"Content-Length: {3 << 30}")  # and nothing more: the answer does not wait for the body
    assert far_too_long.answer()[0] == 413

    too_long = real()
    too_long.ask(f"Content-Length: {3 << 19}")
    status, message = too_long.answer()
    assert (status, "the file is larger than 1 MB" in message, "connection: close" in message.lower()) == (
        413,
        True,
        True,
    )

    liar = real()
    liar.ask("Transfer-Encoding: chunked")  # says nothing of its length, and goes on and on
    liar.chunk(START)
    for _ in range(40):
        liar.chunk(bytes(64 << 10))
    status, message = liar.answer()
    assert (status, "the file is larger than 1 MB" in message) == (413, True)

    around = real()
    around.ask("Transfer-Encoding: chunked")
    around.chunk(START + b"sound" + END)
    for _ in range(3):
        around.chunk(b"x" * (64 << 10))
    status, message = around.answer()
    assert (status, "it has too much data besides the file" in message) == (400, True)

    slow = real()
    slow.ask("Content-Length: 100000")
    slow.send(START)
    for _ in range(30):
        slow.send(b"x")
        time.sleep(0.05)
    status, message = slow.answer()
    assert (status, "the file did not arrive within 1 s" in message) == (408, True)

    other = real()
    other.ask("Content-Length: 2", kind="application/json")
    other.send(b"{}")
    status, message = other.answer()
    assert (status, "send multipart/form-data with the file in the field" in message) == (415, True)
    wait_for(lambda: not left(real.uploads))


FORMS = {
    "nothing": (b"", "has no complete field"),
    "no form": (b"hello", "the form cannot be read"),
    "no end": (START + b"sound", "has no complete field"),
    "two files": (START + b"one\r\n" + START + b"two" + END, "it has more than one file"),
    "another field": (START.replace(b'"file"', b'"other"') + b"x" + END, "unknown field 'other', expected 'file'"),
    "no name": (START.replace(b'name="file"; ', b"") + b"x" + END, "expected 'file'"),
    "many headers": (START[:-2] + b"X: y\r\n" * 100 + b"\r\nx" + END, "the form cannot be read"),
    "a long header": (START[:-2] + b"X: " + b"y" * 20_000 + b"\r\n\r\nx" + END, "the form cannot be read"),
}


@pytest.mark.parametrize("kind", FORMS)
def test_forms_that_are_none_are_reported_in_one_line(client, kind):
    body, words = FORMS[kind]
    header = {"Content-Type": f'multipart/form-data; boundary="{BOUNDARY}"'}
    response = client.post("/api/v1/query", content=body, headers=header)
    assert response.status_code == 400
    assert words in response.json()["detail"]
    assert left(client.service.uploads) == []


def test_a_caller_who_hangs_up_leaves_nothing(real):
    line = real()
    line.ask("Content-Length: 500000")
    line.send(START + bytes(100_000))
    wait_for(lambda: left(real.uploads))
    line.close()
    wait_for(lambda: not left(real.uploads) and real.uploads.n_active == 0)


def test_a_caller_who_hangs_up_while_the_file_is_analysed_leaves_nothing(real, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def analyse(*_arguments):
        begun.set()
        assert go.wait(30)
        raise UnreadableAudioError("x", "no")

    monkeypatch.setattr(AudioWorkers, "run", analyse)
    line = real()
    body = START + bytes(1000) + END
    line.ask(f"Content-Length: {len(body)}")
    line.send(body)
    assert begun.wait(30)
    line.close()
    time.sleep(0.1)
    assert len(left(real.uploads)) == 1  # whoever reads it still does
    go.set()
    wait_for(lambda: not left(real.uploads))
    wait_for(lambda: not real.uploads.n_active)


def test_beyond_a_few_callers_are_asked_to_come_back(client):
    uploads = client.service.uploads
    with contextlib.ExitStack() as slots:
        for number in range(uploads_module.MAX_ANALYSED + uploads_module.MAX_PENDING):
            slots.enter_context(uploads.slot(f"192.0.2.{number}"))
        response = client.post("/api/v1/query", files={"file": ("x.mp3", b"x")})
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "5"
        assert "8 uploads are being analysed" in response.json()["detail"]
    assert client.post("/api/v1/query", files={"file": ("x.mp3", b"x")}).status_code == 422


def test_one_caller_does_not_take_the_slots_of_all(client):
    uploads = client.service.uploads
    with contextlib.ExitStack() as slots:
        for _ in range(uploads_module.MAX_PER_CLIENT):
            slots.enter_context(uploads.slot("192.0.2.1"))
        with pytest.raises(ApiError, match=r"^3 of your uploads are being analysed; try again") as caught:
            slots.enter_context(uploads.slot("192.0.2.1"))
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "5")
        assert client.post("/api/v1/query", files={"file": ("x.mp3", b"x")}).status_code == 422
        assert uploads.n_active == 3
    assert (uploads.n_active, len(uploads._active)) == (0, 0)


def test_who_sends_too_slowly_is_cut_off_before_the_time_is_over(trained, monkeypatch):
    monkeypatch.setattr(receiving, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(receiving, "MIN_BYTES_PER_SECOND", 20_000)
    with running(trained, ServeSettings(port=0, receive_seconds=60)) as address:
        slow, quick = Line(address), Line(address)
        with contextlib.closing(slow.socket), contextlib.closing(quick.socket):
            slow.ask("Content-Length: 100000")
            slow.send(START)
            quick.ask(f"Content-Length: {len(START) + 60_000 + len(END)}")
            quick.send(START)
            for _ in range(12):  # 5,000 bytes in 0.05 s are five times as many as must be
                slow.send(b"x")
                quick.send(bytes(5_000))
                time.sleep(0.05)
            quick.send(END)
            status, message = slow.answer()
            assert (status, "the upload is slower than 20 KB/s" in message) == (408, True)
            assert quick.answer()[0] == 422  # it was analysed, and gives no sound


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/listens"])
def test_a_line_between_parts_that_is_too_long_is_reported_in_one_line(client, path):
    header = {"Content-Type": "multipart/form-data; boundary=" + 300 * "b"}
    response = client.post(path, content=b"x", headers=header)
    assert response.status_code == 400
    assert "the form cannot be read" in response.json()["detail"]
    assert left(client.service.uploads) == []


def test_no_more_than_two_are_analysed_at_once(client, monkeypatch):
    now, most, lock = [0], [0], threading.Lock()

    def slow(*_arguments):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.1)
        with lock:
            now[0] -= 1
        raise UnreadableAudioError("x", "no")

    monkeypatch.setattr(AudioWorkers, "run", slow)
    in_threads(lambda file: client.post("/api/v1/query", files={"file": file}), [("x.mp3", b"x")] * 6)
    assert most == [2]


def test_a_worker_that_crashes_costs_its_own_file_only_and_leaves_nothing(client, monkeypatch, tmp_path, caplog):
    (tmp_path / "crashing.py").write_text(
        "import os, signal\ndef analyse(*a):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import crashing

    uploads = client.service.uploads
    monkeypatch.setattr(uploads._workers, "_function", crashing.analyse)
    response = client.post("/api/v1/query", files={"file": ("my song.mp3", b"x")})
    assert response.status_code == 422
    assert response.json()["detail"] == "my song.mp3: it cannot be read; convert it to another format."
    assert "my song.mp3: crashed its decoder (exit code" in caplog.text
    assert left(uploads) == []
    sys.modules.pop("crashing")


# ---- names


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_no_name_of_a_sender_is_a_path(sent):
    shown = display_name(sent)
    assert shown
    assert len(shown) <= MAX_NAME_CHARACTERS
    assert not set(shown) & set("/\\\0\n\r\u202e")
    assert shown.strip(". ")
    shown.encode()
    stored = safe_file_name(sent)
    assert Path(stored).name == stored
    assert not stored.startswith(".")
    assert len(stored.encode()) <= 180
    assert not set(stored) & set('/\\:*?"<>|\0\n')


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"form-data; name=\"file\"; filename*=UTF-8''Bj%C3%B6rk%20-%20J%c3%b3ga.mp3", "Björk - Jóga.mp3"),
        (b"form-data; filename*=iso-8859-1'en'Bj%F6rk.mp3; name=\"file\"", "Björk.mp3"),
        (b'form-data; name="file"; filename="x.mp3"; FileName*=utf-8\'de\'%E6%9C%A8.mp3', "木.mp3"),
        (b"form-data; name=\"file\"; filename*=UTF-8''%FF.mp3", "\ufffd.mp3"),
        (b'form-data; name="file"; filename*=nonsense; filename="x.mp3"', "x.mp3"),
        (b'form-data; name="file"; filename="a; filename*=UTF-8\'\'b.mp3"', "a; filename*=UTF-8''b.mp3"),
        (b'form-data; name="file"', ""),
    ],
)
def test_a_name_may_be_written_in_the_extended_way(header, name):
    assert file_name_of(header) == name


@given(st.binary(max_size=80))
def test_any_header_has_a_name_that_is_text(header):
    name = file_name_of(b'form-data; name="file"; filename' + header)
    assert name.encode("utf-8", "replace").decode("utf-8") == name


def test_a_long_name_keeps_its_ending():
    assert display_name("x" * 500 + ".flac").endswith("x.flac")
    assert known_ending("a.FLAC", {".flac", ".mp3"}) == ".flac"
    assert known_ending("a.flac.exe", {".flac"}) == ""


def test_messages_have_the_senders_name_instead_of_the_path(tmp_path):
    file = Received(tmp_path / "u1" / "upload.mp3", "my song.mp3", ".mp3", 5)
    text = f"[Errno 2] no such file: '{file.path}'\nin {file.path.parent}"
    assert without_path(text, file) == "[Errno 2] no such file: 'my song.mp3' in "


# ---- keeping


@pytest.fixture
def stored(tmp_path):
    uploads = Uploads(ServeSettings(save_uploads=tmp_path / "kept"))
    yield uploads
    uploads.close()


def received(tmp_path, content: bytes, ending: str = ".mp3") -> Received:
    path = tmp_path / f"upload{ending}"
    path.write_bytes(content)
    return Received(path, f"x{ending}", ending, len(content))


def test_files_of_one_name_are_stored_side_by_side_and_the_same_file_once(stored, tmp_path):
    tags = Tags("Band", "Song")
    names = [stored.save(received(tmp_path, content), tags).name for content in (b"one", b"two", b"one", b"three")]
    assert names == ["Band - Song.mp3", "Band - Song (2).mp3", "Band - Song.mp3", "Band - Song (3).mp3"]
    folder = tmp_path / "kept"
    assert sorted(os.listdir(folder)) == ["Band - Song (2).mp3", "Band - Song (3).mp3", "Band - Song.mp3"]
    assert (folder / "Band - Song (2).mp3").read_bytes() == b"two"


def test_a_file_system_without_links_keeps_files_too(stored, tmp_path, monkeypatch):
    def link(*_names):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    names = [stored.save(received(tmp_path, content), Tags("", "Song")).name for content in (b"one", b"two")]
    assert names == ["Song.mp3", "Song (2).mp3"]
    assert sorted(os.listdir(tmp_path / "kept")) == ["Song (2).mp3", "Song.mp3"]


def test_a_folder_that_cannot_be_written_is_reported(stored, tmp_path):
    (tmp_path / "kept").write_text("a file is in the way")
    with pytest.raises(ApiError, match="the file cannot be saved") as caught:
        stored.save(received(tmp_path, b"x"), Tags("", "Song"))
    assert caught.value.status == 507
