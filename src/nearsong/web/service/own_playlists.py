"""Saved playlists -> those of one caller: their own, and those that belong to all listeners."""

from nearsong.errors import NoSuchPlaylistError
from nearsong.library import SavedPlaylist
from nearsong.web.http.callers import Caller
from nearsong.web.http.problems import ApiError
from nearsong.web.service.service import Service


def visible_playlists(service: Service, caller: Caller) -> list[SavedPlaylist]:
    """Return the playlists that a caller sees, the oldest first."""
    return [playlist for playlist in service.library.playlists.list() if caller.may_see(playlist.owner)]


def visible_playlist(service: Service, caller: Caller, playlist_id: int) -> SavedPlaylist:
    """Return a playlist that a caller sees; another listener's is unknown to them."""
    playlist = service.library.playlists.get(playlist_id)
    if not caller.may_see(playlist.owner):
        raise NoSuchPlaylistError(f"playlist not found: {playlist_id}; it may have been deleted.")
    return playlist


def check_change(service: Service, caller: Caller, playlist_id: int) -> None:
    """Refuse to change a playlist that is not the caller's; the owner of a playlist never changes."""
    if not caller.may_change(visible_playlist(service, caller, playlist_id).owner):
        raise ApiError(
            403, "only an admin may change a playlist of all listeners; save it as your own.", "not-allowed"
        )
