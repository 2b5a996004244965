"""Headers of a request -> its host name, and whether a page of another site sent it.

Browsers send where a request comes from (``Sec-Fetch-*``, ``Origin``), and no page can change that. Other programs
may send anything, but they have no user's session to misuse.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS = (":80", ":443")


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


def is_foreign(headers: Headers, may_hide: bool = False) -> bool:
    """Say whether a request was sent by a page of another origin.

    The origin of a form on a page without referrer is "null". The login page is one, so ``may_hide`` allows it there.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    if origin == "null":
        return not (site == "same-origin" or may_hide)
    try:
        parts = urlsplit(origin)
    except ValueError:  # a malformed origin is not our own
        return True
    own = headers.get("host", "")
    return parts.scheme not in ("http", "https") or _without_port(parts.netloc) != _without_port(own)


def is_embedded(headers: Headers) -> bool:
    """Say whether a page of another origin embeds the response, as an image, a script or a frame.

    A user who follows a link is not embedding.
    """
    site = headers.get("sec-fetch-site")
    if site is None or site in ("same-origin", "none"):
        return False
    is_navigation = headers.get("sec-fetch-mode") == "navigate"
    return not (is_navigation and headers.get("sec-fetch-dest", "document") == "document")


def _without_port(netloc: str) -> str:
    """Return a host without a default port."""
    netloc = netloc.strip().lower()
    for port in _DEFAULT_PORTS:
        netloc = netloc.removesuffix(port)
    return netloc
