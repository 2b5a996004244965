"""One question of a player: who asks, with which parameters, of which service, about the library at one moment."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from nearsong.errors import LibraryError
from nearsong.library.made_once import made_once
from nearsong.library.records import Song
from nearsong.library.shelves import Album, Artist
from nearsong.library.snapshot import Snapshot
from nearsong.web.service import Service
from nearsong.web.subsonic.catalogue import Catalogue, catalogue_of
from nearsong.web.subsonic.envelope import NOT_FOUND, ProtocolError
from nearsong.web.subsonic.parameters import Parameters, song_number


class Call:
    """One question of a player.

    Parameters
    ----------
    service : Service
    request : Request
    asked : Parameters
    user : str
        The name of who asks.
    """

    def __init__(self, service: Service, request: Request, asked: Parameters, user: str) -> None:
        self.service, self.request, self.asked, self.user = service, request, asked, user

    @made_once
    def snapshot(self) -> Snapshot:
        """Return the library, the same for the whole question."""
        return self.service.snapshot

    @made_once
    def catalogue(self) -> Catalogue:
        """Return what players browse in it."""
        return catalogue_of(self.snapshot)

    def song(self, song_id: str) -> Song:
        """Return a song by its id."""
        return self.snapshot.song(song_number(song_id))

    def album(self, album_id: str) -> Album:
        """Return an album by its id."""
        try:
            return self.catalogue.shelves.album(album_id)
        except LibraryError as error:
            raise ProtocolError(NOT_FOUND, str(error)) from error

    def artist(self, artist_id: str) -> Artist:
        """Return an artist by its id."""
        try:
            return self.catalogue.shelves.artist(artist_id)
        except LibraryError as error:
            raise ProtocolError(NOT_FOUND, str(error)) from error

    def artist_behind(self, any_id: str) -> Artist:
        """Return the artist of a song, of an album, or itself."""
        if any_id.startswith("ar-"):
            return self.artist(any_id)
        album = self.album(any_id) if any_id.startswith("al-") else self.catalogue.album_of(self.song(any_id))
        return self.artist(album.artist_id)

    def songs_behind(self, any_id: str) -> list[Song]:
        """Return the songs of an artist or an album, or the one song."""
        if any_id.startswith("ar-"):
            return [song for album in self.artist(any_id).albums for song in album.songs]
        return list(self.album(any_id).songs) if any_id.startswith("al-") else [self.song(any_id)]


Answer = Mapping[str, Any] | Response
Method = Callable[[Call], Answer]
