"""Playlist rules and results, and the space songs are chosen from: embeddings, artists and allowed songs."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.answers.dial import check_adventurousness
from nearsong.library.answers.playlist.defaults import PLAYLIST_DEFAULTS
from nearsong.validation import check_count

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COPY_SHARE = 0.12
"""Two songs nearer than this share of the median distance are treated as one recording.

The same music as FLAC and as MP3 or Opus was at 0.04 to 0.16 of the median distance, at most 0.23; different songs
at 0.47 and more. So a few copies are not recognised.
"""
MAX_COORDINATE = 1e15
MAX_COMPARED_ARTISTS = 16
"""Up to this many artists are compared one by one; beyond it np.isin is faster."""
MIN_COPY_SHARE = 0.005
"""float32 products cannot distinguish distances below this share from 0."""


@dataclass(frozen=True)
class PlaylistRules:
    """Parameters of a playlist; their defaults are those of the command line, the service and the page.

    Attributes
    ----------
    length : int, default=25
        Number of songs, seeds included.
    artist_gap : int, default=5
        No artist occurs twice within this many consecutive songs; 0 or 1 for no limit. Unknown artists never clash.
    diversity : float, default=0.0
        The share of songs that are chosen for variety: each is, of some near ones drawn at random, the song that
        differs most from those before. All others are the nearest songs, so with a small share these stay on the
        list. Above 0, another ``seed`` gives another list.
    drift : float, default=0.0
        From 0, near the seeds, to 1, near the previous song.
    adventurousness : float, default=0.0
        From -1, familiar, to 1, adventurous: the dial of the seeds.
    seed : int, default=0
        Of the random generator; the same seed gives the same list.
    """

    length: int = PLAYLIST_DEFAULTS.length
    artist_gap: int = PLAYLIST_DEFAULTS.artist_gap
    diversity: float = PLAYLIST_DEFAULTS.diversity
    drift: float = PLAYLIST_DEFAULTS.drift
    seed: int = 0
    adventurousness: float = PLAYLIST_DEFAULTS.adventurousness

    def __post_init__(self) -> None:
        check_adventurousness(self.adventurousness)
        check_count(self.length, "length")
        check_count(self.artist_gap, "artist_gap", minimum=0)
        check_count(self.seed, "seed", minimum=0)
        for name in ("diversity", "drift"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InvalidInputError(f"{name}={value!r} must be a number from 0 to 1.")


@dataclass(frozen=True)
class Playlist:
    """Songs in order, as rows of the embeddings, and notes about rules that could not be met."""

    songs: list[int]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class PlaylistSpace:
    """Songs that a playlist is chosen from.

    Attributes
    ----------
    centred : array of float32 and shape (n_songs, r)
        Embeddings minus their mean, so that float32 products resolve small distances.
    squares : array of float32 and shape (n_songs,)
        Squared norms of ``centred``.
    mean : array of float32 and shape (r,)
    artists : array of int64 and shape (n_songs,)
        A number for each artist, -1 where unknown.
    allowed : array of bool and shape (n_songs,)
    same : float
        Songs within this distance are treated as one recording; below 0 if none are.
    """

    centred: Floats
    squares: Floats
    mean: Floats
    artists: Ints
    allowed: Mask
    same: float

    @classmethod
    def of(
        cls,
        embeddings: npt.ArrayLike,
        artists: npt.ArrayLike,
        allowed: npt.ArrayLike | None = None,
        *,
        copies_are_near: bool = True,
    ) -> "PlaylistSpace":
        """Check and centre the embeddings.

        Parameters
        ----------
        embeddings : array of shape (n_songs, r)
        artists : array of int and shape (n_songs,)
        allowed : array of bool and shape (n_songs,), optional
            Mask of the songs that may be chosen, by default all.
        copies_are_near : bool, default=True
            Whether songs at almost the same point are one recording; not where all songs of an artist are.
        """
        rows, names = np.asarray(embeddings), np.asarray(artists)
        if rows.ndim != 2:
            raise InvalidInputError(f"embeddings has shape {rows.shape}; songs x dimensions is needed.")
        n_songs = len(rows)
        if names.shape != (n_songs,) or (n_songs and names.dtype.kind not in "iu"):
            raise InvalidInputError(
                f"artists is {names.dtype} of shape {names.shape}; an int for each of {n_songs} songs is needed."
            )
        mask = np.ones(n_songs, bool) if allowed is None else np.asarray(allowed)
        if mask.shape != (n_songs,) or mask.dtype != bool:
            raise InvalidInputError(
                f"allowed is {mask.dtype} of shape {mask.shape}; a bool for each of {n_songs} songs is needed."
            )
        with np.errstate(invalid="ignore", over="ignore"):
            centred = rows.astype(np.float32)
            mean = centred.mean(axis=0, dtype=np.float64) if n_songs else np.zeros(rows.shape[1])
            centred -= mean.astype(np.float32)
            squares = np.einsum("ij,ij->i", centred, centred)
        if not np.isfinite(squares).all():  # looking for the row is slow, so only on failure
            wrong = ~(np.abs(rows) < MAX_COORDINATE).all(axis=1)
            row = int(np.argmax(wrong))
            raise InvalidInputError(
                f"embeddings has a NaN or too large a value, first in row {row}; leave such songs out."
            )
        same = _same_within(centred) if copies_are_near else -1.0
        return cls(centred, squares, mean.astype(np.float32), names.astype(np.int64), mask, same)

    @property
    def same_square(self) -> float:
        """Songs within this squared distance are treated as one recording; below 0 if none are."""
        return self.same * abs(self.same)

    def distances(self, point: Floats) -> Floats:
        """Return the distance of every song to a centred point, (n_songs,)."""
        squares: Floats = self.squared_distances(point[None])[0]
        return np.sqrt(squares)

    def squared_distances(self, points: Floats, songs: Ints | slice = slice(None)) -> Floats:
        """Return the squared distances from centred points to songs, by default all, (n_points, n_songs)."""
        products = 2 * (points @ self.centred[songs].T)
        squares: Floats = self.squares[songs] - products + np.einsum("ij,ij->i", points, points)[:, None]
        np.maximum(squares, 0, out=squares)
        return squares

    def is_same_artist(self, first: int, second: int) -> bool:
        """Return whether two songs are known to be by the same artist."""
        return bool(self.artists[first] == self.artists[second] >= 0)

    def by_other_artists(self, songs: list[int], artist_gap: int) -> Mask:
        """Return a mask of the songs by other artists than the last ``artist_gap - 1`` songs, (n_songs,)."""
        artists = {int(self.artists[song]) for song in songs[max(0, len(songs) - artist_gap + 1) :]} - {-1}
        if len(artists) > MAX_COMPARED_ARTISTS:
            return np.isin(self.artists, list(artists), invert=True)
        mask = np.ones(len(self.artists), bool)
        for artist in artists:
            mask &= self.artists != artist
        return mask

    def check_row(self, row: object, name: str) -> int:
        """Return a row as int; raise an InvalidInputError if it is out of range."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(self.artists):
            raise InvalidInputError(f"{name}={row!r} is not one of the {len(self.artists)} songs, counted from 0.")
        return int(row)


def _same_within(embeddings: Floats) -> float:
    """Return the distance below which two songs are treated as one recording, estimated from random pairs.

    In few dimensions different songs can be close to each other, so it is at most a quarter of the 5 % quantile of
    the distances.
    """
    if len(embeddings) < 2:
        return 0.0
    first, second = np.random.default_rng(0).integers(len(embeddings), size=(2, 1_000))
    distances = np.linalg.norm(embeddings[first] - embeddings[second], axis=1)[first != second]
    near, typical = np.quantile(distances, [0.05, 0.5])
    return float(max(min(COPY_SHARE * typical, near / 4), MIN_COPY_SHARE * typical))
