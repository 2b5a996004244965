"""What one service at a time may do: a lease, which it renews, and which is free soon after it was killed."""

import time

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from nearsong.library.store.database import Database
from nearsong.library.store.shared.tables import NOW, leases

LEASE_SECONDS = 10.0
"""How long a lease lasts that is not renewed."""

RENEW_SECONDS = 2.0
"""How often it is renewed, and how often one of another service is looked at."""


class Lease:
    """Something that one service at a time may do.

    Parameters
    ----------
    database : Database
    service : str
        The service that wants it.
    name : str
    """

    def __init__(self, database: Database, service: str, name: str) -> None:
        self._database, self._service, self._name = database, service, name
        self._is_held = False
        self._asked = -RENEW_SECONDS

    def hold(self) -> bool:
        """Return whether this service has the lease; it is taken if it is free, and renewed in time."""
        now = time.monotonic()
        if now - self._asked >= RENEW_SECONDS:
            self._is_held = False  # also if the database cannot be asked
            self._is_held = self._take()
            self._asked = now
        return self._is_held

    def _take(self) -> bool:
        mine = {"service": self._service, "until": NOW + LEASE_SECONDS}
        insert = postgresql.insert(leases).values(name=self._name, **mine)
        is_free = (leases.c.service == self._service) | (leases.c.until < NOW)
        take = insert.on_conflict_do_update(index_elements=["name"], set_=mine, where=is_free)
        with self._database.sharing(alone=False) as connection:
            return connection.execute(take.returning(leases.c.name)).first() is not None


def release_all(database: Database, service: str) -> None:
    """Give back all leases of a service, and remove those that ended long ago."""
    with database.sharing(alone=False) as connection:
        is_old = leases.c.until < NOW - 100 * LEASE_SECONDS
        connection.execute(leases.delete().where((leases.c.service == service) | is_old))


def heartbeat_name(service: str) -> str:
    """Return the name of the lease that a service has while it is alive."""
    return f"service {service}"


def alive() -> sa.Select[tuple[str]]:
    """Return a query for the services that are alive."""
    is_heartbeat = leases.c.name == "service " + leases.c.service
    return sa.select(leases.c.service).where(is_heartbeat, leases.c.until >= NOW)
