"""The small typed records the library speaks in: songs, listens, answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Tags:
    """What a file says about itself; empty where it says nothing.

    Attributes
    ----------
    artist, title, album, genre : str
        As written in the file, or guessed from its name.
    year : int or None
        Of the release.
    recording_mbid, artist_mbid : str
        MusicBrainz' names for the recording and the (first) artist.
    """

    artist: str = ""
    title: str = ""
    album: str = ""
    genre: str = ""
    year: int | None = None
    recording_mbid: str = ""
    artist_mbid: str = ""


@dataclass(frozen=True, slots=True)
class Song:
    """A song of the library.

    Attributes
    ----------
    id : int
        Stays the same when the file is moved or changed.
    path : str
        Where the file is.
    artist_key : str
        What the artist is compared by; empty if there is none.
    seconds : float
        How long it is.
    missing : bool
        Whether the last scan of its folder did not find the file.
    added : float
        When it came into the library, in seconds since 1970; 0 if that is not known.
    """

    id: int
    path: str
    artist: str
    title: str
    album: str
    genre: str
    year: int | None
    seconds: float
    artist_key: str
    recording_mbid: str = ""
    artist_mbid: str = ""
    missing: bool = False
    added: float = 0.0

    @property
    def name(self) -> str:
        """Artist and title as a person would write them."""
        return f"{self.artist} - {self.title}" if self.artist else self.title


@dataclass(frozen=True, slots=True)
class Heard:
    """What was played, as a listening history names it; empty where it says nothing."""

    artist: str
    title: str = ""
    recording_mbid: str = ""
    artist_mbid: str = ""


@dataclass(frozen=True, eq=False)
class ListenBlock:
    """Some rows of a listening history, in columns.

    Attributes
    ----------
    users : sequence of str
        The listeners of this block, each once; for playlists, the playlists.
    heard : sequence of Heard
        What was played in this block, each once.
    user, item : arrays of int32 and shape (n,)
        Who (a place in ``users``) played what (a place in ``heard``).
    plays : array of float32 and shape (n,)
        How often; 1 for a single listen.
    time : array of int64 and shape (n,)
        When, in seconds since 1970 (UTC); 0 where it is not known.
    """

    users: Sequence[str]
    heard: Sequence[Heard]
    user: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    plays: npt.NDArray[np.float32]
    time: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A song and how near it is.

    Attributes
    ----------
    song : Song
    distance : float
        In the learned space.
    similarity : float
        The share of random pairs of songs that are farther apart: 1 for the same sound.
    """

    song: Song
    distance: float
    similarity: float

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON has it."""
        song = self.song
        return {
            "id": song.id,
            "artist": song.artist,
            "title": song.title,
            "album": song.album,
            "genre": song.genre,
            "year": song.year,
            "seconds": round(song.seconds, 2),
            "path": song.path,
            "distance": self.distance,
            "similarity": self.similarity,
        }
