"""Encoders, models and settings: the tables `encoders`, `models`, `model_encoders` and `settings`."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from nearsong.errors import LibraryError
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.light.records import ACTIVE, PENDING, EncoderRow, ModelRow
from nearsong.library.store.schema import embeddings, encoders, model_encoders, models, settings, song_vectors


class ModelTable:
    """Reads and writes encoders, models and settings."""

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
        """Write a setting; None deletes it."""
        if value is None:
            connection.execute(settings.delete().where(settings.c.name == name))
            return
        row = {"name": name, "value": str(value)}
        connection.execute(self._database.upsert(settings, [row], ["name"]), row)

    # ---- encoders

    def add_encoder(
        self,
        connection: Connection,
        *,
        name: str,
        key: str,
        data: bytes,
        n_dimensions: int,
        dtype: str = "float32",
        fitted_songs: int | None = None,
    ) -> int:
        """Store an encoder, unless one with the same key is stored already."""
        row = {
            "name": name,
            "key": key,
            "data": data,
            "n_dimensions": n_dimensions,
            "dtype": dtype,
            "scanned": False,
            "fitted_songs": fitted_songs,
        }
        query = sa.select(encoders.c.id).where(encoders.c.key == key)
        existing = connection.execute(query).scalar()
        if existing is not None:
            return int(existing)
        return int(connection.execute(encoders.insert().returning(encoders.c.id), row).scalar_one())

    def encoder(self, encoder_id: int) -> bytes:
        """Return the bytes of an encoder."""
        query = sa.select(encoders.c.data).where(encoders.c.id == encoder_id)
        with self._database.reading() as connection:
            return bytes(connection.execute(query).scalar_one())

    def encoders(self, connection: Connection | None = None) -> list[EncoderRow]:
        """Return all encoders, the oldest first."""
        if connection is None:
            with self._database.reading() as reader:
                return self.encoders(reader)
        columns = (encoders.c.id, encoders.c.name, encoders.c.scanned, encoders.c.fitted_songs)
        rows = connection.execute(sa.select(*columns).order_by(encoders.c.id))
        return [
            EncoderRow(id=row.id, name=row.name, scanned=row.scanned, fitted_songs=row.fitted_songs) for row in rows
        ]

    def scanned_encoders(self, connection: Connection | None = None) -> dict[str, int]:
        """Return the encoders whose vectors scans compute: name -> id."""
        return {row.name: row.id for row in self.encoders(connection) if row.scanned}

    def scan_with(self, connection: Connection, encoder_id: int) -> None:
        """Make scans compute vectors of an encoder instead of any other encoder of the same name."""
        name = connection.execute(sa.select(encoders.c.name).where(encoders.c.id == encoder_id)).scalar_one()
        connection.execute(encoders.update().where(encoders.c.name == name), {"scanned": False})
        connection.execute(encoders.update().where(encoders.c.id == encoder_id), {"scanned": True})

    def stop_scanning(self, connection: Connection, encoder_id: int) -> None:
        """Stop computing vectors of an encoder in scans; stored vectors are not deleted."""
        connection.execute(encoders.update().where(encoders.c.id == encoder_id), {"scanned": False})

    def drop_encoder(self, connection: Connection, encoder_id: int) -> None:
        """Delete an encoder's vectors and native models, and the encoder itself unless another model needs it."""
        native = _models_with(encoder_id).where(models.c.kind == "native")
        self._delete_models(connection, connection.execute(native).scalars().all())
        connection.execute(song_vectors.delete().where(song_vectors.c.encoder_id == encoder_id))
        if connection.execute(_models_with(encoder_id)).first() is None:
            connection.execute(encoders.delete().where(encoders.c.id == encoder_id))
        else:
            self.stop_scanning(connection, encoder_id)

    # ---- models

    def add(
        self,
        connection: Connection,
        kind: str,
        encoder_ids: Sequence[int],
        data: bytes,
        facts: dict[str, Any],
        *,
        uses_artists: bool = False,
    ) -> int:
        """Store a model; one that is stored already is used again, as after a training that was killed at its end."""
        same = self._same_model(connection, kind, encoder_ids, data)
        if same is not None:
            connection.execute(models.update().where(models.c.id == same), {"facts": json.dumps(facts)})
            return same
        row = {
            "created": time.time(),
            "kind": kind,
            "uses_artists": uses_artists,
            "data": data,
            "facts": json.dumps(facts),
        }
        model_id = int(connection.execute(models.insert().returning(models.c.id), row).scalar_one())
        members = [
            {"model_id": model_id, "position": position, "encoder_id": encoder_id}
            for position, encoder_id in enumerate(encoder_ids)
        ]
        connection.execute(model_encoders.insert(), members)
        return model_id

    def _same_model(self, connection: Connection, kind: str, encoder_ids: Sequence[int], data: bytes) -> int | None:
        query = sa.select(models.c.id).where(models.c.kind == kind, models.c.data == data)
        ids = set(connection.execute(query).scalars())
        return next(
            (row.id for row in self.rows(connection) if row.id in ids and row.encoder_ids == tuple(encoder_ids)), None
        )

    def rows(self, connection: Connection | None = None) -> list[ModelRow]:
        """Return all models, the oldest first."""
        if connection is None:
            with self._database.reading() as reader:
                return self.rows(reader)
        return _model_rows(connection, _SELECT_MODELS)

    def row(self, model_id: int, connection: Connection | None = None) -> ModelRow:
        """Return one model."""
        if connection is None:
            with self._database.reading() as reader:
                return self.row(model_id, reader)
        fits_column = 0 < model_id < 2**63
        rows = _model_rows(connection, _SELECT_MODELS.where(models.c.id == model_id)) if fits_column else []
        if not rows:
            raise LibraryError(f"Model not found: {model_id}. List models with: nearsong models")
        return rows[0]

    def data(self, model_id: int, connection: Connection | None = None) -> bytes:
        """Return the bytes of a model."""
        query = sa.select(models.c.data).where(models.c.id == model_id)
        if connection is None:
            with self._database.reading() as reader:
                return self.data(model_id, reader)
        data = connection.execute(query).scalar()
        if data is None:
            raise LibraryError(f"Model not found: {model_id}. List models with: nearsong models")
        return bytes(data)

    def remove(self, model_id: int) -> None:
        """Delete a model that is not in use, and those of its encoders that nothing else needs."""
        with self._database.writing() as connection:
            encoder_ids = self.row(model_id, connection).encoder_ids
            if str(model_id) in (self.setting_in(connection, ACTIVE), self.setting_in(connection, PENDING)):
                raise LibraryError(f"Model {model_id} is in use. Choose another first: nearsong models use MODEL")
            self._delete_models(connection, [model_id])
            scanned = self.scanned_encoders(connection).values()
            for encoder_id in set(encoder_ids) - set(scanned):
                if connection.execute(_models_with(encoder_id)).first() is None:
                    self.drop_encoder(connection, encoder_id)

    def _delete_models(self, connection: Connection, ids: Iterable[int]) -> None:
        for model_id in ids:
            connection.execute(embeddings.delete().where(embeddings.c.model_id == model_id))
            connection.execute(models.delete().where(models.c.id == model_id))

    def drop_embeddings(self, model_id: int) -> None:
        """Delete the embeddings of a model that is not active; they are computed again when it is used."""
        with self._database.writing() as connection:
            if str(model_id) != self.setting_in(connection, ACTIVE):
                connection.execute(embeddings.delete().where(embeddings.c.model_id == model_id))

    @property
    def active(self) -> int | None:
        """The active model."""
        model_id = self.setting(ACTIVE)
        return None if model_id is None else int(model_id)


_SELECT_MODELS = sa.select(models.c.id, models.c.created, models.c.kind, models.c.uses_artists, models.c.facts)


def _models_with(encoder_id: int) -> sa.Select[Any]:
    """Return a query for the ids of the models that need an encoder."""
    members = sa.select(model_encoders.c.model_id).where(model_encoders.c.encoder_id == encoder_id)
    return sa.select(models.c.id).where(models.c.id.in_(members))


def _model_rows(connection: Connection, query: sa.Select[Any]) -> list[ModelRow]:
    members = sa.select(model_encoders.c.model_id, encoders.c.id, encoders.c.name).join_from(model_encoders, encoders)
    members_of: dict[int, list[tuple[int, str]]] = {}
    for model_id, encoder_id, name in connection.execute(members.order_by(model_encoders.c.position)):
        members_of.setdefault(model_id, []).append((encoder_id, name))
    return [
        ModelRow(
            **{**row._mapping, "facts": json.loads(row.facts)},
            encoder_ids=tuple(encoder_id for encoder_id, _ in members_of.get(row.id, ())),
            encoders=tuple(name for _, name in members_of.get(row.id, ())),
        )
        for row in connection.execute(query.order_by(models.c.id)).all()
    ]
