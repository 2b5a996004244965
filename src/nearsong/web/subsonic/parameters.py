"""A request -> its parameters from the query string and a form, checked."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from fastapi import Request

from nearsong.errors import NoSuchSongError
from nearsong.web.subsonic.envelope import GENERAL, MISSING_PARAMETER, ProtocolError

MAX_FORM_BYTES = 2_000_000
MAX_PARAMETERS = 25_000
_FORM = "application/x-www-form-urlencoded"


class Parameters:
    """The parameters of a call; a name may occur several times.

    Examples
    --------
    >>> parameters = Parameters([("id", "3"), ("count", "20"), ("id", "4")])
    >>> parameters.require("id"), parameters.all("id"), parameters.number("count", 10, maximum=15)
    ('3', ['3', '4'], 15)
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str = "") -> str:
        """Return a value; the first of several."""
        return self._values.get(name, [default])[0]

    def require(self, name: str) -> str:
        """Return a required value."""
        if not self.text(name):
            raise ProtocolError(MISSING_PARAMETER, f"the parameter {name} is missing.")
        return self.text(name)

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return list(self._values.get(name, ()))

    def number(self, name: str, default: int, *, minimum: int = 0, maximum: int = 2**53) -> int:
        """Return an integer, clipped to the limits."""
        text = self.text(name).strip()
        return max(minimum, min(default if not text else parse_integer(name, text), maximum))


def parse_integer(name: str, text: str) -> int:
    """Return a text as an integer."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ProtocolError(GENERAL, f"{name}={text[:40]!r} is not an integer.")
    return int(text)


def song_number(text: str) -> int:
    """Return the id of a song as a number."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NoSuchSongError(f"song not found: {text[:40]!r}; search for it by name.")
    return int(text)


async def read_parameters(request: Request) -> Parameters:
    """Return the parameters of the query string and of a form in the body."""
    pairs = _pairs(request.scope.get("query_string", b""))
    if request.method == "POST" and request.headers.get("content-type", "").startswith(_FORM):
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM_BYTES:
                raise ProtocolError(GENERAL, f"the form has more than {MAX_FORM_BYTES:,} bytes; send less at a time.")
        pairs += _pairs(bytes(body))
    return Parameters(pairs)


def _pairs(data: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise ProtocolError(GENERAL, f"more than {MAX_PARAMETERS:,} parameters; send less at a time.") from None
