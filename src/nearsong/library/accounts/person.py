"""A listener -> a zip of everything that is stored about them; or none of it any more."""

import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import IO, Any

from nearsong.atomic_write import atomic_write
from nearsong.errors import LibraryError
from nearsong.library.files.playlist_files import playlist_text
from nearsong.library.listeners.histories import Histories, HistoryRow
from nearsong.library.listeners.matches.records import is_history_of
from nearsong.library.listeners.recorded.export import line_of, record_of
from nearsong.library.records import Song
from nearsong.library.store import Bookmark, DeletedRows, PlayQueue, Reaction, Store
from nearsong.listens.records import Action
from nearsong.names import count, listener_key, readable, visible_name

_KINDS = {"events": "listens.jsonl", "counts": "counts.jsonl"}
"""Kind of histories -> the file with their rows."""


def write_everything(store: Store, listener: str, target: str | os.PathLike[str] | IO[bytes]) -> dict[str, int]:
    """Write a zip of everything that is stored about a listener.

    Plays are rows of a history like all others, and count once with them: `PlayLog.update_history` comes first.

    An import of the zip gives listens, counts, hearts, ratings, skips and playlists back::

        listens.jsonl             listens, each once however many histories report it; hearts, ratings and skips
        counts.jsonl              rows of histories with play counts
        playlists/1.jspf ...      saved playlists
        imported-playlists.jsonl  playlists that were imported for the listener
        queue.json                what a player had queued
        bookmarks.json            where to go on in songs
        about.json                the account, and stars of albums and artists
        nameless.lines            rows of songs without an artist, which no import can match and none reads

    Parameters
    ----------
    store : Store
    listener : str
        Name of the listener; an account's name without regard to case.
    target : path-like or binary file
        A file that exists is replaced atomically.

    Returns
    -------
    dict of str to int
        How much was written: rows, playlists, queues, bookmarks.

    Raises
    ------
    LibraryError
        If the file cannot be written.
    """
    name = stored_name(store, listener)
    histories = Histories.of_user(store, name)
    songs = {song.id: song for song in histories.songs}
    counts = {"rows": 0, "playlists": 0, "queues": 0, "bookmarks": 0}
    with _opened(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, member in _KINDS.items():
            rows = (row for row in histories.rows(kind) if row.track.artist)
            counts["rows"] += _write_lines(archive, member, (_record(name, row, kind) for row in rows))
        nameless = ((kind, row) for kind in _KINDS for row in histories.rows(kind) if not row.track.artist)
        counts["rows"] += _write_lines(
            archive, "nameless.lines", (_record(name, row, kind) for kind, row in nameless)
        )
        _write_lines(archive, "imported-playlists.jsonl", _imported_playlists(store, name))
        for playlist in store.playlists.list():
            if playlist.owner == name:
                counts["playlists"] += 1
                listed = [songs[song] for song in playlist.songs if song in songs]
                text = playlist_text(listed, "jspf", playlist.name)
                archive.writestr(f"playlists/{counts['playlists']}.jspf", text)
        counts |= _write_positions(archive, store, name, songs)
        archive.writestr("about.json", _document(_about(store, name)))
    return counts


def _write_positions(
    archive: zipfile.ZipFile, store: Store, listener: str, songs: Mapping[int, Song]
) -> dict[str, int]:
    """Write the queue and the bookmarks of a listener; return how many of them there are."""
    queue, bookmarks = store.play_queues.get(listener), store.bookmarks.of(listener)
    if queue is not None:
        archive.writestr("queue.json", _document(_queue(queue, songs)))
    if bookmarks:
        archive.writestr("bookmarks.json", _document(_bookmarks(bookmarks, songs)))
    return {"queues": int(queue is not None), "bookmarks": len(bookmarks)}


def delete_listener(store: Store, listener: str) -> DeletedRows:
    """Delete everything that is stored about a listener, in one transaction.

    Deleted are plays, hearts, ratings, skips, the queue, bookmarks, playlists they own, their account, their rows in
    every history, histories that have no other rows, and names that nobody else uses. What models have learned stays
    until they are removed.

    Parameters
    ----------
    store : Store
    listener : str
        Name of the listener; an account's name without regard to case.

    Returns
    -------
    DeletedRows
        How much was deleted; :func:`deleted_words` puts it in words.
    """
    name = stored_name(store, listener)
    deleted = store.listener_rows.delete(name, lambda history, kind: is_history_of(history, kind, name))
    store.compact()
    return deleted


def deleted_words(deleted: DeletedRows) -> str:
    """Return what was deleted in words.

    >>> deleted_words(DeletedRows(plays=1200, hearts=1, rows=50, histories=2, accounts=1))
    '1,200 plays, 1 heart, 50 rows of 2 histories, 1 account'
    """
    in_histories = f"{count(deleted.rows, 'row')} of {count(deleted.histories, 'history', 'histories')}"
    parts = [
        *((getattr(deleted, f"{word}s"), count(getattr(deleted, f"{word}s"), word)) for word in _RECORDED),
        (deleted.rows, in_histories),
        (deleted.playlists, count(deleted.playlists, "playlist")),
        (deleted.queues, count(deleted.queues, "queue")),
        (deleted.bookmarks, count(deleted.bookmarks, "bookmark")),
        (deleted.accounts, count(deleted.accounts, "account")),
    ]
    all_words = ", ".join(words for n, words in parts if n) or "nothing"
    return all_words + ("; an import is running, so delete again when it has ended" if deleted.is_importing else "")


_RECORDED = ("play", "heart", "rating", "skip")


def stored_name(store: Store, listener: str) -> str:
    """Return the name under which a listener's rows are stored; accounts are found without regard to case."""
    by_key = {listener_key(account.name): account.name for account in store.accounts.all()}
    return by_key.get(listener_key(listener), visible_name(listener))


@contextmanager
def _opened(target: str | os.PathLike[str] | IO[bytes]) -> Iterator[IO[bytes]]:
    if not isinstance(target, (str, os.PathLike)):
        with nullcontext(target) as file:
            yield file
        return
    try:
        with atomic_write(target) as file:
            yield file
    except OSError as error:
        raise LibraryError(
            f"{readable(os.fspath(target))} cannot be written ({error.strerror}); choose another file or folder."
        ) from error


def _write_lines(archive: zipfile.ZipFile, member: str, records: Iterable[Mapping[str, Any]]) -> int:
    """Write records one by one; a file without any is left out. Return how many there are."""
    lines = map(line_of, records)
    first = next(lines, None)
    if first is None:
        return 0
    n_lines = 1
    with archive.open(member, "w", force_zip64=True) as file:
        file.write(first)
        for line in lines:
            file.write(line)
            n_lines += 1
    return n_lines


def _record(listener: str, row: HistoryRow, kind: str) -> dict[str, Any]:
    """Return a row as `nearsong listens export` writes it, with its plays where they matter."""
    number = int(row.plays) if row.plays == int(row.plays) else row.plays
    record: dict[str, Any] = record_of(Reaction(listener, row.action, row.time, 0, row.track))
    if row.action == Action.RATING:
        record["stars"] = number
    if kind == "counts" or (row.action != Action.RATING and number != 1):
        record["plays"] = 1 if row.action == Action.RATING else number
    return record


def _imported_playlists(store: Store, listener: str) -> Iterator[dict[str, str]]:
    for history in store.listens.histories():
        if history.kind != "playlists" or not is_history_of(history.name, history.kind, listener):
            continue
        for block in store.listens.columns(history.id):
            ids, tracks = store.listens.names(block.name)
            names = dict(zip(ids.tolist(), tracks, strict=True))
            playlists = store.listens.user_names(block.user)
            for playlist, number in zip(block.user.tolist(), block.name.tolist(), strict=True):
                title = playlists[playlist].removeprefix(f"{history.name}: ")
                yield {"playlist": title, **names[number]._asdict()}


def _queue(queue: PlayQueue, songs: Mapping[int, Song]) -> dict[str, Any]:
    listed = [songs.get(number) for number in queue.songs]
    return {
        "queue": [
            None if song is None else {"artist": song.artist, "title": song.title, "path": readable(song.path)}
            for song in listed
        ],
        "current": queue.current,
        "position": queue.position,
        "changed": queue.changed,
        "changed_by": queue.changed_by,
    }


def _bookmarks(bookmarks: Iterable[Bookmark], songs: Mapping[int, Song]) -> dict[str, Any]:
    def described(bookmark: Bookmark) -> dict[str, Any]:
        song, facts = songs.get(bookmark.song_id), asdict(bookmark)
        del facts["song_id"]
        return {**facts, **({} if song is None else {"artist": song.artist, "title": song.title})}

    return {"bookmarks": [described(bookmark) for bookmark in bookmarks]}


def _about(store: Store, listener: str) -> dict[str, Any]:
    account = next((account for account in store.accounts.all() if account.name == listener), None)
    reacted = store.reactions.of_albums_and_artists(listener)
    return {
        "listener": listener,
        "account": None if account is None else {"is_admin": account.is_admin, "created": account.created},
        "albums_and_artists": [
            {"id": item, "action": action.name.lower(), "time": time, "stars": stars}
            for action, item, time, stars in reacted
        ],
    }


def _document(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
