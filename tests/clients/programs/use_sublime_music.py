"""The adapter by which Sublime Music uses a service, as it is. Prints JSON."""

import json
import sys
import tempfile
import urllib.request
from datetime import timedelta
from pathlib import Path

from sublime_music.adapters import AlbumSearchQuery, ConfigurationStore
from sublime_music.adapters.subsonic import SubsonicAdapter

host, port, password = sys.argv[1:]
store = ConfigurationStore(server_address=f"{host}:{port}", username="anyone", verify_cert=True, salt_auth=True)
store.set_secret("password", password)
adapter = SubsonicAdapter(store, Path(tempfile.mkdtemp()))
adapter._set_ping_status()
artists = adapter.get_artists()
albums = adapter.get_albums(AlbumSearchQuery(AlbumSearchQuery.Type.ALPHABETICAL_BY_NAME))
album = adapter.get_album(albums[0].id)
song = adapter.get_song_details(album.songs[0].id)
sound = urllib.request.urlopen(adapter.get_song_stream_uri(song.id)).read()
file = urllib.request.urlopen(adapter.get_song_file_uri(song.id, ["http"])).read()
cover = urllib.request.urlopen(adapter.get_cover_art_uri(song.cover_art, "http", 100)).read()
adapter.scrobble_song(song)
adapter.set_song_rating(song.id, 5)
adapter.save_play_queue([one.id for one in album.songs], 1, timedelta(seconds=3))
queue = adapter.get_play_queue()
playlist = adapter.create_playlist("From Sublime Music", album.songs[:2])
changed = adapter.update_playlist(playlist.id, append_song_ids=[song.id])
folder = adapter.get_directory(adapter.get_directory("root").children[0].id)
print(
    json.dumps(
        {
            "can": [adapter.can_get_genres, adapter.can_get_play_queue, adapter.can_set_song_rating],
            "artists": len(artists),
            "albums": len(albums),
            "songs": [one.title for one in album.songs],
            "size": song.size,
            "duration": song.duration.total_seconds(),
            "sound": [len(sound), len(file)],
            "cover": cover[:3].hex(),
            "similar artists": len(adapter.get_artist(artists[0].id).similar_artists),
            "genres": len(adapter.get_genres()),
            "queue": [queue.current_index, queue.position.total_seconds(), len(queue.songs)],
            "playlist": [one.id for one in changed.songs],
            "playlists": [one.name for one in adapter.get_playlists()],
            "children": [one.title for one in folder.children],
            "found": [one.id for one in adapter.search(song.title).songs],
            "articles": sorted(adapter.get_ignored_articles()),
        }
    )
)
adapter.shutdown()
