"""One call of a player: the user, the parameters, the service, and one snapshot of the library."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from nearsong.caching import cached_property
from nearsong.errors import LibraryError
from nearsong.library import Album, Artist, ListenerReactions, Snapshot, Song
from nearsong.web.http.callers import Caller
from nearsong.web.service.service import Service
from nearsong.web.subsonic.catalogue import SubsonicCatalogue, catalogue_of
from nearsong.web.subsonic.envelope import NOT_FOUND, ProtocolError
from nearsong.web.subsonic.parameters import Parameters, song_number
from nearsong.web.subsonic.records import Records


class Call:
    """One call of a player.

    Parameters
    ----------
    service : Service
    request : Request
    parameters : Parameters
    user : str
        Name of the user.
    caller : Caller
        Who it is.
    """

    def __init__(self, service: Service, request: Request, parameters: Parameters, user: str, caller: Caller) -> None:
        self.service, self.request, self.parameters, self.user = service, request, parameters, user
        self.caller = caller

    @cached_property
    def snapshot(self) -> Snapshot:
        """The snapshot, the same for the whole call."""
        return self.service.snapshot

    @cached_property
    def catalogue(self) -> SubsonicCatalogue:
        """The catalogue of the snapshot."""
        return catalogue_of(self.snapshot)

    @property
    def listener(self) -> str:
        """The listener whose plays, hearts and queue these are: the user; `DEFAULT_USER` for a key of nobody."""
        return self.caller.acts_as(self.parameters.text("u"))

    @cached_property
    def reactions(self) -> ListenerReactions:
        """The hearts and ratings of the listener, read once for the whole call."""
        return self.service.library.reactions.of(self.listener)

    @cached_property
    def records(self) -> Records:
        """What turns songs, albums and artists into records."""
        bookmarks = {one.song_id: one.position for one in self.service.library.bookmarks.of(self.listener)}
        return Records(self.catalogue, self.reactions, bookmarks, is_plain=self.is_plain)

    @property
    def is_plain(self) -> bool:
        """Whether the player is one of those that stop at what was added to the protocol after their time."""
        return is_plain(self.service, self.parameters)

    def song(self, song_id: str) -> Song:
        """Return a song by its id."""
        return self.snapshot.song(song_number(song_id))

    def album(self, album_id: str) -> Album:
        """Return an album by its id."""
        try:
            return self.catalogue.albums.album(album_id)
        except LibraryError as error:
            raise ProtocolError(NOT_FOUND, str(error)) from error

    def artist(self, artist_id: str) -> Artist:
        """Return an artist by its id."""
        try:
            return self.catalogue.albums.artist(artist_id)
        except LibraryError as error:
            raise ProtocolError(NOT_FOUND, str(error)) from error

    def known_albums(self, items: Iterable[int | str]) -> list[Album]:
        """Return those of some ids that are albums of the library, in order."""
        albums = self.catalogue.albums
        return [albums.album(item) for item in items if isinstance(item, str) and albums.has_album(item)]

    def known_artists(self, items: Iterable[int | str]) -> list[Artist]:
        """Return those of some ids that are artists of the library, in order."""
        albums = self.catalogue.albums
        return [albums.artist(item) for item in items if isinstance(item, str) and albums.has_artist(item)]

    def known_songs(self, items: Iterable[int | str]) -> list[Song]:
        """Return those of some ids that are songs whose files exist, in order."""
        known = self.snapshot.space.row_of
        return [self.snapshot.song(item) for item in items if isinstance(item, int) and item in known]

    def artist_of(self, any_id: str) -> Artist:
        """Return the artist of a song or an album, or an artist by its own id."""
        if any_id.startswith("ar-"):
            return self.artist(any_id)
        if any_id.startswith("al-"):
            return self.artist(self.album(any_id).artist_id)
        return self.catalogue.artist_of(self.song(any_id))

    def songs_of(self, any_id: str) -> list[Song]:
        """Return the songs of an artist or an album, or one song."""
        if any_id.startswith("ar-"):
            return list(self.artist(any_id).songs)
        return list(self.album(any_id).songs) if any_id.startswith("al-") else [self.song(any_id)]


def is_plain(service: Service, parameters: Parameters) -> bool:
    """Return whether a player gets answers as version 1.16.1 of the protocol has them, by the name it sends."""
    return parameters.text("c").casefold() in {name.casefold() for name in service.settings.plain_clients}


Answer = Mapping[str, Any] | Response
Method = Callable[[Call], Answer]
