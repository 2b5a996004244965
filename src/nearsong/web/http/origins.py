"""Headers of a request -> its host name, and whether a page of another site sent it.

Browsers send where a request comes from (``Sec-Fetch-*``, ``Origin``), and no page can change that. Other programs
may send anything, but they have no user's session to misuse.
"""

import ipaddress
import re

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_host(header: str) -> bool:
    """Say whether a Host header is a name or an address, with or without a port.

    >>> [is_host(header) for header in ("localhost:8337", "[::1]", "localhost:8337/static/css/x", "a?b", "a:", "")]
    [True, True, False, False, False, False]
    """
    return _HOST.fullmatch(header) is not None


def host_name(host: str) -> str:
    """Return the name in a Host header, without port and brackets.

    >>> [host_name(host) for host in ("LOCALHOST:8337", "[::1]:80", "::1", "127.0.0.1")]
    ['localhost', '::1', '::1', '127.0.0.1']
    """
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]


def is_address(name: str) -> bool:
    """Say whether a host is an IP address, which DNS rebinding cannot forge."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_foreign(connection: HTTPConnection, may_hide: bool = False) -> bool:
    """Say whether a request was sent by a page of another origin: another scheme, host or port.

    The origin of a form on a page without referrer is "null". The login page is one, so ``may_hide`` allows it there.
    """
    site = connection.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return True
    origin = connection.headers.get("origin")
    if origin is None:
        return False
    if origin == "null":
        return not (site == "same-origin" or may_hide)
    parts = origin_parts(origin)
    return parts is None or parts != _own_origin(connection)


def is_only_other_scheme(connection: HTTPConnection) -> bool:
    """Say whether a page of this host was loaded by HTTPS though the request came by HTTP, as from a silent proxy."""
    own, sent = _own_origin(connection), origin_parts(connection.headers.get("origin", ""))
    host = connection.headers.get("host", "")
    return own is not None and own[0] == "http" and sent is not None and sent == origin_parts(f"https://{host}")


def origin_parts(origin: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an origin; None if it is none of HTTP.

    >>> origin_parts("https://Music.example"), origin_parts("http://[::1]:8337"), origin_parts("http://a@b")
    (('https', 'music.example', 443), ('http', '[::1]', 8337), None)
    """
    scheme, _, netloc = origin.strip().lower().partition("://")
    if scheme not in _DEFAULT_PORTS or not is_host(netloc):
        return None
    host, colon, port = netloc.rpartition(":")
    if not colon or netloc.endswith("]"):
        return scheme, netloc, _DEFAULT_PORTS[scheme]
    return scheme, host, int(port)


def _own_origin(connection: HTTPConnection) -> tuple[str, str, int] | None:
    return origin_parts(f"{connection.scope['scheme']}://{connection.headers.get('host', '')}")


def is_embedded(headers: Headers) -> bool:
    """Say whether a page of another origin embeds the response, as an image, a script or a frame.

    A user who follows a link is not embedding.
    """
    site = headers.get("sec-fetch-site")
    if site is None or site in ("same-origin", "none"):
        return False
    is_navigation = headers.get("sec-fetch-mode") == "navigate"
    return not (is_navigation and headers.get("sec-fetch-dest", "document") == "document")
