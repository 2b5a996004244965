"""What listeners play now, over all services: the table `service_now_playing`."""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from nearsong.library.store.database import Database
from nearsong.library.store.shared.tables import now_playing

Playing = dict[str, Any]


class PlayingTable:
    """Reads and writes what each listener plays, as JSON values, until it must have ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def change(self, listener: str, change: Callable[[Playing | None, float], tuple[Playing, float] | None]) -> None:
        """Change what a listener plays, alone; nothing if the change is None.

        ``change`` is called with what plays, or None, and until when.
        """
        query = sa.select(now_playing).where(now_playing.c.listener == listener)
        with self._database.sharing() as connection:
            row = connection.execute(query).first()
            changed = change(None, 0.0) if row is None else change(json.loads(row.playing), row.until)
            if changed is None:
                return
            values = {"until": changed[1], "playing": json.dumps(changed[0])}
            insert = postgresql.insert(now_playing).values(listener=listener, **values)
            connection.execute(insert.on_conflict_do_update(index_elements=["listener"], set_=values))

    def remove(self, listener: str) -> None:
        """Forget what a listener plays."""
        with self._database.sharing(alone=False) as connection:
            connection.execute(now_playing.delete().where(now_playing.c.listener == listener))

    def all(self, now: float) -> list[Playing]:
        """Return what plays at a time; the rest is forgotten."""
        with self._database.sharing(alone=False) as connection:
            connection.execute(now_playing.delete().where(now_playing.c.until <= now))
            return [json.loads(playing) for playing in connection.execute(sa.select(now_playing.c.playing)).scalars()]
