"""Songs and their artists -> the bag of frames a codebook is learned from (paper IV-A).

One random song of every artist, and of each a random run of five seconds: 431 frames at 22,050 Hz, hop 256.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.encoding.frames import check_frames
from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

FIVE_SECONDS_FRAMES = 431
"""Frames in five seconds at 22,050 Hz with a hop of 256."""


def codebook_songs(artists: Iterable[Any], seed: int = 0) -> npt.NDArray[np.int64]:
    """Choose one random song of every artist.

    Parameters
    ----------
    artists : iterable of str or int
        The artist of each song.
    seed : int
        The same seed chooses the same songs. An artist's song depends on nothing but the seed, the artist and
        how many songs there are of that artist, so other artists may come and go.

    Returns
    -------
    ndarray of int64 and shape (n_artists,)
        Positions of the chosen songs, ascending.

    Examples
    --------
    >>> codebook_songs(["Nina", "Fela", "Nina", "Nina", "Fela"], seed=1)
    array([3, 4])
    """
    seed = check_count(seed, "seed", minimum=0)
    songs_of: dict[str, list[int]] = {}
    for song, artist in enumerate(artists):
        songs_of.setdefault(str(artist), []).append(song)
    chosen = [songs[_generator(seed, artist).integers(len(songs))] for artist, songs in songs_of.items()]
    return np.sort(np.array(chosen, dtype=np.int64))


def random_run(
    frames: npt.ArrayLike, n_frames: int = FIVE_SECONDS_FRAMES, *, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Take a random run of consecutive frames, or all frames of a song that has no more.

    Parameters
    ----------
    frames : array-like of shape (n, d)
        A song.
    n_frames : int
        Length of the run.
    rng : numpy.random.Generator
        Every start is equally likely.

    Returns
    -------
    ndarray of float32 and shape (min(n, n_frames), d)
        A copy: it does not keep the song in memory.

    Examples
    --------
    >>> random_run([[0.0], [1.0], [2.0], [3.0]], n_frames=2, rng=np.random.default_rng(0))
    array([[2.],
           [3.]], dtype=float32)
    """
    checked = check_frames(frames)
    length = check_count(n_frames, "n_frames")
    start = int(rng.integers(max(1, len(checked) - length + 1)))
    return checked[start : start + length].copy()


def codebook_bag(
    songs: Iterable[npt.ArrayLike], n_frames: int = FIVE_SECONDS_FRAMES, seed: int = 0
) -> npt.NDArray[np.float32]:
    """Put a random run of every song into one bag.

    Parameters
    ----------
    songs : iterable of array-like of shape (n, d)
        Songs as frames, one at a time; a generator may read them from disk.
    n_frames : int
        Length of each run; a shorter song gives all it has.
    seed : int
        The same seed takes the same runs. A song's run depends on its position, not on the other songs.

    Returns
    -------
    ndarray of float32 and shape (total frames, d)
        The runs, in the order of the songs.

    Examples
    --------
    >>> codebook_bag([[[0.0], [1.0], [2.0], [3.0]], [[9.0]]], n_frames=2, seed=3)
    array([[2.],
           [3.],
           [9.]], dtype=float32)
    """
    seed = check_count(seed, "seed", minimum=0)
    runs: list[npt.NDArray[np.float32]] = []
    for position, song in enumerate(songs):
        frames = check_frames(song, runs[0].shape[1] if runs else None, f"songs[{position}]")
        runs.append(random_run(frames, n_frames, rng=np.random.default_rng([seed, position])))
    if not runs:
        raise InvalidInputError("songs is empty, so there is nothing to learn a codebook from; give at least one.")
    return np.concatenate(runs)


def _generator(seed: int, artist: str) -> np.random.Generator:
    """Return a generator of its own for every artist."""
    words = np.frombuffer(hashlib.sha256(artist.encode()).digest(), np.uint32)
    return np.random.default_rng([seed, *words.tolist()])
