"""Listeners in every table: their names, and all rows of one, which are deleted in one transaction, or none is."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from nearsong.library.store.bulk import insert_rows
from nearsong.library.store.database import Connection, Database
from nearsong.library.store.light.records import PLAYED
from nearsong.library.store.listen_columns import ListenColumns, pack, pack_users, unpack, unpack_users
from nearsong.library.store.listens import delete_source, delete_unused, grown, user_id
from nearsong.library.store.recorded.accounts import account_key
from nearsong.library.store.schema import (
    accounts,
    bookmarks,
    listen_blocks,
    listen_sources,
    listen_totals,
    listen_users,
    play_queues,
    playlist_songs,
    playlists,
    plays,
    reactions,
)
from nearsong.library.store.text import text_to_path
from nearsong.listens.records import Action

OwnsHistory = Callable[[str, str], bool]
"""Name and kind of a history -> whether all of it is the listener's, whatever users it has."""


@dataclass
class DeletedRows:
    """How much was deleted.

    Attributes
    ----------
    plays, hearts, ratings, skips : int
        Recorded by the page and by players.
    rows, histories : int
        Rows of histories, recorded ones not counted again, and the histories they were in.
    playlists, queues, bookmarks, accounts : int
    is_importing : bool
        Whether an import was running: names that only the listener used stay until the next removal then.
    """

    plays: int = 0
    hearts: int = 0
    ratings: int = 0
    skips: int = 0
    rows: int = 0
    histories: int = 0
    playlists: int = 0
    queues: int = 0
    bookmarks: int = 0
    accounts: int = 0
    is_importing: bool = False


