"""All that services on one database share."""

import secrets

from nearsong.library.store.database import Database
from nearsong.library.store.shared.jobs import JobTable
from nearsong.library.store.shared.leases import Lease, heartbeat_name, release_all
from nearsong.library.store.shared.now_playing import PlayingTable
from nearsong.library.store.shared.sessions import SessionTable
from nearsong.library.store.shared.tables import make_tables


class SharedState:
    """What one of the services on a PostgreSQL database tells the others.

    Attributes
    ----------
    service : str
        The id of this service.
    jobs : JobTable
    now_playing : PlayingTable
    heartbeat : Lease
        That this service is alive.
    """

    def __init__(self, database: Database) -> None:
        make_tables(database)
        self._database = database
        self.service = secrets.token_hex(8)
        self.jobs = JobTable(database, self.service)
        self.now_playing = PlayingTable(database)
        self.heartbeat = self.lease(heartbeat_name(self.service))

    def lease(self, name: str) -> Lease:
        """Return what one service at a time may do."""
        return Lease(self._database, self.service, name)

    def sessions(self, *, idle_seconds: float, max_seconds: float, max_sessions: int) -> SessionTable:
        """Return the active sessions, which last so long."""
        return SessionTable(self._database, idle_seconds, max_seconds, max_sessions)

    def leave(self) -> None:
        """Give back what this service has, since it ends."""
        release_all(self._database, self.service)
