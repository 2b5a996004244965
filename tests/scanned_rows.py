"""Every row that a scan writes, to compare two libraries of the same music byte by byte."""

from typing import Any

import sqlalchemy as sa

from nearsong.library.store import Store, schema

NOT_COMPARED = {"id", "added"}  # which depend on who was faster, and when


def stored(store: Store) -> dict[str, Any]:
    """Return every row that a scan writes: files by path, with encoders and models by their order."""
    with store._database.reading() as connection:

        def rows(table):
            return [dict(row._mapping) for row in connection.execute(sa.select(table))]

        encoders = sorted(rows(schema.encoders), key=lambda row: row["id"])
        models = sorted(rows(schema.models), key=lambda row: row["id"])
        name_of = {row["id"]: row["name"] for row in encoders}
        songs = rows(schema.songs)
        path_of = {row["id"]: row["path"] for row in songs}
        vectors = {
            (path_of[row["song_id"]], name_of[row["encoder_id"]]): row["vector"] for row in rows(schema.song_vectors)
        }
        embeddings = {(path_of[row["song_id"]], row["model_id"]): row["embedding"] for row in rows(schema.embeddings)}
        return {
            "songs": {row["path"]: {k: v for k, v in row.items() if k not in NOT_COMPARED} for row in songs},
            "encoders": encoders,
            "vectors": vectors,
            "embeddings": embeddings,
            "models": [{k: v for k, v in row.items() if k != "created"} for row in models],
            "model_encoders": rows(schema.model_encoders),
            "stale": rows(schema.stale_artists),
            "roots": [row["path"] for row in rows(schema.roots)],
        }


def check_same(found: Store, expected: Store) -> None:
    first, second = stored(found), stored(expected)
    for part in second:
        assert first[part] == second[part], part