class ListenerRows:
    """Names all listeners, and deletes what is stored about one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def names(self) -> list[str]:
        """Return the names of all listeners: of accounts, of what was recorded, and of imported histories."""
        of_people = listen_sources.c.complete & (listen_sources.c.kind != "playlists")
        recorded = sa.union(sa.select(accounts.c.name), sa.select(plays.c.listener), sa.select(reactions.c.listener))
        with self._database.reading() as connection:
            found = {str(name) for (name,) in connection.execute(recorded)}
            packed = list(connection.execute(sa.select(listen_sources.c.users).where(of_people)))
            numbers = {int(number) for (users,) in packed for number in unpack_users(users).tolist()}
            people = connection.execute(sa.select(listen_users.c.id, listen_users.c.name))
            found.update(str(name) for number, name in people if number in numbers)
        return sorted(found)

    def delete(self, listener: str, owns_history: OwnsHistory) -> DeletedRows:
        """Delete all rows of a listener; SQLite overwrites them, so that they cannot be read from the file."""
        with self._database.writing() as connection:
            if self._database.is_sqlite:
                connection.exec_driver_sql("PRAGMA secure_delete=ON").close()
            deleted = _delete_recorded(connection, listener)
            _delete_histories(connection, listener, owns_history, deleted)
            unfinished = sa.select(listen_sources.c.id).where(~listen_sources.c.complete)
            deleted.is_importing = connection.execute(unfinished).first() is not None
            delete_unused(connection)
        return deleted


def _delete_recorded(connection: Connection, listener: str) -> DeletedRows:
    """Delete plays, reactions, the queue, bookmarks, playlists and the account."""

    def reacted(action: Action) -> int:
        mine = (reactions.c.listener == listener) & (reactions.c.action == int(action))
        return connection.execute(reactions.delete().where(mine)).rowcount

    owned = sa.select(playlists.c.id).where(playlists.c.owner == listener)
    connection.execute(playlist_songs.delete().where(playlist_songs.c.playlist_id.in_(owned)))
    return DeletedRows(
        plays=connection.execute(plays.delete().where(plays.c.listener == listener)).rowcount,
        hearts=reacted(Action.HEART),
        ratings=reacted(Action.RATING),
        skips=reacted(Action.SKIP),
        playlists=connection.execute(playlists.delete().where(playlists.c.owner == listener)).rowcount,
        queues=connection.execute(play_queues.delete().where(play_queues.c.listener == listener)).rowcount,
        bookmarks=connection.execute(bookmarks.delete().where(bookmarks.c.listener == listener)).rowcount,
        accounts=connection.execute(accounts.delete().where(accounts.c.key == account_key(listener))).rowcount,
    )


def _delete_histories(connection: Connection, listener: str, owns_history: OwnsHistory, deleted: DeletedRows) -> None:
    number = user_id(connection, listener)
    for source in connection.execute(sa.select(listen_sources).order_by(listen_sources.c.id)).all():
        is_played = source.format == PLAYED
        if not source.complete:
            if is_played:  # one being built would restore the plays
                delete_source(connection, source.id)
            continue
        n_rows = 0
        if owns_history(text_to_path(source.name), source.kind):
            n_rows = int(source.rows)
            delete_source(connection, source.id)
        elif number is not None and number in unpack_users(source.users):
            n_rows = _delete_user(connection, source, number)
        if n_rows and not is_played:
            deleted.rows += n_rows
            deleted.histories += 1


def _delete_user(connection: Connection, source: sa.Row[tuple[object, ...]], number: int) -> int:
    """Delete the rows of a user from a history, and the history if no others are left; return how many."""
    totals = _Totals()
    n_deleted = 0
    blocks = sa.select(listen_blocks.c.number).where(listen_blocks.c.source_id == source.id)
    for block in connection.execute(blocks).scalars().all():  # one at a time: a history may be large
        this = (listen_blocks.c.source_id == source.id) & (listen_blocks.c.number == block)
        columns = unpack(connection.execute(sa.select(listen_blocks.c.data).where(this)).scalar_one())
        mine = columns.user == number
        totals.add(columns, mine)
        if not mine.any():
            continue
        n_deleted += int(mine.sum())
        if mine.all():
            connection.execute(listen_blocks.delete().where(this))
        else:
            connection.execute(listen_blocks.update().where(this), {"data": pack(columns.at(~mine))})
    if n_deleted == source.rows:
        delete_source(connection, source.id)
        return n_deleted
    totals.write(connection, source.id)
    users = unpack_users(source.users)
    changes = {
        "rows": source.rows - n_deleted,
        "users": pack_users(users[users != number]),
        "fingerprint": secrets.token_hex(32),  # the file may be imported again
    }
    connection.execute(listen_sources.update().where(listen_sources.c.id == source.id), changes)
    return n_deleted


class _Totals:
    """The totals of a history after rows were deleted, of the names that these had."""

    def __init__(self) -> None:
        self._plays = np.zeros(0)
        self._is_left = np.zeros(0, bool)
        self._is_deleted = np.zeros(0, bool)

    def add(self, columns: ListenColumns, deleted: npt.NDArray[np.bool_]) -> None:
        """Count the rows of a block that stay."""
        self._plays = grown(self._plays, columns.name)
        self._is_left = grown(self._is_left, columns.name)
        self._is_deleted = grown(self._is_deleted, columns.name)
        left = columns.at(~deleted)
        listens = left.of(Action.LISTEN)
        np.add.at(self._plays, listens.name, listens.plays.astype(np.float64))
        self._is_left[left.name] = True
        self._is_deleted[columns.name[deleted]] = True

    def write(self, connection: Connection, source: int) -> None:
        """Replace the totals of names that have changed; names without rows get none."""
        changed = np.flatnonzero(self._is_deleted)
        batch = 10_000
        for start in range(0, len(changed), batch):
            part = changed[start : start + batch].tolist()
            this = (listen_totals.c.source_id == source) & listen_totals.c.name_id.in_(part)
            connection.execute(listen_totals.delete().where(this))
            rows = [(source, name, float(self._plays[name])) for name in part if self._is_left[name]]
            insert_rows(connection, listen_totals, ("source_id", "name_id", "plays"), rows)
