"""``navidrome.db`` -> blocks: plays, stars and ratings of each user; newer versions also store single listens.

Listens with a time (the table ``scrobbles``) are a history of their own. The play counts contain them, so that only
what is above their number is read as counts.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import Beginning, ListenFormat
from nearsong.listens.json_records import NAMELESS, NOT_PLAYED, LeftOut, ListenRow, add_records, as_text
from nearsong.listens.players.sqlite_file import PlayerDatabase, open_database, tables_in
from nearsong.listens.records import Action, ListenBlock
from nearsong.listens.sources import SourceFile

TABLES = ("annotation", "media_file", "user")
LISTENS_TABLE = "scrobbles"

_SONG = ("id", "artist", "title", "mbz_recording_id", "mbz_track_id", "mbz_artist_id")
_FACTS = ("user_id", "item_id", "item_type", "play_count", "rating", "starred", "starred_at")
_NOT_SONGS = LeftOut("albums and artists")
_IN_LISTENS = LeftOut("counts of listens that are there with their time")


def read_navidrome(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read play counts, stars and ratings."""
    builder.begin(source.name, user, "row")
    with _opened(source) as database:
        songs, users = _songs(database), _users(database)
        n_listens = Counter((row["user_id"], row["media_file_id"]) for row in _listens(database))

        def say(fact: dict[str, Any]) -> LeftOut | list[ListenRow | LeftOut]:
            if fact["item_type"] != "media_file":
                return _NOT_SONGS
            song = songs.get(fact["item_id"])
            if song is None:
                return NAMELESS
            row = song._replace(user=users.get(fact["user_id"], ""))
            return fact_rows(row, fact, n_listens[fact["user_id"], fact["item_id"]])

        yield from add_records(builder, user, enumerate(database.rows("annotation", _FACTS), start=1), say)
    builder.end()


def read_navidrome_listens(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read single listens, which older versions do not store."""
    builder.begin(source.name, user, "row")
    with _opened(source) as database:
        songs, users = _songs(database), _users(database)

        def say(listen: dict[str, Any]) -> ListenRow | LeftOut:
            song = songs.get(listen["media_file_id"])
            if song is None:
                return NAMELESS
            return song._replace(user=users.get(listen["user_id"], ""), time=listen["submission_time"])

        yield from add_records(builder, user, enumerate(_listens(database), start=1), say)
    builder.end()


def fact_rows(row: ListenRow, fact: dict[str, Any], n_listens: int) -> LeftOut | list[ListenRow | LeftOut]:
    """Return what is known of a song and a user, without plays that are listens of their own."""
    plays, rating = float(fact["play_count"] or 0), float(fact["rating"] or 0)
    rows: list[ListenRow | LeftOut] = []
    if plays > n_listens:
        rows.append(row._replace(plays=plays - n_listens))
    if fact["starred"]:
        rows.append(row._replace(time=fact["starred_at"], action=Action.HEART))
    if rating:
        rows.append(row._replace(plays=rating, action=Action.RATING))
    return rows or (_IN_LISTENS if plays else NOT_PLAYED)


def _opened(source: SourceFile) -> Any:
    return open_database(source, (*TABLES, LISTENS_TABLE))


def _songs(database: PlayerDatabase) -> dict[Any, ListenRow]:
    if missing := set(TABLES) - database.tables.keys():
        raise ListensError(f"{database.name} is not a database of Navidrome: it has no table {min(missing)}.")
    return {
        song["id"]: ListenRow(
            artist=as_text(song["artist"]),
            title=as_text(song["title"]),
            recording_mbid=as_text(song["mbz_recording_id"] or song["mbz_track_id"]),
            artist_mbid=as_text(song["mbz_artist_id"]),
        )
        for song in database.rows("media_file", _SONG)
    }


def _users(database: PlayerDatabase) -> dict[Any, str]:
    return {user["id"]: as_text(user["user_name"]) for user in database.rows("user", ("id", "user_name"))}


def _listens(database: PlayerDatabase) -> Iterator[dict[str, Any]]:
    if LISTENS_TABLE in database.tables:
        yield from database.rows(LISTENS_TABLE, ("user_id", "media_file_id", "submission_time"))


def _is_navidrome(beginning: Beginning) -> bool:
    return beginning.is_sqlite and set(TABLES) <= tables_in(beginning.source, TABLES).keys()


NAVIDROME = ListenFormat(
    name="navidrome",
    kind="counts",
    read=read_navidrome,
    matches=_is_navidrome,
    also=("navidrome-listens",),
    endings=(".db",),
)
NAVIDROME_LISTENS = ListenFormat(name="navidrome-listens", kind="events", read=read_navidrome_listens)
