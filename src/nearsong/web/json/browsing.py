"""Responses about albums, artists and the first page."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from nearsong.library import Album, Artist, Snapshot, disc_of
from nearsong.web.json.answers import song_json
from nearsong.web.json.for_you import RecommendationOut
from nearsong.web.json.schemas import SongOut

MAX_ARTIST_SONGS = 500
"""Songs that the response about an artist has; `song_count` counts all."""


class AlbumOut(BaseModel):
    """An album."""

    id: str
    name: str
    artist: str = Field(description="Whose album it is; perhaps Various Artists.")
    artist_id: str
    year: int | None
    genre: str = Field(description="Of most of its songs; may be empty.")
    song_count: int
    seconds: float
    plays: float
    added: float = Field(description="When its newest song was added, in seconds since 1970.")
    is_compilation: bool
    cover: int = Field(description="Id of the song whose cover stands for it.")


class ArtistOut(BaseModel):
    """An artist."""

    id: str
    name: str
    album_count: int = Field(description="Albums of their own.")
    appears_on_count: int = Field(description="Albums of others with songs of theirs.")
    song_count: int
    plays: float
    cover: int = Field(description="Id of the song whose cover stands for them.")


class AlbumPage(BaseModel):
    """A page of a list of albums."""

    items: list[AlbumOut]
    total: int
    offset: int
    limit: int
    next: str | None = Field(description="Address of the next page.")


class ArtistPage(BaseModel):
    """A page of a list of artists."""

    items: list[ArtistOut]
    total: int
    offset: int
    limit: int
    next: str | None = Field(description="Address of the next page.")


class DiscOut(BaseModel):
    """The songs of one disc of an album, in order."""

    number: int
    songs: list[SongOut]


class AlbumDetail(AlbumOut):
    """An album, its songs, and others like it."""

    discs: list[DiscOut]
    by_artist: list[AlbumOut] = Field(description="Other albums of the same artist.")
    similar: list[AlbumOut] = Field(description="Albums of other artists that sound most like it, the nearest first.")


class ArtistDetail(ArtistOut):
    """An artist, their albums and songs, and others like them."""

    albums: list[AlbumOut] = Field(description="Of their own, by year.")
    appears_on: list[AlbumOut] = Field(description="Albums of others with songs of theirs.")
    songs: list[SongOut] = Field(description=f"Album by album; at most {MAX_ARTIST_SONGS}.")
    top_songs: list[SongOut] = Field(description="Played most; empty if none was played.")
    similar: list[ArtistOut] = Field(description="Artists who sound most like them, the nearest first.")


class QueueOut(BaseModel):
    """What the listener had queued in a player."""

    songs: list[SongOut] = Field(description="From the current song on, some of them.")
    song_count: int = Field(description="All that are left.")
    position: float = Field(description="In the first of them, in seconds.")
    changed_by: str = Field(description="Name of the player.")


class CountsOut(BaseModel):
    """What the library has."""

    songs: int
    albums: int
    artists: int


class HomeOut(BaseModel):
    """What a first page shows a listener; any list may be empty."""

    listener: str
    counts: CountsOut
    queue: QueueOut | None = Field(description="What was queued in a player; null for nothing.")
    played: list[AlbumOut] = Field(description="Albums that the listener played last.")
    added: list[AlbumOut] = Field(description="Albums that were added last.")
    for_you: list[RecommendationOut]
    hearts: list[SongOut] = Field(description="Songs that the listener gave a heart, the latest first.")
    forgotten: list[SongOut] = Field(description="Loved or played much, but not in the last two months.")
    unplayed: list[RecommendationOut] = Field(
        description="Near what the listener plays, and never played by anybody."
    )


def album_json(snapshot: Snapshot, album: Album) -> dict[str, Any]:
    """Return an album as `AlbumOut`."""
    return {
        "id": album.id,
        "name": album.name,
        "artist": album.artist,
        "artist_id": album.artist_id,
        "year": album.year,
        "genre": album.genre,
        "song_count": len(album.songs),
        "seconds": round(album.seconds, 2),
        "plays": round(snapshot.album_browser.plays_of(album), 2),
        "added": album.added,
        "is_compilation": album.is_compilation,
        "cover": album.songs[0].id,
    }


def albums_json(snapshot: Snapshot, albums: Sequence[Album]) -> list[dict[str, Any]]:
    """Return albums as a list of `AlbumOut`."""
    return [album_json(snapshot, album) for album in albums]


def artist_json(snapshot: Snapshot, artist: Artist) -> dict[str, Any]:
    """Return an artist as `ArtistOut`."""
    return {
        "id": artist.id,
        "name": artist.name,
        "album_count": len(artist.albums),
        "appears_on_count": len(artist.appears_on),
        "song_count": len(artist.songs),
        "plays": round(snapshot.album_browser.plays_of(artist), 2),
        "cover": artist.songs[0].id,
    }


def album_detail_json(snapshot: Snapshot, album: Album) -> dict[str, Any]:
    """Return an album as `AlbumDetail`."""
    discs: dict[int, list[dict[str, Any]]] = {}
    for song in album.songs:
        discs.setdefault(disc_of(song), []).append(song_json(song, snapshot.plays))
    others = [other for other in snapshot.albums.artist(album.artist_id).albums if other.id != album.id]
    return {
        **album_json(snapshot, album),
        "discs": [{"number": number, "songs": songs} for number, songs in discs.items()],
        "by_artist": [] if album.is_compilation else albums_json(snapshot, others),
        "similar": albums_json(snapshot, snapshot.album_browser.similar_albums(album)),
    }


def artist_detail_json(snapshot: Snapshot, artist: Artist) -> dict[str, Any]:
    """Return an artist as `ArtistDetail`."""
    plays = snapshot.plays
    played = [song for song in artist.songs if plays.get(song.id, 0.0) > 0]
    top = sorted(played, key=lambda song: -plays[song.id])[:5]
    similar = snapshot.album_browser.similar_artists(artist)
    return {
        **artist_json(snapshot, artist),
        "albums": albums_json(snapshot, artist.albums),
        "appears_on": albums_json(snapshot, artist.appears_on),
        "songs": [song_json(song, plays) for song in artist.songs[:MAX_ARTIST_SONGS]],
        "top_songs": [song_json(song, plays) for song in top],
        "similar": [artist_json(snapshot, other) for other in similar],
    }
