"""What a playlist should be like, what it is, and the space it is chosen in: places, artists and who may come."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SAME = 0.12
"""Two songs nearer than this share of a typical distance are taken for one recording.

Music as FLAC and again as MP3 or Opus was at 0.04 to 0.16 of the median distance, at most 0.23; different songs at
0.47 and more. So now and then a copy does get through.
"""
LARGEST = 1e15
FEW = 16
"""So many artists are sooner looked for one by one than in a table."""
LEAST_SAME = 0.005
"""What float32 products cannot tell from nothing."""


@dataclass(frozen=True)
class PlaylistRules:
    """What a playlist should be like.

    Attributes
    ----------
    length : int, default=25
        Songs, seeds included.
    artist_gap : int, default=5
        Among so many songs in a row, no artist comes twice; 0 or 1 for no rule. Unknown artists are all different.
    diversity : float, default=0.0
        From 0, always the nearest song, to 1, the one of many near songs that is least like those before. Above 0
        chance has a say too, so that another ``seed`` gives another list.
    drift : float, default=0.0
        From 0, stay near the seeds, to 1, go on from the song before.
    seed : int, default=0
        Of the chance; the same seed gives the same list.
    """

    length: int = 25
    artist_gap: int = 5
    diversity: float = 0.0
    drift: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_count(self.length, "length")
        check_count(self.artist_gap, "artist_gap", minimum=0)
        check_count(self.seed, "seed", minimum=0)
        for name in ("diversity", "drift"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InvalidInputError(f"{name}={value!r} must be a number from 0 to 1.")


@dataclass(frozen=True)
class Playlist:
    """Songs in order, as rows of the places, and what could not be had, in words."""

    songs: list[int]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Space:
    """Places around their mean, so that float32 products keep small distances; and who may come."""

    centred: Floats
    squares: Floats
    mean: Floats
    artists: Ints
    allowed: Mask
    same: float

    @classmethod
    def of(cls, places: npt.ArrayLike, artists: npt.ArrayLike, allowed: npt.ArrayLike | None) -> "Space":
        """Check what came."""
        rows, names = np.asarray(places), np.asarray(artists)
        if rows.ndim != 2:
            raise InvalidInputError(f"places has shape {rows.shape}; songs x dimensions is needed.")
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
        if not np.isfinite(squares).all():  # looked for only now, as it takes a while
            wrong = ~(np.abs(rows) < LARGEST).all(axis=1)
            row = int(np.argmax(wrong))
            raise InvalidInputError(
                f"places has a NaN or too large a value, first in row {row}; leave such songs out."
            )
        return cls(centred, squares, mean.astype(np.float32), names.astype(np.int64), mask, _same_within(centred))

    def away(self, place: Floats) -> Floats:
        """Return the distance of every song to a place around the mean."""
        squares: Floats = self.squares - 2 * (self.centred @ place) + place @ place
        return np.sqrt(np.maximum(squares, 0))

    def by_one_artist(self, one: int, other: int) -> bool:
        """Say whether two songs are known to be by the same artist."""
        return bool(self.artists[one] == self.artists[other] >= 0)

    def not_by(self, songs: list[int], artist_gap: int) -> Mask:
        """Return which songs may follow: not by an artist of the last ``artist_gap - 1``."""
        artists = {int(self.artists[song]) for song in songs[max(0, len(songs) - artist_gap + 1) :]} - {-1}
        if len(artists) > FEW:
            return np.isin(self.artists, list(artists), invert=True)
        mask = np.ones(len(self.artists), bool)
        for artist in artists:
            mask &= self.artists != artist
        return mask

    def check_row(self, row: object, name: str) -> int:
        """Return a row number that exists."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(self.artists):
            raise InvalidInputError(f"{name}={row!r} is not one of the {len(self.artists)} songs, counted from 0.")
        return int(row)


def _same_within(places: Floats) -> float:
    """Return the distance below which two songs are one recording, from random pairs.

    In few dimensions different songs come near each other too, so it is no more than a quarter of what the nearest
    twentieth of the pairs is apart.
    """
    if len(places) < 2:
        return 0.0
    one, other = np.random.default_rng(0).integers(len(places), size=(2, 1_000))
    apart = np.linalg.norm(places[one] - places[other], axis=1)[one != other]
    near, typical = np.quantile(apart, [0.05, 0.5])
    return float(max(min(SAME * typical, near / 4), LEAST_SAME * typical))
