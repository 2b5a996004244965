"""Strawberry and Clementine, as Debian has them: they fetch the songs, show them and play them."""

import base64
import os
import time
from pathlib import Path

import soundfile

import music_library
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Song

from .conftest import TOKEN
from .desktop import desktop

STRAWBERRY = """
[MainWindow]
do_not_show_sponsor_message=true

[Subsonic]
enabled=true
url=http://127.0.0.1:{port}
username=anyone
password=@ByteArray({password})
http2=false
verifycertificate=false
downloadalbumcovers=true
serversidescrobbling=true
authmethod=1

[Backend]
engine=gstreamer
output=udpsink

[Scrobbler]
enabled=true
"""
"""Its sink has no sound and, unlike fakesink, the pace of the song, without which no half of one is ever played."""

SUBSONIC_TAB, RETRIEVE, FIRST_ARTIST, FIRST_ROW = (41, 610), (165, 225), (160, 108), (370, 83)

CLEMENTINE = """
[Subsonic]
server=http://127.0.0.1:{port}
username=anyone
password={password}
usesslv3=false

[MainWindow]
tab_mode=1
"""
INTERNET_TAB, SUBSONIC_ARROW = (35, 235), (81, 357)


LONG_SECONDS = 35
"""Strawberry scrobbles songs of more than 30 seconds, when half of one was played."""


def long_song(served, folder: Path) -> Song:
    """Give the first artist a song, after all others, that is long enough to be scrobbled."""
    folder.mkdir()
    soundfile.write(folder / "Long.flac", music_library.sound(0, 70, LONG_SECONDS), music_library.RATE)
    write_tags(folder / "Long.flac", Tags(music_library.artist_name(0), "Long", "Second", "low hum", 2001))
    served.library.scan(folder, workers=1)
    served.service.refresh()
    return next(song for song in served.service.snapshot.space.songs if song.title == "Long")


def test_strawberry_shows_all_songs_plays_them_and_scrobbles(served, tmp_path):
    long = long_song(served, tmp_path / "long")
    snapshot = served.service.snapshot
    settings = STRAWBERRY.format(port=served.port, password=base64.b64encode(TOKEN.encode()).decode())
    file, songs = Path(".config/strawberry/strawberry.conf"), Path(".local/share/strawberry/strawberry/strawberry.db")
    with desktop("strawberry", "Strawberry 1.0", tmp_path, file, settings, songs) as strawberry:
        strawberry.open("Strawberry")

        def retrieve() -> None:
            strawberry.click(SUBSONIC_TAB)
            time.sleep(1)
            strawberry.click(RETRIEVE)

        strawberry.until(lambda: len(strawberry.songs()) == len(snapshot.space.songs), retrieve)
        shown = {int(row["song_id"]): row for row in strawberry.songs()}
        for song in snapshot.space.songs:
            row = shown[song.id]
            assert (row["title"], row["artist"], row["album"]) == (song.title, song.artist, song.album)
            assert (row["filesize"], row["bitrate"]) == (os.path.getsize(song.path), song.bit_rate)
            assert row["length"] == 1_000_000_000 * round(song.seconds)
            assert Path(row["art_automatic"].removeprefix("file://")).read_bytes()[:3] == b"\xff\xd8\xff"

        first, second = served.snapshot.albums.artists[0].songs[:2]
        heard: list[int | None] = []

        def hears_both() -> bool:
            playing = served.service.now_playing.of("anyone")
            if playing is not None and playing.song_id not in heard[-1:]:
                assert playing.player == "Strawberry"
                heard.append(playing.song_id)
            return heard[-2:] == [first.id, second.id]

        def play() -> None:
            strawberry.click(FIRST_ARTIST, times=2)
            time.sleep(1)
            strawberry.click(FIRST_ROW, times=2)

        strawberry.until(hears_both, play)
        strawberry.until(lambda: ("anyone", long.title) in served.plays())  # it follows by itself


def test_clementine_shows_all_songs(served, tmp_path):
    settings = CLEMENTINE.format(port=served.port, password=TOKEN)
    file, songs = Path(".config/Clementine/Clementine.conf"), Path(".config/Clementine/clementine.db")
    with desktop("clementine", "Clementine 1.4", tmp_path, file, settings, songs) as clementine:
        clementine.open("Clementine")

        def expand() -> None:
            clementine.click(INTERNET_TAB)
            time.sleep(1)
            clementine.click(SUBSONIC_ARROW)

        clementine.until(lambda: len(clementine.songs()) == served.n_songs, expand)
        shown = {(row["artist"], row["title"]): row for row in clementine.songs()}
        for song in served.snapshot.space.songs:
            row = shown[song.artist, song.title]
            assert (row["album"], row["filesize"], row["bitrate"]) == (song.album, song.size, song.bit_rate)
