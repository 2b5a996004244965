"""The registry of all formats of listening histories; a file has the first format of this list that matches it."""

from nearsong.listens.formats.described import CSV, JSON, LASTFM_1K_SET, LASTFM_360K_SET, LASTFM_CSV, PARQUET, TSV
from nearsong.listens.formats.listen_format import ListenFormat
from nearsong.listens.players.beets import BEETS
from nearsong.listens.players.itunes import ITUNES, ITUNES_PLAYLISTS
from nearsong.listens.players.navidrome import NAVIDROME, NAVIDROME_LISTENS
from nearsong.listens.players.scrobbler_log import SCROBBLER_LOG
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.listens.playlists.to_blocks import listen_format_of
from nearsong.listens.services.apple import APPLE_ACTIVITY, APPLE_DAILY
from nearsong.listens.services.hetrec import HETREC
from nearsong.listens.services.lastfm import LASTFM_API
from nearsong.listens.services.listenbrainz import LISTENBRAINZ
from nearsong.listens.services.maloja import MALOJA
from nearsong.listens.services.pano import PANO
from nearsong.listens.services.spotify import SPOTIFY_ACCOUNT, SPOTIFY_EXTENDED, SPOTIFY_LIBRARY, SPOTIFY_PLAYLISTS
from nearsong.listens.services.youtube import YOUTUBE_MUSIC

LISTEN_FORMATS: dict[str, ListenFormat] = {
    format.name: format
    for format in (
        LISTENBRAINZ,
        LASTFM_API,
        MALOJA,
        PANO,
        SPOTIFY_ACCOUNT,
        SPOTIFY_EXTENDED,
        SPOTIFY_PLAYLISTS,
        SPOTIFY_LIBRARY,
        APPLE_ACTIVITY,
        APPLE_DAILY,
        YOUTUBE_MUSIC,
        HETREC,
        SCROBBLER_LOG,
        ITUNES,
        ITUNES_PLAYLISTS,
        BEETS,
        NAVIDROME,
        NAVIDROME_LISTENS,
        *map(listen_format_of, PLAYLIST_FORMATS.values()),
        PARQUET,  # from here on any table or record that its columns describe
        JSON,
        LASTFM_CSV,
        LASTFM_360K_SET,
        LASTFM_1K_SET,
        CSV,
        TSV,
    )
}

_PLAIN_ENDINGS = tuple(dict.fromkeys(ending for format in LISTEN_FORMATS.values() for ending in format.endings))
ENDINGS = (*_PLAIN_ENDINGS, ".zip", *(f"{ending}.gz" for ending in _PLAIN_ENDINGS))
"""How the names of listening histories end."""
