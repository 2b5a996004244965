"""A server for players (Subsonic, OpenSubsonic) -> plays, hearts and ratings of a user, as the server counts them."""

import hashlib
import secrets
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull.http_json import HttpJson, JsonAnswer, Pause, is_private
from nearsong.library.listeners.pull.services import checked_name, part_of, refused, secret_of
from nearsong.listens.json_records import ListenRow, as_text
from nearsong.listens.records import Action
from nearsong.listens.times import parse_time

PASSWORD_VARIABLE = "NEARSONG_SUBSONIC_PASSWORD"
PROTOCOL_VERSION = "1.16.1"
PAGE_SONGS = 500
MAX_PAGES = 20_000
MAX_STARS = 5

NO_TOKENS = frozenset({10, 41, 42})
"""Error codes of servers that do not know salted tokens: parameter missing, not supported."""


class SubsonicService:
    """What a server knows about its songs and one user; a salted hash of the password is sent, not the password.

    Parameters
    ----------
    url : str
        Address of the server; it may name the user: ``https://ann@music.example``.
    user : str, optional
        Name of the user on the server.
    pause : callable
        Called with the seconds to wait.
    """

    format = "subsonic"

    def __init__(self, url: str, user: str | None = None, *, pause: Pause = time.sleep) -> None:
        address, named = _without_user(url)
        self.user = checked_name(user or named, "the user name (--name)")
        self._password = secret_of(PASSWORD_VARIABLE)
        if not self._password:
            raise InvalidInputError(
                f"the server needs the password of {self.user!r}; set the environment variable {PASSWORD_VARIABLE}."
            )
        self._server = HttpJson(
            address.rstrip("/").removesuffix("/rest"),
            secrets=[self._password, self._password.encode().hex()],
            pause=pause,
        )
        self.host = self._server.host
        self.name = f"subsonic: {self.user} at {self.host}"
        self._sends_password = False

    def songs(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the songs of the server, each once; starred ones that it lists only as such come last."""
        self._log_in()
        seen: set[str] = set()
        starred: set[str] = set()
        for page in self._pages():
            new = [song for song in _records(page) if _id(song) not in seen]
            seen.update(map(_id, new))
            starred.update(_id(song) for song in new if song.get("starred"))
            if page and not new:
                raise ListensError(f"{self.host} lists the same songs again and again; check the URL.")
            yield new
        hearts = self._ask("getStarred2").get("starred2")
        rest = [song for song in _records(_list_in(hearts, "song")) if _id(song) not in starred]
        yield [_only_starred(song) if _id(song) in seen else song for song in rest]

    def rows(self, song: dict[str, Any]) -> Iterator[ListenRow]:
        """Yield what is known about a song: its plays, its heart, its rating."""
        name = ListenRow(
            artist=as_text(song.get("artist")) or as_text(song.get("displayArtist")),
            title=as_text(song.get("title")),
            recording_mbid=as_text(song.get("musicBrainzId")),
        )
        plays, stars = _number(song.get("playCount")), _number(song.get("userRating"))
        if plays > 0:
            yield name._replace(plays=plays, time=_time(song.get("played")))
        if song.get("starred"):
            yield name._replace(action=Action.HEART, time=_time(song["starred"]))
        if 0 < stars <= MAX_STARS:
            yield name._replace(action=Action.RATING, plays=stars)

    def _pages(self) -> Iterator[list[Any]]:
        """Yield pages of songs: all that a search for nothing finds, or album by album where that is refused."""
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
            page = _list_in(found.value["subsonic-response"].get("searchResult3"), "song")
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
            answer = self._ask(
                "getAlbumList2", type="alphabeticalByName", size=PAGE_SONGS, offset=number * PAGE_SONGS
            )
            albums = _records(_list_in(part_of(self._server, answer, "albumList2"), "album"))
            new = [album for album in map(_id, albums) if album and album not in seen]
            if not new:
                return
            seen.update(new)
            for album in new:
                yield _list_in(part_of(self._server, self._ask("getAlbum", id=album), "album"), "song")

    def _log_in(self) -> None:
        """Find out whether the server knows salted tokens; else the password is sent where nobody can read it."""
        answer, code = self._send("ping", {})
        if code in NO_TOKENS:
            if not is_private(self._server.url):
                raise ListensError(
                    f"{self.host} needs the password itself, which anybody on the way could read; use https."
                )
            self._sends_password = True
            answer, code = self._send("ping", {})
        self._check(answer, code)

    def _ask(self, method: str, **parameters: str | int) -> dict[str, Any]:
        answer, code = self._send(method, parameters)
        self._check(answer, code)
        response: dict[str, Any] = answer.value["subsonic-response"]
        return response

    def _send(self, method: str, parameters: dict[str, str | int]) -> tuple[JsonAnswer, int | None]:
        """Return the answer to a request and its error code, None if there is none."""
        if self._sends_password:
            proof = {"p": "enc:" + self._password.encode().hex()}
        else:
            salt = secrets.token_hex(8)
            proof = {
                "t": hashlib.md5((self._password + salt).encode()).hexdigest(),
                "s": salt,
            }  # as the protocol says
        common = {"u": self.user, **proof, "v": PROTOCOL_VERSION, "c": "nearsong", "f": "json"}
        answer = self._server.get(f"/rest/{method}.view", {**common, **parameters})
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
        advice = f"check --name and {PASSWORD_VARIABLE}." if code in (40, 44, 50) else "check the URL."
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


def _list_in(value: Any, name: str) -> list[Any]:
    """Return a list in a part of an answer; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _records(values: list[Any]) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)]


def _id(record: dict[str, Any]) -> str:
    return as_text(record.get("id"))


def _only_starred(song: dict[str, Any]) -> dict[str, Any]:
    """Return a song without what was read with it before."""
    return {name: value for name, value in song.items() if name not in ("playCount", "userRating")}


def _number(value: Any) -> float:
    """Return a count as a number, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0 <= value <= 1e9 else 0.0


def _time(value: Any) -> int:
    return max(0, parse_time(value)) if isinstance(value, str) else 0
