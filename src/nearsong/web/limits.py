"""Who asks, and how often -> whether they may now, or how many seconds to wait: a bucket of permits for each caller.

Memory is bounded: of many callers only those who asked last are remembered, and a full bucket is worth forgetting.
"""

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import HTTPConnection

from nearsong.errors import InvalidInputError
from nearsong.web.problems import ApiError

MOST_CALLERS = 10_000


class RateLimit:
    """So many permits in a time, for each caller.

    Parameters
    ----------
    rate : float
        Permits that come back ...
    per : float
        ... in so many seconds.
    burst : int, optional
        Permits that can be saved up; by default ``rate``.
    clock : callable
        Seconds that never go back.

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
            raise InvalidInputError(f"a limit of {rate} in {per} s with a burst of {burst} lets nobody through.")
        self._each = per / rate
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: OrderedDict[str, float] = OrderedDict()  # when each caller's bucket is full again

    def __len__(self) -> int:
        return len(self._full_at)

    def wait(self, caller: str) -> float:
        """Return the seconds until a caller has a permit; 0 if there is one now. Nothing is taken."""
        with self._lock:
            return self._missing(caller, self._clock())

    def take(self, caller: str, n: int = 1) -> float:
        """Take permits and return 0; if there are not so many, return the seconds until there are."""
        with self._lock:
            now = self._clock()
            missing = self._missing(caller, now, n)
            if missing > 0:
                return missing
            self._full_at[caller] = max(self._full_at.get(caller, now), now) + n * self._each
            self._full_at.move_to_end(caller)
            while len(self._full_at) > MOST_CALLERS:
                self._full_at.popitem(last=False)
            return 0.0

    def _missing(self, caller: str, now: float, n: int = 1) -> float:
        taken = max(self._full_at.get(caller, now) - now, 0.0) / self._each
        # a permit that lacks less than a millionth is there: sums of floats are not exact
        short = taken + n - self._burst
        return short * self._each if short > 1e-6 else 0.0


def client_of(request: HTTPConnection) -> str:
    """Return who asks: the address, of IPv6 the network, since a caller has as many addresses of it as he likes."""
    return address_key("" if request.client is None else request.client.host)


def address_key(host: str) -> str:
    """Return what an address is counted under.

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
    """Take permits for a request, or answer with problem 429."""
    wait = limit.take(client_of(request), n)
    if wait > 0:
        raise too_many(wait, what)


def too_many(wait: float, what: str = "requests") -> ApiError:
    """Return the problem of someone who asks too often."""
    seconds = max(1, math.ceil(wait))
    detail = f"too many {what} in a short time; try again in {seconds} s."
    return ApiError(429, detail, "too-many-requests", {"Retry-After": str(seconds)})
