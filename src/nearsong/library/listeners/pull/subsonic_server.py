"""A server for players (Subsonic, OpenSubsonic) -> its songs, their files, and answers to any other request."""

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull.http_json import HttpJson, JsonAnswer, Parameters, Pause, is_private
from nearsong.library.listeners.pull.services import checked_key, checked_name, part_of, refused, secret_of
from nearsong.listens.json_records import as_text

PASSWORD_VARIABLE = "NEARSONG_SUBSONIC_PASSWORD"
KEY_VARIABLE = "NEARSONG_SUBSONIC_API_KEY"
PROTOCOL_VERSION = "1.16.1"
PAGE_SONGS = 500
MAX_PAGES = 20_000
MAX_SONG_BYTES = 2 << 30

NO_TOKENS = frozenset({10, 41, 42})
"""Error codes of servers that do not know salted tokens: parameter missing, not supported."""

WRONG_CREDENTIALS = frozenset({40, 44, 50})
NOT_ALLOWED = frozenset({40, 44, 50, 60})
"""Error codes after which the user gets no file at all."""


class SongRefusedError(Exception):
    """A server does not give one song."""


class SubsonicServer:
    """A server as one user sees it; a salted hash of the password is sent, not the password.

    Parameters
    ----------
    url : str
        Address of the server; it may name the user: ``https://ann@music.example``.
    user : str, optional
        Name of the user on the server.
    password : str, optional
        By default from the environment, as an API key is, which servers that have them take instead.
    pause : callable
        Called with the seconds to wait.
    """

    def __init__(
        self, url: str, user: str | None = None, *, password: str | None = None, pause: Pause = time.sleep
    ) -> None:
        address, named = _without_user(url)
        self.user = checked_name(user or named, "the user name (--name)")
        self._key = "" if password else checked_key(KEY_VARIABLE)
        self._password = password or secret_of(PASSWORD_VARIABLE)
        if not self._password and not self._key:
            raise InvalidInputError(
                f"the server needs the password of {self.user!r}; set the environment variable {PASSWORD_VARIABLE}, "
                f"or {KEY_VARIABLE} to an API key."
            )
        self._server = HttpJson(
            address.rstrip("/").removesuffix("/rest"),
            secrets=[self._password, self._password.encode().hex(), self._key],
            pause=pause,
        )
        self.host, self.url = self._server.host, self._server.url
        self.name = f"subsonic: {self.user} at {self.host}"
        self._sends_password = self._is_logged_in = False

    def songs(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the songs of the server, each once; starred ones that it lists only as such come last."""
        seen: set[str] = set()
        starred: set[str] = set()
        for page in self._pages():
            new = [song for song in records_in(page) if id_of(song) not in seen]
            seen.update(map(id_of, new))
            starred.update(id_of(song) for song in new if song.get("starred"))
            if page and not new:
                raise ListensError(f"{self.host} lists the same songs again and again; check the URL.")
            yield new
        hearts = self.ask("getStarred2").get("starred2")
        rest = [song for song in records_in(list_in(hearts, "song")) if id_of(song) not in starred]
        yield [_only_starred(song) if id_of(song) in seen else song for song in rest]

    def fetch(self, song: str, file: str) -> None:
        """Write the file of a song, as it is on the server, to a new file; the server counts no play.

        Raises
        ------
        SongRefusedError
            If the server does not give it, and may give others.
        ListensError
            If the server cannot be reached, or lets the user download nothing.
        """
        self._log_in()
        parameters = {**self._common(), "id": song}
        answer = self._server.download("/rest/download.view", parameters, file, max_bytes=MAX_SONG_BYTES)
        if answer.value is None and 200 <= answer.status < 300:
            return
        response = answer.value.get("subsonic-response") if isinstance(answer.value, dict) else None
        error = response.get("error") if isinstance(response, dict) else None
        error = error if isinstance(error, dict) else {}
        if error.get("code") in NOT_ALLOWED:
            advice = f"{self.user!r} needs the right to download files; change that on the server."
            raise refused(self._server, answer, error.get("message"), advice)
        raise SongRefusedError(self._server.shown(error.get("message") or f"HTTP {answer.status}"))

    def _pages(self) -> Iterator[list[Any]]:
        """Yield pages of songs: all that a search for nothing finds, or album by album where that is refused."""
        self._log_in()
        for number in range(MAX_PAGES):
            found, code = self._send(
                "search3",
                {
                    "query": "",
                    "artistCount": 0,
                    "albumCount": 0,
                    "songCount": PAGE_SONGS,
                    "songOffset": number * PAGE_SONGS,
                },
            )
            if number:
                self._check(found, code)
            page = list_in(found.value["subsonic-response"].get("searchResult3"), "song")
            if not page and number == 0:
                yield from self._album_pages()
                return
            if not page:
                return
            yield page
            if len(page) < PAGE_SONGS:
                return

    def _album_pages(self) -> Iterator[list[Any]]:
        seen: set[str] = set()
        for number in range(MAX_PAGES):
            answer = self.ask("getAlbumList2", type="alphabeticalByName", size=PAGE_SONGS, offset=number * PAGE_SONGS)
            albums = records_in(list_in(part_of(self._server, answer, "albumList2"), "album"))
            new = [album for album in map(id_of, albums) if album and album not in seen]
            if not new:
                return
            seen.update(new)
            for album in new:
                yield list_in(part_of(self._server, self.ask("getAlbum", id=album), "album"), "song")

    def _log_in(self) -> None:
        """Find out whether the server knows salted tokens; else the password is sent where nobody can read it."""
        if self._is_logged_in:
            return
        answer, code = self._send("ping", {})
        if code in NO_TOKENS and not self._key:
            if not is_private(self._server.url):
                raise ListensError(
                    f"{self.host} needs the password itself, which anybody on the way could read; use https."
                )
            self._sends_password = True
            answer, code = self._send("ping", {})
        self._check(answer, code)
        self._is_logged_in = True

    def ask(self, method: str, **parameters: str | int | Sequence[str]) -> dict[str, Any]:
        """Return the answer to a request; raise ``ListensError`` if the server refuses it."""
        self._log_in()
        answer, code = self._send(method, parameters)
        self._check(answer, code)
        response: dict[str, Any] = answer.value["subsonic-response"]
        return response

    def _common(self) -> dict[str, str]:
        """Return the parameters of every request."""
        about = {"v": PROTOCOL_VERSION, "c": "nearsong", "f": "json"}
        if self._key:
            return {"apiKey": self._key, **about}
        if self._sends_password:
            return {"u": self.user, "p": "enc:" + self._password.encode().hex(), **about}
        salt = secrets.token_hex(8)
        token = hashlib.md5((self._password + salt).encode()).hexdigest()  # as the protocol says
        return {"u": self.user, "t": token, "s": salt, **about}

    def _send(self, method: str, parameters: Parameters) -> tuple[JsonAnswer, int | None]:
        """Return the answer to a request and its error code, None if there is none."""
        answer = self._server.get(f"/rest/{method}.view", {**self._common(), **parameters})
        response = part_of(self._server, answer.value, "subsonic-response")
        if response.get("status") == "ok":
            return answer, None
        code = response["error"].get("code") if isinstance(response.get("error"), dict) else None
        return answer, code if isinstance(code, int) else 0

    def _check(self, answer: JsonAnswer, code: int | None) -> None:
        if code is None:
            return
        error = answer.value["subsonic-response"].get("error")
        text = error.get("message") if isinstance(error, dict) else None
        proof = KEY_VARIABLE if self._key else PASSWORD_VARIABLE
        advice = f"check --name and {proof}." if code in WRONG_CREDENTIALS else "check the URL."
        raise refused(self._server, answer, text, advice)


def _without_user(url: str) -> tuple[str, str]:
    """Return a URL without the user name in it, and the name."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""  # refused later
    if parts.password is not None:
        raise InvalidInputError(
            f"the URL must not hold a password; set the environment variable {PASSWORD_VARIABLE}."
        )
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), unquote(parts.username or "")


def list_in(value: Any, name: str) -> list[Any]:
    """Return a list in a part of an answer; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def records_in(values: list[Any]) -> list[dict[str, Any]]:
    """Return the records of a list."""
    return [value for value in values if isinstance(value, dict)]


def id_of(record: dict[str, Any]) -> str:
    """Return the id of a record."""
    return as_text(record.get("id"))


def _only_starred(song: dict[str, Any]) -> dict[str, Any]:
    """Return a song without what was read with it before."""
    return {name: value for name, value in song.items() if name not in ("playCount", "userRating")}
