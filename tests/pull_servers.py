"""Services with listens on the loopback interface: what ListenBrainz, Last.fm and a Subsonic server answer."""

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Listen = tuple[int, str, str]
"""Time, artist, title."""


class Service:
    """Answers requests, after the faults that a test planned.

    Attributes
    ----------
    faults : list
        One for each of the next requests: None for an answer, a status code, or one of ``cut``, ``close``, ``html``.
    requests : list of dict
        Path and parameters of all requests, with the headers under ``headers``.
    """

    def __init__(self) -> None:
        self.faults: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.url = ""

    def answer(self, path: str, asked: dict[str, str]) -> tuple[int, Any]:
        raise NotImplementedError

    def asked(self, part: str) -> list[dict[str, Any]]:
        """Return the requests whose path or method has a part."""
        return [request for request in self.requests if part in request["path"] + request.get("method", "")]


class FakeListenBrainz(Service):
    """Listens and feedback of one user, pages of ``page_size`` for every 100 that are asked for."""

    def __init__(self, listens: Sequence[Listen], hearts: Sequence[Listen] = (), page_size: int = 100) -> None:
        super().__init__()
        self.listens, self.hearts, self.page_size = list(listens), list(hearts), page_size
        self.user, self.token, self.has_feedback = "ann", "", True

    def answer(self, path: str, asked: dict[str, str]) -> tuple[int, Any]:
        if self.token and self.requests[-1]["headers"].get("Authorization") != f"Token {self.token}":
            return 401, {"code": 401, "error": "Invalid authorization token."}
        if path == f"/1/user/{self.user}/listens":
            below = int(asked["max_ts"]) if "max_ts" in asked else 1 << 62
            found = sorted((listen for listen in self.listens if listen[0] < below), key=lambda row: -row[0])
            page = found[: self.page_size * int(asked["count"]) // 100]
            listens = [{"user_name": "ann", "listened_at": row[0], "track_metadata": _metadata(row)} for row in page]
            return 200, {"payload": {"count": len(page), "user_id": "ann", "listens": listens}}
        if self.has_feedback and path == f"/1/feedback/user/{self.user}/get-feedback":
            start = int(asked["offset"])
            page = self.hearts[start : start + self.page_size]
            feedback = [{"created": row[0], "score": 1, "track_metadata": _metadata(row)} for row in page]
            return 200, {"feedback": feedback, "total_count": len(self.hearts), "offset": start}
        return 404, {"code": 404, "error": "Cannot find user: " + path.split("/")[-2]}


class FakeLastfm(Service):
    """Recent and loved tracks of one user; "now playing" comes with each page."""

    key = "0123456789abcdef"

    def __init__(self, listens: Sequence[Listen], hearts: Sequence[Listen] = (), page_size: int = 200) -> None:
        super().__init__()
        self.listens, self.hearts, self.page_size = list(listens), list(hearts), page_size

    def answer(self, path: str, asked: dict[str, str]) -> tuple[int, Any]:
        if path != "/2.0/":
            return 404, None
        if asked.get("api_key") != self.key:
            return 403, {"error": 10, "message": f"Invalid API key {asked.get('api_key')}"}
        if asked["user"] != "ann":
            return 404, {"error": 6, "message": "User not found"}
        recent = asked["method"] == "user.getRecentTracks"
        below, above = int(asked.get("to", 1 << 62)), int(asked.get("from", -1))
        rows = [row for row in (self.listens if recent else self.hearts) if above < row[0] < below]
        rows.sort(key=lambda row: -row[0])
        page, size = int(asked["page"]), self.page_size
        tracks: list[Any] = [_lastfm_track(row) for row in rows[(page - 1) * size : page * size]]
        if recent:
            tracks.insert(0, {"artist": {"#text": "Now"}, "name": "Playing", "@attr": {"nowplaying": "true"}})
        name = "recenttracks" if recent else "lovedtracks"
        pages = -(-len(rows) // size)
        one_or_more = tracks[0] if len(tracks) == 1 else tracks
        return 200, {name: {"track": one_or_more, "@attr": {"totalPages": str(pages), "page": str(page)}}}


class FakeSubsonic(Service):
    """Songs of a server that accepts salted tokens only."""

    password = "sesame"

    def __init__(self, songs: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.songs = list(songs)
        self.starred_only: list[dict[str, Any]] = []
        self.finds_nothing = False

    def answer(self, path: str, asked: dict[str, str]) -> tuple[int, Any]:
        proof = hashlib.md5((self.password + asked.get("s", "")).encode()).hexdigest()
        if "t" not in asked:
            return 200, _failed(41, "Token authentication only")
        if asked["u"] != "ann" or asked["t"] != proof:
            return 200, _failed(40, "Wrong username or password")
        method = path.removeprefix("/rest/").removesuffix(".view")
        found: dict[str, Any] = {}
        if method == "search3":
            start, size = int(asked["songOffset"]), int(asked["songCount"])
            found = {"searchResult3": {"song": [] if self.finds_nothing else self.songs[start : start + size]}}
        elif method == "getAlbumList2":
            albums = sorted({song["albumId"] for song in self.songs})
            start, size = int(asked["offset"]), int(asked["size"])
            found = {"albumList2": {"album": [{"id": album} for album in albums[start : start + size]]}}
        elif method == "getAlbum":
            found = {"album": {"song": [song for song in self.songs if song["albumId"] == asked["id"]]}}
        elif method == "getStarred2":
            starred = [song for song in self.songs if "starred" in song]
            found = {"starred2": {"song": [*starred, *self.starred_only]}}
        elif method != "ping":
            return 200, _failed(0, f"Unknown method {method}")
        return 200, {"subsonic-response": {"status": "ok", "version": "1.16.1", **found}}


class Scripted(Service):
    """Answers each request with what a function makes of its number, path and parameters."""

    def __init__(self, say: Any) -> None:
        super().__init__()
        self._say = say

    def answer(self, path: str, asked: dict[str, str]) -> tuple[int, Any]:
        return self._say(len(self.requests), path, asked)


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; yield the URL."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            with lock:
                path = unquote(parts.path)
                service.requests.append({"path": path, **asked, "headers": dict(self.headers)})
                fault = service.faults.pop(0) if service.faults else None
                status, value = (200, None) if fault is not None else service.answer(path, asked)
            with suppress(BrokenPipeError, ConnectionResetError):  # the client has left
                self._send(fault, status, value)

        def _send(self, fault: Any, status: int, value: Any) -> None:
            if fault == "close":
                self.close_connection = True
                return
            if callable(value):  # what a test sends by itself
                value(self)
                return
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            if fault == "html":
                body = b"<!doctype html><title>Maintenance</title>"
            elif isinstance(fault, int):
                status, body = fault, b'{"error": "busy"}'
            elif isinstance(fault, dict):
                status, body = fault.get("status", 200), json.dumps(fault["body"]).encode()
            self.send_response(status)
            for name, text in {
                **service.headers,
                **(fault.get("headers", {}) if isinstance(fault, dict) else {}),
            }.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(body) + (1000 if fault == "cut" else 0)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def some_listens(n: int, start: int = 1_600_000_000, step: int = 240, artist: str = "Ann") -> list[Listen]:
    """Return n listens, the oldest first."""
    return [(start + i * step, f"{artist} {i % 7}", f"Song {i % 31}") for i in range(n)]


def _metadata(row: Listen) -> dict[str, Any]:
    return {"artist_name": row[1], "track_name": row[2], "additional_info": {}}


def _lastfm_track(row: Listen) -> dict[str, Any]:
    return {
        "artist": {"mbid": "", "#text": row[1]},
        "name": row[2],
        "mbid": "",
        "album": {"mbid": "", "#text": "Album"},
        "date": {"uts": str(row[0]), "#text": "01 Jan 2020, 00:00"},
    }


def _failed(code: int, message: str) -> dict[str, Any]:
    return {"subsonic-response": {"status": "failed", "error": {"code": code, "message": message}}}
