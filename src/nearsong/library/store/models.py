"""Ears, models and settings: the tables `ears`, `models` and `settings`."""

import json
import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.schema import ears, models, places, settings, sounds

ACTIVE, PENDING, EAR, OWN_EAR = "active_model", "pending_model", "ear", "own_ear"
"""Settings: the model that answers, the one that will when all songs are heard, the ear that scans use, and from how
many songs of the library that ear was learned."""


@dataclass(frozen=True)
class ModelRow:
    """A model that is kept.

    Attributes
    ----------
    id : int
    created : float
        Seconds since 1970.
    kind : str
        native, learned or imported.
    ear_id : int
        The ear it is for.
    facts : dict
        The report of its training, its calibration.
    """

    id: int
    created: float
    kind: str
    ear_id: int
    facts: dict[str, Any]


class ModelTable:
    """Reads and writes ears, models and settings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ---- settings

    def setting(self, name: str) -> str | None:
        """Return a setting."""
        with self._database.reading() as connection:
            return self.setting_in(connection, name)

    def setting_in(self, connection: Connection, name: str) -> str | None:
        """Return a setting as a transaction sees it."""
        return connection.execute(sa.select(settings.c.value).where(settings.c.name == name)).scalar()

    def set(self, connection: Connection, name: str, value: str | int | None) -> None:
        """Write a setting; None takes it away."""
        if value is None:
            connection.execute(settings.delete().where(settings.c.name == name))
            return
        row = {"name": name, "value": str(value)}
        connection.execute(self._database.upsert(settings, [row], ["name"]), row)

    # ---- ears

    def add_ear(self, connection: Connection, key: str, data: bytes) -> int:
        """Keep an ear; one that hears the same is kept once."""
        row = {"key": key, "data": data}
        connection.execute(self._database.upsert(ears, [row], ["key"]), row)
        return int(connection.execute(sa.select(ears.c.id).where(ears.c.key == key)).scalar_one())

    def ear(self, ear_id: int) -> bytes:
        """Return the bytes of an ear."""
        with self._database.reading() as connection:
            return bytes(connection.execute(sa.select(ears.c.data).where(ears.c.id == ear_id)).scalar_one())

    @property
    def current_ear(self) -> int | None:
        """The ear that scans use."""
        found = self.setting(EAR)
        return None if found is None else int(found)

    # ---- models

    def add(self, connection: Connection, kind: str, ear_id: int, data: bytes, facts: dict[str, Any]) -> int:
        """Keep a model."""
        row = {"created": time.time(), "kind": kind, "ear_id": ear_id, "data": data, "facts": json.dumps(facts)}
        return int(connection.execute(models.insert().returning(models.c.id), row).scalar_one())

    def rows(self) -> list[ModelRow]:
        """Return all models, the oldest first."""
        with self._database.reading() as connection:
            return [_model_row(row) for row in connection.execute(_ROWS.order_by(models.c.id))]

    def row(self, model_id: int, connection: Connection | None = None) -> ModelRow:
        """Return one model."""
        if connection is None:
            with self._database.reading() as reader:
                return self.row(model_id, reader)
        possible = 0 < model_id < 2**63  # what a database can hold
        found = connection.execute(_ROWS.where(models.c.id == model_id)).first() if possible else None
        if found is None:
            raise LibraryError(f"there is no model {model_id}; `nearsong models` lists those there are.")
        return _model_row(found)

    def data(self, model_id: int, connection: Connection | None = None) -> bytes:
        """Return the bytes of a model."""
        query = sa.select(models.c.data).where(models.c.id == model_id)
        if connection is None:
            with self._database.reading() as reader:
                return self.data(model_id, reader)
        found = connection.execute(query).scalar()
        if found is None:
            raise LibraryError(f"there is no model {model_id}; `nearsong models` lists those there are.")
        return bytes(found)

    def remove(self, model_id: int) -> None:
        """Forget a model that is not in use; what songs sound like to an ear that nobody needs any more too."""
        with self._database.writing() as connection:
            ear = self.row(model_id, connection).ear_id
            if str(model_id) in (self.setting_in(connection, ACTIVE), self.setting_in(connection, PENDING)):
                raise LibraryError(f"model {model_id} is in use; choose another first with `nearsong models use`.")
            connection.execute(places.delete().where(places.c.model_id == model_id))
            connection.execute(models.delete().where(models.c.id == model_id))
            others = connection.execute(sa.select(models.c.id).where(models.c.ear_id == ear)).first()
            if others is None and str(ear) != self.setting_in(connection, EAR):
                connection.execute(sounds.delete().where(sounds.c.ear_id == ear))
                connection.execute(ears.delete().where(ears.c.id == ear))

    def drop_places(self, model_id: int) -> None:
        """Forget where songs are under a model, unless it answers; they get their places anew when it is to."""
        with self._database.writing() as connection:
            if str(model_id) != self.setting_in(connection, ACTIVE):
                connection.execute(places.delete().where(places.c.model_id == model_id))

    @property
    def active(self) -> int | None:
        """The model that answers."""
        found = self.setting(ACTIVE)
        return None if found is None else int(found)


_ROWS = sa.select(models.c.id, models.c.created, models.c.kind, models.c.ear_id, models.c.facts)


def _model_row(row: Any) -> ModelRow:
    return ModelRow(row.id, row.created, row.kind, row.ear_id, json.loads(row.facts))
