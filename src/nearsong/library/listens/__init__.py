"""Listening histories in any of the usual formats -> blocks of who played what how often and when.

``find_listen_files`` finds files, ``detect`` tells what each is, ``ListenFile.blocks`` reads it without ever holding
more than one block. Nothing here knows the library or its database.

=================== ========================================================================================
format              what it is
=================== ========================================================================================
csv, tsv, parquet   a table with an artist column, and maybe user, title, plays or timestamp, MBIDs
json                the same as JSON or JSONL records; Last.fm histories as JSON among them
lastfm-csv          Last.fm histories as lastfm-to-csv, lastfmstats.com and lastfm.ghan.nl write them
lastfm-360k         user, artist MBID, artist, plays; without a header, tab-separated
lastfm-1k           user, time, artist MBID, artist, track MBID, track; without a header, tab-separated
listenbrainz        JSON, JSONL or the zip of an export
spotify-account     StreamingHistory*.json; plays of less than 30 seconds and podcasts are left out
spotify-extended    Streaming_History_Audio_*.json or endsong_*.json, likewise
spotify-playlists   Playlist*.json of Spotify's account data; slices of the Million Playlist Dataset
m3u, jspf, xspf     playlists
=================== ========================================================================================

A table's column of playlists in place of users makes it ``"playlists"``; a time without plays makes it ``"events"``.
Times without a zone are UTC. A row that cannot be used is told and skipped; a file that is cut, damaged or mostly
unusable raises ``ListensError``.
"""

from nearsong.library.listens.blocks import BLOCK_ROWS
from nearsong.library.listens.listen_file import FORMATS, ListenFile, detect, find_listen_files, open_listens
from nearsong.library.listens.spotify import SHORTEST_PLAY_MS

__all__ = ["BLOCK_ROWS", "FORMATS", "SHORTEST_PLAY_MS", "ListenFile", "detect", "find_listen_files", "open_listens"]
