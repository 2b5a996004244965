"""Playlists of the library -> the same ones on a Subsonic server; only those that nearsong made are ever changed.

The library remembers which playlists it made on a server. One of them is changed or deleted only while it also has
the name or the comment that nearsong gave it, since a server that was set up anew may use its numbers again. A new
playlist has a random name until it is complete, so that one whose creation was interrupted is found and used.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearsong.errors import ListensError
from nearsong.library.listeners.pull.subsonic_server import SubsonicServer, id_of, list_in, records_in
from nearsong.library.store import Store
from nearsong.listens.json_records import as_text

COMMENT = "Made by nearsong. Changes here are lost with the next `nearsong sync`."
UNFINISHED_PREFIX = "nearsong sync "
SONGS_PER_REQUEST = 100
"""Ids are sent in the address, which servers allow to be some thousands of characters long."""

MAX_SONGS = 5_000
"""Of one playlist; the rest is left out."""


@dataclass(frozen=True)
class WantedPlaylist:
    """A playlist that a server should have: a key that stays the same, a name, and ids of songs on the server."""

    key: str
    name: str
    songs: tuple[str, ...]


@dataclass
class PlaylistReport:
    """How many playlists were written, removed and left as they were."""

    written: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(frozen=True)
class _Made:
    """A playlist that nearsong made: its id on the server, empty until it is known, and the name it was given."""

    id: str
    name: str


class ServerPlaylists:
    """The playlists of one user of a server.

    Parameters
    ----------
    store : Store
        Remembers which of them nearsong made.
    server : SubsonicServer
    """

    def __init__(self, store: Store, server: SubsonicServer) -> None:
        self._store, self._server = store, server
        self._setting = f"sync {server.url} {server.user}"
        self._made = self._read()
        self.report = PlaylistReport()

    def write(self, wanted: Sequence[WantedPlaylist], *, keep: Sequence[str] = ()) -> PlaylistReport:
        """Make the server's playlists those that are wanted.

        Parameters
        ----------
        wanted : sequence of WantedPlaylist
            Those without songs are removed.
        keep : sequence of str
            Keys of others that stay as they are; all that are not wanted otherwise are removed.

        Raises
        ------
        ListensError
            If the server refuses, or cannot be reached; the next call goes on.
        """
        there = self._list()
        wanted = [one for one in wanted if one.songs]
        for one in wanted:
            self._put(one, there)
        for key in self._made.keys() - {one.key for one in wanted} - set(keep):
            self._remove(key, there)
        return self.report

    def _list(self) -> dict[str, dict[str, Any]]:
        """Return the playlists of the user by id."""
        listed = records_in(list_in(self._server.ask("getPlaylists").get("playlists"), "playlist"))
        return {id_of(one): one for one in listed if id_of(one) and self._is_own(one)}

    def _is_own(self, record: Mapping[str, Any]) -> bool:
        owner = as_text(record.get("owner"))
        return not owner or owner.casefold() == self._server.user.casefold()

    def _put(self, wanted: WantedPlaylist, there: Mapping[str, dict[str, Any]]) -> None:
        songs, made = wanted.songs[:MAX_SONGS], self._made.get(wanted.key)
        here = self._found(made, there)
        if made is not None and here is not None:
            is_named = as_text(there[here].get("name")) == wanted.name
            if is_named and self._songs(here) == list(songs):
                self.report.unchanged += 1
                self._remember(wanted.key, _Made(here, wanted.name))
                return
        else:
            here = self._create(wanted.key)
        self._server.ask("createPlaylist", playlistId=here, songId=songs[:SONGS_PER_REQUEST])
        for start in range(SONGS_PER_REQUEST, len(songs), SONGS_PER_REQUEST):
            more = songs[start : start + SONGS_PER_REQUEST]
            self._server.ask("updatePlaylist", playlistId=here, songIdToAdd=more)
        self._server.ask("updatePlaylist", playlistId=here, name=wanted.name, comment=COMMENT)
        self._remember(wanted.key, _Made(here, wanted.name))
        self.report.written += 1

    def _found(self, made: _Made | None, there: Mapping[str, dict[str, Any]]) -> str | None:
        """Return the id of a playlist that nearsong made, if it is there and still is the one."""
        if made is None:
            return None
        for number, record in there.items():
            name = as_text(record.get("name"))
            if made.id == number and (name == made.name or as_text(record.get("comment")) == COMMENT):
                return number
            if not made.id and name == made.name:  # its creation was interrupted
                return number
        return None

    def _create(self, key: str) -> str:
        """Make an empty playlist under a random name, which is remembered first; return its id."""
        name = f"{UNFINISHED_PREFIX}{secrets.token_hex(8)}"
        self._remember(key, _Made("", name))
        self._server.ask("createPlaylist", name=name)
        same = [number for number, one in self._list().items() if as_text(one.get("name")) == name]
        if not same:
            raise ListensError(f"{self._server.host} made no playlist, and gives no reason; look at its log.")
        self._remember(key, _Made(same[0], name))
        for number in same[1:]:  # a request that was repeated, as its first answer was lost
            self._server.ask("deletePlaylist", id=number)
        return same[0]

    def _songs(self, number: str) -> list[str]:
        answer = self._server.ask("getPlaylist", id=number)
        return [id_of(song) for song in records_in(list_in(answer.get("playlist"), "entry"))]

    def _remove(self, key: str, there: Mapping[str, dict[str, Any]]) -> None:
        number = self._found(self._made[key], there)
        if number is not None:
            self._server.ask("deletePlaylist", id=number)
            self.report.removed += 1
        self._remember(key, None)

    # ---- what is remembered

    def _read(self) -> dict[str, _Made]:
        text = self._store.models.setting(self._setting)
        return {key: _Made(*facts) for key, facts in json.loads(text).items()} if text else {}

    def _remember(self, key: str, made: _Made | None) -> None:
        if self._made.get(key) == made:
            return
        if made is None:
            del self._made[key]
        else:
            self._made[key] = made
        text = json.dumps({key: [one.id, one.name] for key, one in sorted(self._made.items())})
        with self._store.writing() as connection:
            self._store.models.set(connection, self._setting, text if self._made else None)
