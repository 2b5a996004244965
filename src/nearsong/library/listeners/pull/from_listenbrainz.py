"""ListenBrainz, or a server with the same API -> listens and hearts of a user."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from nearsong.library.listeners.pull.http_json import HttpJson, JsonAnswer, Pause
from nearsong.library.listeners.pull.services import (
    MAX_HEART_PAGES,
    checked_key,
    checked_name,
    fingerprint_of,
    part_of,
    refused,
)
from nearsong.listens.json_records import NAMELESS, LeftOut, ListenRow
from nearsong.listens.records import Action
from nearsong.listens.services.listenbrainz import listen_row

URL = "https://api.listenbrainz.org"
TOKEN_VARIABLE = "NEARSONG_LISTENBRAINZ_TOKEN"
PAGE_ROWS = 100
MAX_PAGE_ROWS = 1_000
"""The most that ListenBrainz returns in one answer."""

INTERVAL_SECONDS = 0.2


class ListenBrainzService:
    """The listens of a user; the token is needed only where listens are private."""

    format = "listenbrainz"
    max_depth = 1

    def __init__(self, user: str, url: str | None = None, *, pause: Pause = time.sleep) -> None:
        self.user = checked_name(user, "the user name")
        token = checked_key(TOKEN_VARIABLE)
        self._server = HttpJson(
            url or URL,
            headers={"Authorization": f"Token {token}"} if token else {},
            secrets=[token],
            interval=INTERVAL_SECONDS,
            pause=pause,
        )
        self.host = self._server.host
        self.name = f"listenbrainz: {self.user}" + ("" if self._server.url == URL else f" at {self.host}")
        self.fingerprint = fingerprint_of(self.format, self._server.url, self.user)

    def listens(self, after: int, before: int | None, depth: int) -> list[Any]:
        """Return a page of listens. Only ``max_ts`` is sent: not every server accepts it together with ``min_ts``."""
        parameters: dict[str, str | int] = {"count": MAX_PAGE_ROWS if depth else PAGE_ROWS}
        if before is not None:
            parameters["max_ts"] = before
        answer = self._server.get(f"/1/user/{quote(self.user, safe='')}/listens", parameters)
        page: list[Any] = part_of(self._server, self._checked(answer), "payload", "listens", kind=list)
        return page

    def row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a listen."""
        return listen_row(record)

    def hearts(self) -> Iterator[list[Any]]:
        """Yield pages of loved recordings."""
        path = f"/1/feedback/user/{quote(self.user, safe='')}/get-feedback"
        n_records = 0
        for _ in range(MAX_HEART_PAGES):
            answer = self._server.get(path, {"score": 1, "count": PAGE_ROWS, "offset": n_records, "metadata": "true"})
            value = self._checked(answer)
            page: list[Any] = part_of(self._server, value, "feedback", kind=list)
            yield page
            n_records += len(page)
            total = value.get("total_count")
            if not page or (isinstance(total, int) and n_records >= total):
                return

    def heart_row(self, record: Any) -> ListenRow | LeftOut:
        """Return the row of a loved recording, unless the service does not know its name."""
        if not record.get("track_metadata"):
            return NAMELESS
        row = listen_row({**record, "listened_at": record.get("created")})
        if isinstance(row, LeftOut):
            return row
        mbid = row.recording_mbid or record.get("recording_mbid") or ""
        return row._replace(action=Action.HEART, recording_mbid=str(mbid))

    def _checked(self, answer: JsonAnswer) -> Any:
        if answer.status == 200:
            return answer.value
        text = answer.value.get("error") if isinstance(answer.value, dict) else None
        advice = {
            401: f"check {TOKEN_VARIABLE}.",
            403: f"check {TOKEN_VARIABLE}.",
            404: f"check the user name {self.user!r} and the URL.",
        }.get(answer.status, "check the URL.")
        raise refused(self._server, answer, text, advice)
