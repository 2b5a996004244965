"""The result of a method of Last.fm's API as plain values -> ``lfm`` in XML, or JSON.

Values are those of `nearsong.web.subsonic.envelope.to_xml`: in a mapping, numbers and texts are attributes, ``value``
is the text of the element.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from nearsong.web.subsonic.envelope import clean, to_xml

INVALID_METHOD, WRONG_CREDENTIALS, INVALID_PARAMETERS, INVALID_SESSION = 3, 4, 6, 9
BUSY, NOT_ALLOWED, TOO_MANY = 11, 26, 29
"""Error codes of the protocol."""

_STATUS_OF = {INVALID_METHOD: 400, WRONG_CREDENTIALS: 403, INVALID_PARAMETERS: 400, INVALID_SESSION: 403}


class LastfmError(Exception):
    """A method failed.

    Parameters
    ----------
    code : int
        Error code of the protocol.
    message : str
        What was received, why it cannot work, what to do.
    status : int, optional
        HTTP status; by default that of the code.
    headers : mapping, optional
    """

    def __init__(
        self, code: int, message: str, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.status = _STATUS_OF.get(code, 400) if status is None else status
        self.headers = dict(headers or {})


def answer(format: str, body: Mapping[str, Any]) -> Response:
    """Return the result of a method, as JSON if the format is ``json``, else as XML."""
    if format == "json":
        return _json(200, {name: to_json(value) for name, value in body.items()}, {})
    return _xml(200, {"status": "ok", **body}, {})


def failed(format: str, error: LastfmError) -> Response:
    """Return the error of a method."""
    if format == "json":
        return _json(error.status, {"error": error.code, "message": error.message}, error.headers)
    body = {"status": "failed", "error": {"code": error.code, "value": error.message}}
    return _xml(error.status, body, error.headers)


def to_json(value: Any) -> Any:
    """Return a value in the way that Last.fm writes JSON.

    >>> to_json({"accepted": 1, "scrobble": [{"track": {"corrected": 0, "value": "Joga"}}]})
    {'@attr': {'accepted': 1}, 'scrobble': {'track': {'corrected': '0', '#text': 'Joga'}}}
    >>> to_json({"name": {"value": "anna"}})
    {'name': 'anna'}
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return _element(value)
    if isinstance(value, Sequence):
        items = [to_json(item) for item in value]
        return items[0] if len(items) == 1 else items
    return value


def _element(value: Mapping[str, Any]) -> Any:
    attributes = {
        name: item for name, item in value.items() if name != "value" and not isinstance(item, Mapping | list | tuple)
    }
    if "value" in value:
        text = to_json(value["value"])
        return {**{name: str(item) for name, item in attributes.items()}, "#text": text} if attributes else text
    children = {name: to_json(item) for name, item in value.items() if name not in attributes}
    return {"@attr": attributes, **children} if attributes else children


def _json(status: int, body: Any, headers: Mapping[str, str]) -> Response:
    return Response(json.dumps(body), status, dict(headers), "application/json")


def _xml(status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{to_xml("lfm", body)}'
    return Response(text.encode("utf-8", "replace"), status, dict(headers), "text/xml")
