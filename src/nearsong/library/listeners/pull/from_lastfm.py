"""Last.fm, or a server with the same API -> listens and hearts of a user."""

import time
from collections.abc import Iterator
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.library.listeners.pull.http_json import BUSY, HttpJson, JsonAnswer, Pause
from nearsong.library.listeners.pull.position import EARLIEST_TIME
from nearsong.library.listeners.pull.services import (
    MAX_HEART_PAGES,
    checked_key,
    checked_name,
    fingerprint_of,
    part_of,
    refused,
)
from nearsong.listens.json_records import NOW_PLAYING, LeftOut, ListenRow, as_text
from nearsong.listens.records import Action

URL = "https://ws.audioscrobbler.com/2.0"
KEY_VARIABLE = "NEARSONG_LASTFM_KEY"
PAGE_ROWS = 200
"""The most that Last.fm returns in one answer."""

INTERVAL_SECONDS = 0.25
BUSY_ERRORS = frozenset({8, 11, 16, 29})
"""Error codes after which a request is repeated: failed, offline, unavailable, too many requests."""

_ADVICE = {
    6: "check the user name.",
    10: f"check {KEY_VARIABLE}.",
    17: "make your recent listening visible in the privacy settings of Last.fm.",
    26: f"check {KEY_VARIABLE}.",
}
_NO_ACCOUNT = "https://www.last.fm/api/account/create"


class LastfmService:
    """The listens of a user; needs an API key."""

    format = "lastfm-api"
    max_depth = 50

    def __init__(self, user: str, url: str | None = None, *, pause: Pause = time.sleep) -> None:
        self.user = checked_name(user, "the user name")
        self._key = checked_key(KEY_VARIABLE)
        if not self._key:
            raise InvalidInputError(
                f"Last.fm needs an API key; get one at {_NO_ACCOUNT} and set the environment variable {KEY_VARIABLE}."
            )
        self._server = HttpJson(
            url or URL, secrets=[self._key], interval=INTERVAL_SECONDS, is_busy=_is_busy, pause=pause
        )
        self.host = self._server.host
        self.name = f"lastfm: {self.user}" + ("" if self._server.url == URL else f" at {self.host}")
        self.fingerprint = fingerprint_of(self.format, self._server.url, self.user)
        self._n_pages = 0

    def listens(self, after: int, before: int | None, depth: int) -> list[Any]:
        """Return a page of listens; the one that is playing now comes with every page."""
        times: dict[str, str | int] = {} if before is None else {"to": before}
        if after > EARLIEST_TIME:
            times["from"] = after - 1
        return self._tracks("user.getRecentTracks", "recenttracks", 1 + depth, times)

    def row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a listen, unless it is playing now."""
        if "date" not in record and "@attr" in record:
            return NOW_PLAYING
        artist = record["artist"]
        return ListenRow(
            artist=as_text(artist),
            title=as_text(record.get("name")),
            recording_mbid=as_text(record.get("mbid")),
            artist_mbid=as_text(artist.get("mbid")) if isinstance(artist, dict) else "",
            time=record["date"]["uts"],
        )

    def hearts(self) -> Iterator[list[Any]]:
        """Yield pages of loved tracks."""
        for number in range(1, MAX_HEART_PAGES + 1):
            page = self._tracks("user.getLovedTracks", "lovedtracks", number, {})
            yield page
            if not page or 0 < self._n_pages <= number:
                return

    def heart_row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a loved track."""
        row = self.row(record if "date" in record else {**record, "date": {"uts": None}})
        return row if isinstance(row, LeftOut) else row._replace(action=Action.HEART)

    def _tracks(self, method: str, name: str, page: int, times: dict[str, str | int]) -> list[Any]:
        answer = self._server.get(
            "/",
            {
                "method": method,
                "user": self.user,
                "api_key": self._key,
                "format": "json",
                "limit": PAGE_ROWS,
                "page": page,
                **times,
            },
        )
        value = answer.value if isinstance(answer.value, dict) else {}
        if "error" in value or answer.status != 200:
            code = value.get("error")
            advice = _ADVICE.get(code, "check the URL.") if isinstance(code, int) else "check the URL."
            raise refused(self._server, answer, value.get("message"), advice)
        part = part_of(self._server, value, name)
        self._n_pages = _page_count(part)
        tracks = part.get("track", [])
        return tracks if isinstance(tracks, list) else [tracks]  # a single one is no list


def _is_busy(answer: JsonAnswer) -> bool:
    code = answer.value.get("error") if isinstance(answer.value, dict) else None
    if isinstance(code, int):
        return code in BUSY_ERRORS
    return answer.status in BUSY


def _page_count(part: Any) -> int:
    facts = part.get("@attr")
    text = str(facts.get("totalPages", "")) if isinstance(facts, dict) else ""
    return int(text) if text.isdecimal() and len(text) < 10 else 0
