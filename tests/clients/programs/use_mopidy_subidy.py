"""Mopidy-Subidy's backend, as Mopidy starts it, without the sound that would need GStreamer. Prints JSON."""

import json
import sys
import urllib.request

from mopidy.models import Playlist, Track
from mopidy_subidy.backend import SubidyBackend

host, port, password = sys.argv[1:]
settings = {"url": f"{host}:{port}", "username": "anyone", "password": password, "legacy_auth": True}
backend = SubidyBackend.start(config={"subidy": {**settings, "api_version": "1.14.0"}}, audio=None).proxy()
library, playlists = backend.library, backend.playlists
try:
    root = library.browse("subidy:vdir:root").get()
    artists = library.browse("subidy:vdir:artists").get()
    albums = library.browse(artists[0].uri).get()
    songs = library.browse(albums[0].uri).get()
    (track,) = library.lookup(songs[0].uri).get()
    sound = urllib.request.urlopen(backend.playback.translate_uri(track.uri).get()).read()
    folders = library.browse("subidy:vdir:rootdirs").get()
    made = playlists.create("From Mopidy").get()
    saved = playlists.save(Playlist(uri=made.uri, name=made.name, tracks=[Track(uri=track.uri)])).get()
    print(
        json.dumps(
            {
                "root": [one.name for one in root],
                "artists": len(artists),
                "albums": len(library.browse("subidy:vdir:albums").get()),
                "songs": [one.name for one in songs],
                "track": [track.name, track.length, track.bitrate, track.track_no, track.disc_no],
                "album": len(library.lookup(albums[0].uri).get()),
                "folder": [one.name for one in library.browse(folders[0].uri).get()],
                "sound": len(sound),
                "found": [one.name for one in library.search({"any": [track.name]}).get().tracks],
                "playlists": [one.name for one in playlists.as_list().get()],
                "saved": [one.uri for one in playlists.lookup(saved.uri).get().tracks] == [track.uri],
            }
        )
    )
finally:
    backend.stop()
