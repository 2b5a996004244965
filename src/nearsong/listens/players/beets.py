"""beets' ``library.db`` -> blocks: how often songs were played and skipped, as its plugin mpdstats counts.

Its ratings are left out: mpdstats computes them from plays and skips.
"""

from collections.abc import Iterator
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import NOT_PLAYED, LeftOut, ListenRow, add_records, as_text
from nearsong.listens.players.sqlite_file import PlayerDatabase, open_database, tables_in
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

TABLES = ("items", "item_attributes")

_COUNTED = ("play_count", "skip_count")


def read_beets(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read counts of plays and skips."""
    builder.begin(source.name, user, "song")
    with open_database(source, TABLES) as database:
        if set(TABLES) - database.tables.keys():
            raise ListensError(f"{source.name} is not a library of beets: it has no table {' or '.join(TABLES)}.")
        yield from add_records(builder, user, enumerate(_songs(database), start=1), song_rows)
    builder.end()


def song_rows(song: dict[str, Any]) -> LeftOut | list[ListenRow | LeftOut]:
    """Return how often a song was played and skipped.

    >>> rows = song_rows({"artist": "Ann", "title": "Song", "play_count": "3", "skip_count": "1"})
    >>> [(row.action.name, row.plays) for row in rows]
    [('LISTEN', 3.0), ('SKIP', 1.0)]
    """
    plays, skips = (float(song.get(name) or 0) for name in _COUNTED)
    row = ListenRow(
        artist=as_text(song.get("artist")),
        title=as_text(song.get("title")),
        recording_mbid=as_text(song.get("mb_trackid")),
        artist_mbid=as_text(song.get("mb_artistid")),
    )
    rows: list[ListenRow | LeftOut] = []
    if plays:
        rows.append(row._replace(plays=plays))
    if skips:
        rows.append(row._replace(plays=skips, action=Action.SKIP))
    return rows or NOT_PLAYED


def _songs(database: PlayerDatabase) -> Iterator[dict[str, Any]]:
    counts: dict[Any, dict[str, Any]] = {}
    for fact in database.rows("item_attributes", ("entity_id", "key", "value")):
        if fact["key"] in _COUNTED:
            counts.setdefault(fact["entity_id"], {})[fact["key"]] = fact["value"]
    columns = ("id", "artist", "title", "mb_trackid", "mb_artistid", *_COUNTED)
    for song in database.rows("items", columns):
        yield song | counts.get(song["id"], {})


def _is_beets(beginning: Beginning) -> bool:
    return beginning.is_sqlite and set(TABLES) <= tables_in(beginning.source, TABLES).keys()


BEETS = ListenFormat(name="beets", kind="counts", read=read_beets, matches=_is_beets, endings=(".db",))
