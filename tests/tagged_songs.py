"""Songs as a scan stores them: with a path made of their tags, and the key of their artist."""

from typing import Any

from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist


def tagged_song(
    number: int, artist: str, title: str = "Title", album: str = "", genre: str = "", year: int | None = None,
    path: str | None = None, **others: Any,
) -> Song:  # fmt: skip
    """Return a song of 100 seconds; `others` are further fields."""
    key = artist_key(primary_artist(artist)) if artist.strip() else ""
    path = path or f"/music/{artist}/{album}/{number:03d} {title}.mp3"
    tags = {"artist": artist, "title": title, "album": album, "genre": genre, "year": year}
    return Song(id=number, path=path, **tags, **{"seconds": 100.0, "artist_key": key} | others)
