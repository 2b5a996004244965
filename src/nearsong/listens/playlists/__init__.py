"""Playlist files -> listens, and songs -> playlist files: one module per format, listed in ``PLAYLIST_FORMATS``."""

from nearsong.listens.playlists.jspf import JSPF
from nearsong.listens.playlists.m3u8 import M3U8
from nearsong.listens.playlists.playlist_format import ListedSong, PlaylistFormat
from nearsong.listens.playlists.pls import PLS
from nearsong.listens.playlists.xspf import XSPF

__all__ = ["PLAYLIST_FORMATS", "ListedSong", "PlaylistFormat"]

PLAYLIST_FORMATS: dict[str, PlaylistFormat] = {
    format.name: format
    for format in (
        M3U8,
        JSPF,
        XSPF,
        PLS,
    )
}
