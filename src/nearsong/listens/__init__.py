"""Listening histories in all common formats -> blocks of who played what, how often and when.

``find_listen_files`` finds files, ``open_histories`` tells what each holds, ``ListenFile.blocks`` reads it without
ever holding more than one block. Nothing here knows the library or its database.

=================== ========================================================================================
format              what it is
=================== ========================================================================================
csv, tsv, parquet   a table with an artist column, and maybe user, title, plays or timestamp, MBIDs
json                the same as JSON or JSONL records; Last.fm histories as JSON among them
lastfm-csv          Last.fm histories as lastfm-to-csv, lastfmstats.com and lastfm.ghan.nl write them
lastfm-360k         user, artist MBID, artist, plays; without a header, tab-separated
lastfm-1k           user, time, artist MBID, artist, track MBID, track; without a header, tab-separated
lastfm-api          pages of Last.fm's API: listens, or loved tracks as hearts
hetrec              user_artists.dat of HetRec 2011, with artists.dat in the same folder
listenbrainz        JSON, JSONL or the zip of an export
maloja              Maloja's export
pano                files of Pano Scrobbler, JSONL or CSV
spotify-account     StreamingHistory*.json; plays of less than 30 seconds are skips, podcasts are left out
spotify-extended    Streaming_History_Audio_*.json or endsong_*.json, likewise; or the same as CSV
spotify-playlists   Playlist*.json of Spotify's account data; slices of the Million Playlist Dataset
spotify-library     YourLibrary.json: liked songs as hearts
apple-activity      Apple Music Play Activity.csv: plays and skips
apple-daily         Apple Music - Play History Daily Tracks.csv: counts of a day
youtube-music       watch-history.json of Google Takeout; videos are left out
scrobbler-log       .scrobbler.log of portable players: listens and skips
itunes              Library.xml: counts, skips, hearts, ratings; itunes-playlists: its playlists
beets               library.db with the counts of mpdstats
navidrome           navidrome.db: counts, hearts, ratings; navidrome-listens: single listens
m3u8, pls           playlists, as are jspf and xspf
=================== ========================================================================================

A table with a column of playlists instead of users is of the kind ``"playlists"``; one with times but no play counts
is ``"events"``.
Times without a zone are UTC. Unusable rows are reported and skipped; a truncated, damaged or mostly unusable file
raises ``ListensError``.
"""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.listens.blocks import BLOCK_ROWS as BLOCK_ROWS
    from nearsong.listens.blocks import RowCounts as RowCounts
    from nearsong.listens.listen_file import FORMATS as FORMATS
    from nearsong.listens.listen_file import ListenFile as ListenFile
    from nearsong.listens.listen_file import find_listen_files as find_listen_files
    from nearsong.listens.listen_file import open_histories as open_histories
    from nearsong.listens.listen_file import open_listens as open_listens
    from nearsong.listens.partitions import PartitionedTable as PartitionedTable
    from nearsong.listens.partitions import find_histories as find_histories
    from nearsong.listens.records import DEFAULT_USER as DEFAULT_USER
    from nearsong.listens.records import ListenBlock as ListenBlock
    from nearsong.listens.services.spotify import MIN_PLAY_MS as MIN_PLAY_MS

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "blocks": ["BLOCK_ROWS", "RowCounts"],
        "listen_file": [
            "FORMATS",
            "ListenFile",
            "find_listen_files",
            "open_histories",
            "open_listens",
        ],
        "partitions": ["PartitionedTable", "find_histories"],
        "records": ["DEFAULT_USER", "ListenBlock"],
        "services.spotify": ["MIN_PLAY_MS"],
    },
)
