"""Headers of a request -> the name that it was sent to, and whether a page of another site sent it.

Browsers say where a request comes from (``Sec-Fetch-*``, ``Origin``) and let no page change that. Programs say
nothing or what they like; they have no user's session to misuse.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS = (":80", ":443")


def is_host(said: str) -> bool:
    """Say whether a Host header is a name or an address, perhaps with a port, and nothing more.

    >>> [is_host(said) for said in ("localhost:8337", "[::1]", "localhost:8337/static/css/x", "a?b", "a:", "")]
    [True, True, False, False, False, False]
    """
    return _HOST.fullmatch(said) is not None


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
    """Say whether a host is an address in numbers; no page of another site can have that as its name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_foreign(headers: Headers, may_hide: bool = False) -> bool:
    """Say whether a request was sent by a page of another origin.

    What a browser says of a form on a page that sends no referrer is "null"; our own page to log in is one, so there
    a page ``may_hide``.
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
    except ValueError:  # brackets that do not close, say: no page of ours
        return True
    own = headers.get("host", "")
    return parts.scheme not in ("http", "https") or _without_port(parts.netloc) != _without_port(own)


def is_embedded(headers: Headers) -> bool:
    """Say whether a page of another origin asks behind its user's back, as with an image, a script or a frame.

    A user who follows a link from there has come by himself.
    """
    site = headers.get("sec-fetch-site")
    if site is None or site in ("same-origin", "none"):
        return False
    goes_there = headers.get("sec-fetch-mode") == "navigate"
    return not (goes_there and headers.get("sec-fetch-dest", "document") == "document")


def _without_port(netloc: str) -> str:
    """Return a host and its port, if that is not the usual one."""
    netloc = netloc.strip().lower()
    for port in _DEFAULT_PORTS:
        netloc = netloc.removesuffix(port)
    return netloc
