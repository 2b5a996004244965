"""The result of a method as plain values -> a ``subsonic-response`` in XML or JSON.

Tags may hold any text: characters that XML does not allow become U+FFFD, in both formats.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from starlette.responses import Response

from nearsong import __version__

PROTOCOL = "1.16.1"
NAMESPACE = "http://subsonic.org/restapi"

GENERAL, MISSING_PARAMETER, WRONG_CREDENTIALS = 0, 10, 40
TWO_CREDENTIALS, WRONG_KEY, NOT_ALLOWED, NOT_FOUND = 43, 44, 50, 70

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WITH_NESTED_TEXT = frozenset({"artistInfo", "artistInfo2", "albumInfo"})
"""Elements whose values are child elements; all others have attributes."""

_WITH_VALUE = frozenset({"genre", "lyrics"})
"""Elements whose text is an attribute too, as the schema of the protocol has it; players read one of them."""


class ProtocolError(Exception):
    """A method failed.

    Parameters
    ----------
    code : int
        Error code of the protocol.
    message : str
        What was received, why it cannot work, what to do.
    status : int, default=200
        HTTP status; the protocol reports errors in the body, with status 200.
    headers : mapping, optional
    """

    def __init__(self, code: int, message: str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
        self.headers = dict(headers or {})


def answer(format: str, body: Mapping[str, Any], *, is_plain: bool = False) -> Response:
    """Return the result of a method, as JSON if the format is ``json``, else as XML.

    With ``is_plain`` it says nothing that version 1.16.1 of the protocol does not have.
    """
    return _response(format, {**_head("ok", is_plain), **body}, 200, {})


def failed(format: str, failure: ProtocolError, *, is_plain: bool = False) -> Response:
    """Return the error of a method."""
    error = {"code": failure.code, "message": failure.message}
    return _response(format, {**_head("failed", is_plain), "error": error}, failure.status, failure.headers)


def clean(text: str) -> str:
    r"""Return a text without characters that XML does not allow.

    >>> clean("a\x00b\ud800c\nd")
    'a\ufffdb\ufffdc\nd'
    """
    return text if text.isprintable() else _NOT_XML.sub("\ufffd", text)


def to_xml(name: str, value: Any) -> str:
    """Return a value as an element.

    In a mapping, texts and numbers become attributes, mappings elements, lists repeated elements, and ``value`` the
    text of the element itself; None is left out.

    Examples
    --------
    >>> to_xml("genre", {"songCount": 2, "value": "Drum & Bass", "year": None})
    '<genre songCount="2" value="Drum &amp; Bass">Drum &amp; Bass</genre>'
    >>> to_xml("index", {"name": "A", "artist": [{"id": "ar-1"}, {"id": "ar-2"}]})
    '<index name="A"><artist id="ar-1"/><artist id="ar-2"/></index>'
    """
    if not isinstance(value, Mapping):
        return f"<{name}>{_text(value)}</{name}>"
    attributes, content = "", ""
    for key, item in value.items():
        if item is None:
            continue
        if isinstance(item, Mapping):
            content += to_xml(key, item)
        elif isinstance(item, Sequence) and not isinstance(item, str):
            content += "".join([to_xml(key, element) for element in item])
        elif key == "value":
            content += _text(item)
            attributes += f" value={quoteattr(_word(item))}" if name in _WITH_VALUE else ""
        elif name in _WITH_NESTED_TEXT:
            content += to_xml(key, item)
        else:
            attributes += f" {key}={quoteattr(_word(item))}"
    return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"


def _response(format: str, body: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> Response:
    if format == "json":
        text = json.dumps(
            {"subsonic-response": _plain(body)}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return Response(text.encode(), status, dict(headers), "application/json")
    text = to_xml("subsonic-response", {"xmlns": NAMESPACE, **body})
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), status, dict(headers), "text/xml")


def _head(status: str, is_plain: bool) -> dict[str, Any]:
    head = {"status": status, "version": PROTOCOL}
    return head if is_plain else {**head, "type": "nearsong", "serverVersion": __version__, "openSubsonic": True}


def _plain(value: Any) -> Any:
    """Return a value with clean texts and without None."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) if isinstance(value, str) else str(value)


def _text(value: Any) -> str:
    return escape(_word(value), {"\r": "&#13;"})
