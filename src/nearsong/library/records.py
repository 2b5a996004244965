"""Records shared by all packages of the library: songs, neighbours, pictures and the version stamp."""

from dataclasses import dataclass, fields
from typing import Any

from nearsong.audio.tags import LISTED_FIELDS, Tags

_LISTED = ("id", *LISTED_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Song(Tags):
    """A song of the library: the fields of its tags, and what the library adds.

    Attributes
    ----------
    id : int
        Stays the same when the file is moved or changed.
    path : str
        Path of the file.
    size : int
        Bytes of the file, as the last scan found it.
    seconds : float
        Duration.
    artist_key : str
        Normalised artist, for comparisons; empty for none.
    missing : bool
        Whether the last scan of its folder did not find the file.
    added : float
        Time it was added to the library, in seconds since 1970; 0 if unknown.
    """

    id: int
    path: str
    size: int = 0
    seconds: float = 0.0
    artist_key: str = ""
    missing: bool = False
    added: float = 0.0

    @property
    def name(self) -> str:
        """``artist - title``, or the title alone."""
        return f"{self.artist} - {self.title}" if self.artist else self.title

    def as_json(self) -> dict[str, Any]:
        """Return the fields that lists of songs show."""
        values = {name: getattr(self, name) for name in _LISTED}
        values["seconds"] = round(self.seconds, 2)
        return values


SONG_COLUMNS = tuple(field.name for field in fields(Song))
"""The fields of a song, which are the columns of its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStamp:
    """Tells whether a stored library changed: two stamps are equal as long as it did not.

    Attributes
    ----------
    file : int
        How often the database file was replaced by another one while the library was open.
    model : int or None
        The active model.
    songs : int
        Counter of changes to songs and embeddings.
    listens : str
        A digest of the listening histories.
    """

    file: int
    model: int | None
    songs: int
    listens: str

    def has_model_of(self, other: "VersionStamp") -> bool:
        """Return whether both have the same active model in the same database file."""
        return (self.file, self.model) == (other.file, other.model)

    def has_songs_of(self, other: "VersionStamp") -> bool:
        """Return whether both have the same songs and the same active model."""
        return self.has_model_of(other) and self.songs == other.songs


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A song and its distance to a query.

    Attributes
    ----------
    song : Song
    distance : float
        Distance of the embeddings.
    similarity : float
        The share of random pairs of songs that are farther apart; 1 for identical embeddings.
    closeness : float
        The same on a scale that separates near songs, 0 to 1; see `nearsong.library.neighbours.closeness`.
    closeness_word : str
        Very close, close, loose or far.
    """

    song: Song
    distance: float
    similarity: float
    closeness: float
    closeness_word: str

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **self.song.as_json(),
            "path": self.song.path,
            "distance": self.distance,
            "similarity": self.similarity,
            "closeness": self.closeness,
            "closeness_word": self.closeness_word,
        }


@dataclass(frozen=True)
class Picture:
    """An encoded image and its media type."""

    data: bytes
    media_type: str
