"""Requests and responses about playlists."""

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from nearsong.library import Filters, PlaylistRules
from nearsong.listens.playlists import PLAYLIST_FORMATS
from nearsong.web.json.schemas import DialPosition, SongId, SongOut, Strict, UploadSeed

if TYPE_CHECKING:
    ExportFormat = str
else:
    ExportFormat = Literal[tuple(PLAYLIST_FORMATS)]

MAX_SONGS = 10_000
"""Songs of a saved or exported playlist."""


class DraftIn(Strict):
    """A playlist to generate."""

    seeds: list[SongId] = Field(default_factory=list, max_length=100)
    upload_seeds: list[UploadSeed] = Field(default_factory=list, max_length=5)
    to: SongId | None = Field(None, description="Lead from the one seed to this song.")
    length: int = Field(PlaylistRules.length, ge=1, le=500)
    artist_gap: int = Field(PlaylistRules.artist_gap, ge=0, le=500)
    diversity: float = Field(
        PlaylistRules.diversity, ge=0, le=1, description="Share of songs chosen for variety; others are nearest."
    )
    drift: float = Field(PlaylistRules.drift, ge=0, le=1)
    adventurousness: DialPosition = PlaylistRules.adventurousness
    shuffle: int = Field(0, ge=0, le=2**31, description="Seed for variation, if diversity is above 0.")
    filters: Filters = Field(default_factory=Filters)


class DraftOut(BaseModel):
    """A generated playlist; not saved."""

    songs: list[SongOut]
    notes: list[str] = Field(description="Rules that could not be followed, in words.")


class PlaylistIn(Strict):
    """A playlist to save."""

    name: str = Field(min_length=1, max_length=200)
    songs: list[SongId] = Field(max_length=MAX_SONGS)


class PlaylistRef(BaseModel):
    """A saved playlist without its songs."""

    id: int
    name: str
    songs: int
    seconds: float
    created: float
    changed: float
    owner: str | None = Field(description="The listener whose it is; null if it belongs to all.")
    can_change: bool = Field(description="Whether the caller may change or delete it.")


class PlaylistOut(PlaylistRef):
    """A saved playlist with its songs; those no longer in the library are only counted."""

    items: list[SongOut]
    missing: int


class SongsToAddIn(Strict):
    """Songs to add to a saved playlist."""

    songs: list[SongId] = Field(min_length=1, max_length=MAX_SONGS)
    again: bool = Field(False, description="Also add songs that are on the playlist already.")


class SongsAddedOut(PlaylistOut):
    """A saved playlist after songs were added."""

    added: int = Field(description="Number of songs that were added.")


Paths = Literal["relative", "absolute"]
PATHS_WORDS = (
    "`relative`: to the music folder, so that the file works in any copy of it, on a phone too; `absolute`: as on "
    "this machine. XSPF and JSPF always have absolute addresses."
)


class ExportIn(Strict):
    """Songs to export as a playlist file."""

    name: str = Field("playlist", min_length=1, max_length=200)
    songs: list[SongId] = Field(max_length=MAX_SONGS)
    format: ExportFormat = "m3u8"
    paths: Paths = Field("relative", description=PATHS_WORDS)
