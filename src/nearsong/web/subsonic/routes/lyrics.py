"""Methods for lyrics: those in the tags of a song, or in a file beside it."""

from typing import Any

from nearsong.errors import EmptyLibraryError
from nearsong.library import Lyrics, Song
from nearsong.listens.records import TrackName
from nearsong.web.subsonic.call import Call, Method


def get_lyrics(call: Call) -> dict[str, Any]:
    """Return the lyrics of the song with an artist and a title as one text; an empty one if there is none."""
    artist, title = call.parameters.text("artist"), call.parameters.text("title")
    song = _named(call, artist, title)
    found = () if song is None else call.service.lyrics.of(song)
    if song is None or not found:
        return {"lyrics": {"value": ""}}
    return {"lyrics": {"artist": song.artist, "title": song.title, "value": found[0].text}}


def get_lyrics_by_song_id(call: Call) -> dict[str, Any]:
    """Return the lyrics of a song, line by line and with times where they are known."""
    song = call.song(call.parameters.require("id"))
    return {"lyricsList": {"structuredLyrics": [_structured(song, one) for one in call.service.lyrics.of(song)]}}


def _named(call: Call, artist: str, title: str) -> Song | None:
    if not artist or not title:
        return None
    try:
        return call.snapshot.songs_named([TrackName(artist, title, "", "")])[0]
    except EmptyLibraryError:
        return None


def _structured(song: Song, lyrics: Lyrics) -> dict[str, Any]:
    starts = lyrics.times or (None,) * len(lyrics.lines)
    return {
        "displayArtist": song.artist,
        "displayTitle": song.title,
        "lang": lyrics.language,
        "offset": 0,
        "synced": bool(lyrics.times),
        "line": [{"start": start, "value": line} for start, line in zip(starts, lyrics.lines, strict=True)],
    }


METHODS: dict[str, Method] = {"getLyrics": get_lyrics, "getLyricsBySongId": get_lyrics_by_song_id}
