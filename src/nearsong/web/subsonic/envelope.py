"""What a method answers, as plain values -> the ``subsonic-response`` that players read, as XML or JSON.

Tags hold anything: a character that XML cannot have becomes a mark, the same in both forms.
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
"""Elements whose texts are elements too; all others have them as attributes."""


class ProtocolError(Exception):
    """A method cannot do what was asked.

    Parameters
    ----------
    code : int
        One of the protocol's.
    message : str
        What came, why it cannot work, what to do.
    status : int, default=200
        Of HTTP; the protocol tells of errors in the answer.
    headers : mapping, optional
    """

    def __init__(self, code: int, message: str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
        self.headers = dict(headers or {})


def answer(form: str, body: Mapping[str, Any]) -> Response:
    """Return what a method answers, as ``json`` or, whatever else is asked for, XML."""
    return _response(form, {**_head("ok"), **body}, 200, {})


def failed(form: str, failure: ProtocolError) -> Response:
    """Return why a method cannot answer."""
    error = {"code": failure.code, "message": failure.message}
    return _response(form, {**_head("failed"), "error": error}, failure.status, failure.headers)


def clean(text: str) -> str:
    r"""Return a text that XML and every reader of JSON can hold.

    >>> clean("a\x00b\ud800c\nd")
    'a\ufffdb\ufffdc\nd'
    """
    return text if text.isprintable() else _NOT_XML.sub("\ufffd", text)


def to_xml(name: str, value: Any) -> str:
    """Return a value as an element.

    In a mapping, texts and numbers are attributes, mappings are elements, lists are repeated elements, and ``value``
    is the text of the element itself; what is None is left out.

    Examples
    --------
    >>> to_xml("genre", {"songCount": 2, "value": "Drum & Bass", "year": None})
    '<genre songCount="2">Drum &amp; Bass</genre>'
    >>> to_xml("index", {"name": "A", "artist": [{"id": "ar-1"}, {"id": "ar-2"}]})
    '<index name="A"><artist id="ar-1"/><artist id="ar-2"/></index>'
    """
    if not isinstance(value, Mapping):
        return f"<{name}>{_text(value)}</{name}>"
    attributes, inside = "", ""
    for key, one in value.items():
        if one is None:
            continue
        if isinstance(one, Mapping):
            inside += to_xml(key, one)
        elif isinstance(one, Sequence) and not isinstance(one, str):
            inside += "".join([to_xml(key, each) for each in one])
        elif key == "value":
            inside += _text(one)
        elif name in _WITH_NESTED_TEXT:
            inside += to_xml(key, one)
        else:
            attributes += f" {key}={quoteattr(_word(one))}"
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


def _response(form: str, body: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> Response:
    if form == "json":
        text = json.dumps(
            {"subsonic-response": _plain(body)}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return Response(text.encode(), status, dict(headers), "application/json")
    text = to_xml("subsonic-response", {"xmlns": NAMESPACE, **body})
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), status, dict(headers), "text/xml")


def _head(status: str) -> dict[str, Any]:
    return {
        "status": status,
        "version": PROTOCOL,
        "type": "nearsong",
        "serverVersion": __version__,
        "openSubsonic": True,
    }


def _plain(value: Any) -> Any:
    """Return a value with its texts clean and without what is None."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, Sequence):
        return [_plain(one) for one in value]
    return value


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) if isinstance(value, str) else str(value)


def _text(value: Any) -> str:
    return escape(_word(value), {"\r": "&#13;"})
