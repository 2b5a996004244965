"""A client and a limit -> whether a request may run now, or the seconds to wait: a token bucket for each client.

Memory is bounded: only the most recent clients are remembered.
"""

import ipaddress
import math
import threading
import time
from collections.abc import Callable

from cachetools import LRUCache
from starlette.requests import HTTPConnection

from nearsong.errors import InvalidInputError
from nearsong.web.http.problems import ApiError

MAX_CLIENTS = 10_000


class RateLimit:
    """A number of permits in a time, for each client.

    Parameters
    ----------
    rate : float
        Permits ...
    per : float
        ... in this many seconds.
    burst : int, optional
        Permits that can be saved up; by default ``rate``.
    clock : callable
        A monotonic clock in seconds.

    Examples
    --------
    >>> now = iter([0.0, 0.0, 0.0, 30.0])
    >>> limit = RateLimit(2, per=60, clock=lambda: next(now))
    >>> [limit.take("a") for _ in range(4)]
    [0.0, 0.0, 30.0, 0.0]
    """

    def __init__(
        self, rate: float, per: float, burst: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = float(max(1, round(rate)) if burst is None else burst)
        if rate <= 0 or per <= 0 or self._burst < 1:
            raise InvalidInputError(f"a limit of {rate} in {per} s with a burst of {burst} allows no request.")
        self._seconds_per_permit = per / rate
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: LRUCache[str, float] = LRUCache(MAX_CLIENTS)  # when a client's bucket is full again

    def __len__(self) -> int:
        return len(self._full_at)

    def wait(self, client: str) -> float:
        """Return the seconds until a client has a permit; 0 if it has one now. Takes none."""
        with self._lock:
            return self._missing(client, self._clock())

    def take(self, client: str, n: int = 1) -> float:
        """Take permits and return 0, or return the seconds until there are enough."""
        with self._lock:
            now = self._clock()
            missing = self._missing(client, now, n)
            if missing > 0:
                return missing
            self._full_at[client] = max(self._full_at.get(client, now), now) + n * self._seconds_per_permit
            return 0.0

    def _missing(self, client: str, now: float, n: int = 1) -> float:
        taken = max(self._full_at.get(client, now) - now, 0.0) / self._seconds_per_permit
        # sums of floats are not exact: a millionth short is enough
        short = taken + n - self._burst
        return short * self._seconds_per_permit if short > 1e-6 else 0.0


def client_of(request: HTTPConnection) -> str:
    """Return the key of a client: its address, or its network in IPv6, where one client has many addresses."""
    return address_key("" if request.client is None else request.client.host)


def address_key(host: str) -> str:
    """Return the key that limits count an address under.

    >>> address_key("192.0.2.7"), address_key("2001:db8:1:2:3::4"), address_key("::ffff:192.0.2.7"), address_key("x")
    ('192.0.2.7', '2001:db8:1:2::', '192.0.2.7', 'x')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False).network_address)


def spend(limit: RateLimit, request: HTTPConnection, what: str = "requests", n: int = 1) -> None:
    """Take permits for a request, or raise problem 429."""
    wait = limit.take(client_of(request), n)
    if wait > 0:
        raise too_many(wait, what)


def too_many(wait: float, what: str = "requests") -> ApiError:
    """Return problem 429 with the seconds to wait."""
    seconds = max(1, math.ceil(wait))
    detail = f"too many {what}; try again in {seconds} s."
    return ApiError(429, detail, "too-many-requests", {"Retry-After": str(seconds)})
