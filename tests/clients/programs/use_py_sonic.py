"""py-sonic, as it is: what a program that uses it sees of a service. Prints JSON."""

import json
import sys

import libsonic

host, port, password = sys.argv[1:]
connection = libsonic.Connection(host, "anyone", password, int(port), appName="py-sonic")
assert connection.ping()
artists = [one for index in connection.getArtists()["artists"]["index"] for one in index["artist"]]
albums = connection.getAlbumList2("newest", size=500)["albumList2"]["album"]
album = connection.getAlbum(albums[0]["id"])["album"]
song = album["song"][0]
sound = connection.stream(song["id"]).read()
small = connection.stream(song["id"], maxBitRate=64, tformat="mp3").read()
connection.scrobble(song["id"])
connection.star(sids=[song["id"]])
connection.setRating(song["id"], 4)
connection.savePlayQueue([song["id"]], song["id"], 1500)
connection.createBookmark(song["id"], 2500, "here")
connection.createPlaylist(name="From py-sonic", songIds=[song["id"]])
print(
    json.dumps(
        {
            "artists": len(artists),
            "albums": len(albums),
            "directories": len(connection.getIndexes()["indexes"]["index"]),
            "song": connection.getSong(song["id"])["song"],
            "sound": len(sound),
            "small": [len(small), small[:3].hex()],
            "similar": [one["id"] for one in connection.getSimilarSongs(song["id"], 5)["similarSongs"]["song"]],
            "radio": [one["id"] for one in connection.getSimilarSongs2(song["artistId"], 5)["similarSongs2"]["song"]],
            "artist info": len(connection.getArtistInfo2(song["artistId"])["artistInfo2"]["similarArtist"]),
            "top": [one["id"] for one in connection.getTopSongs(song["artist"])["topSongs"].get("song", [])],
            "found": [one["id"] for one in connection.search3(song["title"])["searchResult3"]["song"]],
            "cover": connection.getCoverArt(song["coverArt"], 100).read()[:3].hex(),
            "avatar": connection.getAvatar("anyone").read()[:3].hex(),
            "starred": [one["id"] for one in connection.getStarred2()["starred2"]["song"]],
            "queue": connection.getPlayQueue()["playQueue"]["position"],
            "bookmarks": [one["position"] for one in connection.getBookmarks()["bookmarks"]["bookmark"]],
            "playlists": [one["name"] for one in connection.getPlaylists()["playlists"]["playlist"]],
            "lyrics": connection.getLyrics(song["artist"], song["title"])["lyrics"]["value"],
            "now playing": connection.getNowPlaying()["nowPlaying"]["entry"],
        }
    )
)
