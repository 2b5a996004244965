"""Whatever goes wrong is one kind of answer: application/problem+json, with words and without internals."""

import sqlite3

import pytest

from nearsong.errors import (
    DatabaseError,
    EmptyLibraryError,
    InvalidInputError,
    LibraryError,
    ModelFileError,
    NoSuchPlaylistError,
    NoSuchSongError,
    UnclearSongError,
    UnreadableAudioError,
)
from nearsong.library.snapshot import Snapshot
from nearsong.web.http import problems


def fields(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert set(found) == {"type", "title", "status", "detail"}
    assert found["status"] == answer.status_code
    return found


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("POST", "/api/v1/songs", 405),
        ("DELETE", "/api/v1/health", 405),
        ("PATCH", "/api/v1/playlists/1", 405),
        ("PUT", "/static/js/app.js", 405),
        ("GET", "/api/v1/songs/abc", 422),
        ("GET", "/api/v1/similar", 422),
    ],
)
def test_errors_of_addresses_methods_and_values_are_problems_too(client, method, path, status):
    assert fields(client.request(method, path))["status"] == status


def test_what_is_not_valid_is_reported_in_one_line_that_names_the_field(client):
    found = fields(client.post("/api/v1/playlists/draft", json={"seeds": [1], "length": 0, "diversity": 7}))
    assert found["type"] == "urn:nearsong:invalid-request"
    assert found["detail"].startswith("length: Input should be greater than or equal to 1 (and 1 more)")
    found = fields(client.post("/api/v1/playlists/draft", json={"seeds": [1], "lenght": 5}))
    assert found["detail"] == "lenght: Extra inputs are not permitted."
    assert "\n" not in found["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"seeds": ' + 5000 * b"["])
def test_a_body_that_is_no_json_is_the_callers_mistake(client, body):
    answer = client.post("/api/v1/playlists/draft", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= fields(answer)["status"] < 500


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (NoSuchSongError("song not found: 7; search for it by name."), 404, "urn:nearsong:no-such-song"),
        (NoSuchPlaylistError("there is no playlist 7."), 404, "urn:nearsong:no-such-playlist"),
        (UnclearSongError("no song matches 'x'."), 404, "urn:nearsong:no-such-song"),
        (EmptyLibraryError("there are no songs yet."), 409, "urn:nearsong:empty-library"),
        (DatabaseError("the library x was kept busy.", "x", transient=True), 503, "urn:nearsong:busy"),
        (DatabaseError("the library secret@x is away (why).", "secret@x", transient=True), 503, "urn:nearsong:busy"),
        (DatabaseError("the library secret@x was closed.", "secret@x"), 409, "urn:nearsong:library"),
        (LibraryError("there is no model 7."), 409, "urn:nearsong:library"),
        (InvalidInputError("n=0 is too few."), 400, "urn:nearsong:invalid-input"),
        (UnreadableAudioError("/tmp/secret/x.mp3", "is no audio."), 422, "urn:nearsong:unusable-audio"),
        (ModelFileError("is no model."), 400, "about:blank"),
    ],
)
def test_every_error_of_ours_has_its_status_and_its_kind(client, monkeypatch, error, status, kind):
    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(Snapshot, "similar", fail)
    # of several seeds: those of one may be answered together with others, another way
    answer = client.get("/api/v1/similar?seed=1&seed=2")
    found = fields(answer)
    assert (found["status"], found["type"]) == (status, kind)
    assert "secret" not in found["detail"]
    assert ("retry-after" in answer.headers) == (status == 503)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("is locked by another program; try again.", 503, "the library is locked by another program; try again."),
        ("cannot be used (disk I/O error (10)); check the disk.", 409, "the library cannot be used; check the disk."),
        ("was closed.", 409, "the library was closed."),
    ],
)
def test_where_a_database_is_and_what_its_driver_says_is_for_the_log(
    client, monkeypatch, caplog, words, status, message
):
    error = DatabaseError(f"the library /home/me (old)/x.sqlite {words}", "/home/me (old)/x.sqlite", status == 503)

    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(Snapshot, "similar", fail)
    found = fields(client.get("/api/v1/similar?seed=1&seed=2"))
    assert (found["status"], found["detail"]) == (status, message)
    assert f"/home/me (old)/x.sqlite {words}" in caplog.text
    monkeypatch.setattr("nearsong.library.listeners.recorded.plays.PlayLog.record_all", fail)
    answer = client.get("/rest/scrobble", params={"u": "me", "f": "json", "id": 1})
    assert answer.json()["subsonic-response"]["error"]["message"] == message


def test_a_library_that_is_busy_does_not_reveal_where_it_is(client, trained, monkeypatch):
    monkeypatch.setattr(
        "nearsong.library.store.recorded.plays._names_of_songs", lambda *_given: (_ for _ in ()).throw(locked())
    )
    answer = client.post("/api/v1/plays", json={"song_id": 1})
    detail = "the library is in use by another program; try again later."
    assert (answer.status_code, answer.json()["detail"]) == (503, detail)


def locked() -> Exception:
    return sqlite3.OperationalError("database is locked")


def test_an_error_that_nobody_foresaw_reveals_nothing_but_goes_to_the_log(client, monkeypatch, caplog):
    def fail(*_arguments):
        raise RuntimeError("password=hunter2 at /home/somebody/secret.py")

    monkeypatch.setattr(Snapshot, "similar", fail)
    answer = client.get("/api/v1/similar?seed=1&seed=2")
    found = fields(answer)
    assert found["status"] == 500
    assert found["detail"] == "unexpected error; see the log of the service."
    assert "hunter2" not in answer.text
    assert "hunter2" in caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 'status="500"' in client.get("/api/v1/metrics").text


def test_a_name_that_is_no_text_can_be_reported():
    answer = problems.problem(404, "no song matches B\udce9la.")
    assert b"\\udce9" in answer.body


def test_a_request_that_is_too_large_is_refused_before_it_is_read(client):
    reply = client.post("/api/v1/playlists", content=b"x", headers={"Content-Length": str(10**9)})
    assert fields(reply)["status"] == 413

    def parts():
        for _ in range(6):
            yield 1_000_000 * b" "

    answer = client.post("/api/v1/playlists", content=parts(), headers={"Content-Type": "application/json"})
    assert fields(answer)["status"] == 413
    assert "4 MB" in answer.json()["detail"]
