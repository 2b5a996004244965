"""A request -> its parameters, from the address and from a form, with the checks that all methods need."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from fastapi import Request

from nearsong.errors import NoSuchSongError
from nearsong.web.subsonic.envelope import GENERAL, MISSING_PARAMETER, ProtocolError

MOST_BYTES = 2_000_000
MOST_FIELDS = 25_000
_FORM = "application/x-www-form-urlencoded"


class Parameters:
    """What a player asks with; a name may come several times.

    Examples
    --------
    >>> asked = Parameters([("id", "3"), ("count", "20"), ("id", "4")])
    >>> asked.need("id"), asked.all("id"), asked.number("count", 10, most=15), asked.text("query", "none")
    ('3', ['3', '4'], 15, 'none')
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str = "") -> str:
        """Return a text; the first, if there are several."""
        return self._values.get(name, [default])[0]

    def need(self, name: str) -> str:
        """Return a text that must be there."""
        if not self.text(name):
            raise ProtocolError(MISSING_PARAMETER, f"the parameter {name} is missing.")
        return self.text(name)

    def all(self, name: str) -> list[str]:
        """Return all texts of a name."""
        return list(self._values.get(name, ()))

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
        """Return a whole number, no less than ``least`` and no more than ``most``."""
        text = self.text(name).strip()
        return max(least, min(default if not text else whole_number(name, text), most))


def whole_number(name: str, text: str) -> int:
    """Return the number that a text is."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ProtocolError(GENERAL, f"{name}={text[:40]!r} is no whole number.")
    return int(text)


def song_number(text: str) -> int:
    """Return the number of a song from its id."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NoSuchSongError(f"there is no song {text[:40]!r}; search for it by its name.")
    return int(text)


async def read_parameters(request: Request) -> Parameters:
    """Return the parameters of the address, and those of a form in the body."""
    pairs = _pairs(request.scope.get("query_string", b""))
    if request.method == "POST" and request.headers.get("content-type", "").startswith(_FORM):
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                raise ProtocolError(GENERAL, f"the form has more than {MOST_BYTES:,} bytes; send less at once.")
        pairs += _pairs(bytes(body))
    return Parameters(pairs)


def _pairs(data: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise ProtocolError(GENERAL, f"there are more than {MOST_FIELDS:,} parameters; send less at once.") from None
