"""A service and a user name -> what is new there, in the library."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull.from_lastfm import LastfmService
from nearsong.library.listeners.pull.from_listenbrainz import ListenBrainzService
from nearsong.library.listeners.pull.from_subsonic import FORMAT, rows_of
from nearsong.library.listeners.pull.http_json import Pause
from nearsong.library.listeners.pull.position import PullPosition
from nearsong.library.listeners.pull.services import MAX_HEARTS, ListenService, checked_name
from nearsong.library.listeners.pull.subsonic_server import SubsonicServer
from nearsong.library.listeners.pull.walk import READ_ERRORS, Reached, Walk, blocks_of
from nearsong.library.store import Store
from nearsong.listens.blocks import BlockBuilder, RowCounts
from nearsong.listens.json_records import LeftOut, ListenRow
from nearsong.listens.records import Action, ListenBlock
from nearsong.types import Note, no_note

LISTEN_SERVICES: dict[str, Callable[..., ListenService]] = {
    "listenbrainz": ListenBrainzService,
    "lastfm": LastfmService,
}
"""Name -> service with the listens of a user; `subsonic` has counts instead."""

SUBSONIC = FORMAT


@dataclass(frozen=True)
class PullReport:
    """Result of a pull.

    Attributes
    ----------
    name : str
        Name of the history.
    source : int or None
        Id of the history; None if there is nothing yet.
    listener : str
        Whose listens these are.
    new_rows : int
        Rows that were added; for counts, the rows of the new snapshot, 0 if nothing changed.
    rows, hearts : int
        Rows of the history now, and how many of them are hearts.
    bad_rows : int
        Records that could not be read.
    left_out : mapping of str to int
        Reason -> records that were not used.
    """

    name: str
    source: int | None
    listener: str
    new_rows: int = 0
    rows: int = 0
    hearts: int = 0
    bad_rows: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


def no_reached(new_rows: int, seconds: int) -> None:
    """Do nothing: the default of ``reached``."""


def pull_listens(
    store: Store,
    service: str,
    name: str | None = None,
    *,
    url: str | None = None,
    user: str | None = None,
    reached: Reached = no_reached,
    note: Note = no_note,
    pause: Pause = time.sleep,
) -> PullReport:
    """Fetch what is new on a service; an interrupted pull goes on where it was.

    Parameters
    ----------
    store : Store
    service : str
        ``listenbrainz``, ``lastfm`` or ``subsonic``.
    name : str, optional
        Name of the user on the service.
    url : str, optional
        Address of the server; needed for ``subsonic``.
    user : str, optional
        The listener; by default the one of the first pull, or the name on the service.
    reached, note : callable
        Called with new rows and the time reached after each page, and with lines for the user.
    pause : callable
        Called with the seconds to wait.

    Raises
    ------
    InvalidInputError
        If the address, a name or a key cannot be used.
    ListensError
        If the service cannot be reached, refuses, or returns something unusable. What was fetched before is stored.
    """
    listener = None if user is None else checked_name(user, "the listener (--user)")
    if service == SUBSONIC:
        server = SubsonicServer(url or "", name, pause=pause)
        return store_counts(store, server, _rows(server.songs(), reached), listener)
    if service not in LISTEN_SERVICES:
        raise InvalidInputError(f"{service!r} is not a service; use {', '.join([*LISTEN_SERVICES, SUBSONIC])}.")
    return _pull_events(store, LISTEN_SERVICES[service](name or "", url, pause=pause), listener, reached, note)


def _pull_events(
    store: Store, service: ListenService, listener: str | None, reached: Reached, note: Note
) -> PullReport:
    history = store.pulled_history(service.name, service.fingerprint, service.format)
    if history.position:
        position = PullPosition.from_text(history.position)
        if listener not in (None, position.listener):
            raise InvalidInputError(
                f"{service.name} was pulled for the listener {position.listener!r}; to change it, first run "
                f"`nearsong listens remove {history.source_id}`."
            )
    else:
        position = PullPosition(listener or service.user)
    builder = _builder(service.name, position.listener)
    walk = Walk(service, history, builder, note, reached)
    position = walk.run(position.with_news())
    hearts = 0
    try:
        found = _hearts(service, position.listener, builder.counts, note)
        hearts = history.replace_hearts(found, position.text)
    except ListensError as error:
        note(f"hearts could not be read: {error}")
    return PullReport(
        name=service.name,
        source=history.source_id,
        listener=position.listener,
        new_rows=walk.n_new,
        rows=history.rows,
        hearts=hearts,
        bad_rows=builder.counts.bad,
        left_out=dict(builder.counts.left_out),
    )


def _hearts(service: ListenService, listener: str, counts: RowCounts, note: Note) -> ListenBlock | None:
    """Return all hearts of a user as one block, None if there are none."""
    builder = _builder(service.name, listener)
    rows: dict[tuple[str, str, str], ListenRow] = {}
    for page in service.hearts():
        for number, record in enumerate(page, start=1):
            try:
                row = service.heart_row(record)
            except READ_ERRORS:
                builder.bad(number, "a field is missing or has an unexpected type.")
                continue
            if isinstance(row, LeftOut):
                builder.leave_out(row)
            else:
                rows.setdefault((row.artist, row.title, row.recording_mbid), row._replace(user=""))
        if len(rows) >= MAX_HEARTS:
            note(f"{service.host} lists more than {MAX_HEARTS:,} hearts; the rest is left out.")
            break
    blocks = blocks_of(builder, list(rows.values())[:MAX_HEARTS], listener)
    counts.bad += builder.counts.bad
    counts.left_out += builder.counts.left_out
    return blocks[0] if blocks else None


def _rows(pages: Iterable[list[dict[str, Any]]], reached: Reached) -> list[ListenRow]:
    rows: list[ListenRow] = []
    for page in pages:
        rows += [row for song in page for row in rows_of(song)]
        reached(len(rows), 0)
    return rows


def store_counts(
    store: Store, service: SubsonicServer, rows: list[ListenRow], listener: str | None = None
) -> PullReport:
    """Replace what was stored of a server by what it knows now.

    Raises
    ------
    ListensError
        If there are no rows.
    """
    store.listens.sweep()
    listener = listener or service.user
    builder = _builder(service.name, listener)
    rows.sort(key=lambda row: (row.artist, row.title, row.recording_mbid, row.action))  # servers list in any order
    blocks = blocks_of(builder, rows, listener)
    hearts = sum(row.action == Action.HEART for row in rows)
    if not blocks:
        raise ListensError(
            f"{service.host} has no plays, hearts or ratings of {service.user!r}, so nothing was stored."
        )
    fingerprint = _fingerprint(service.name, blocks)
    histories = store.listens.histories()
    same = next((history for history in histories if history.fingerprint == fingerprint), None)
    n_new, source = 0, same.id if same else None
    if same is None:
        earlier = [old.id for old in histories if old.name == service.name and old.format == FORMAT]
        source, n_new = _replace(store, service, fingerprint, blocks, earlier), builder.counts.read
    return PullReport(
        name=service.name,
        source=source,
        listener=listener,
        new_rows=n_new,
        rows=builder.counts.read,
        hearts=hearts,
        bad_rows=builder.counts.bad,
    )


def _replace(
    store: Store, service: SubsonicServer, fingerprint: str, blocks: Sequence[ListenBlock], earlier: Sequence[int]
) -> int:
    """Store blocks as a history instead of earlier ones, in one step; return its id."""
    writer = store.listens.begin(service.name, fingerprint, FORMAT, "counts")
    try:
        for block in blocks:
            writer.add(block)
        writer.finish(replaced=earlier)
    except BaseException:  # Ctrl-C too: remove the unfinished history
        store.listens.abandon(writer)
        raise
    return writer.source_id


def _builder(name: str, listener: str) -> BlockBuilder:
    builder = BlockBuilder()
    builder.begin(name, listener, "record")
    return builder


def _fingerprint(name: str, blocks: Sequence[ListenBlock]) -> str:
    digest = hashlib.sha256(f"pulled|{name}|".encode())
    for block in blocks:
        digest.update(repr((block.users, block.tracks)).encode())
        for column in (block.user, block.item, block.plays, block.time, block.action):
            digest.update(b"" if column is None else column.tobytes())
    return digest.hexdigest()
