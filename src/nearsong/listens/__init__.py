"""Listening histories in all common formats -> blocks of who played what, how often and when.

``find_listen_files`` finds files, ``open_listens`` tells what each is, ``ListenFile.blocks`` reads it without ever
holding more than one block. Nothing here knows the library or its database.

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

A table with a column of playlists instead of users is of the kind ``"playlists"``; one with times but no play counts
is ``"events"``.
Times without a zone are UTC. Unusable rows are reported and skipped; a truncated, damaged or mostly unusable file
raises ``ListensError``.
"""

from nearsong.listens.blocks import BLOCK_ROWS
from nearsong.listens.listen_file import FORMATS, ListenFile, find_listen_files, open_listens
from nearsong.listens.spotify import MIN_PLAY_MS

__all__ = ["BLOCK_ROWS", "FORMATS", "MIN_PLAY_MS", "ListenFile", "find_listen_files", "open_listens"]
