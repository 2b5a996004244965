"""Play counts of listeners -> who listens to what: how many plays make a listener, in the library and outside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

PAPER_MIN_PLAYS = 10
"""Plays that make a user a listener of an artist, as in the paper."""

MIN_OUTSIDE_LISTENERS = 3
"""Listeners that an artist outside the library needs to get a column; fewer say nothing about other artists."""


class KindPlays(NamedTuple):
    """Play counts of some listeners of one kind, as sparse matrices.

    ``artists`` has the shape (n_listeners, n_artists), ``songs`` (n_listeners, n_songs) and ``outside``, for artists
    without songs in the library, (n_listeners, n_outside).
    """

    artists: sp.csr_array
    songs: sp.csr_array
    outside: sp.csr_array


@dataclass(frozen=True, eq=False)
class Listening:
    """Who listens to what.

    Attributes
    ----------
    artist_plays, song_plays : csr_array of bool and shapes (n_listeners, n_artists) and (n_listeners, n_songs)
        Whether a listener listens to an artist, or song. No listener has an empty row in both.
    listeners : dict
        Number of rows that are "users", "sessions" and "playlists", in this order.
    how : str
        The same as a readable description.
    min_plays : dict
        Plays that make a user a listener of "artists" and of "songs".
    song_play_counts : ndarray of float64 and shape (n_songs,)
        Total plays of each song, including its copies (`Matched.same_as`); a playlist entry counts as one play.
    titled_share : float
        The share of the plays of the library's artists that name a title; 0 without any.
    all_plays : csr_array of bool and shape (n_all_listeners, n_artists + n_outside)
        The library's artists in their order, then artists outside it with `MIN_OUTSIDE_LISTENERS` or more; also
        listeners who play nothing of the library.
    all_artists : array of int64 and shape (n_artists + n_outside,)
        The artist of each column of ``all_plays``: the library's artists by number, then n_artists and more for
        those outside it.
    """

    artist_plays: sp.csr_array
    song_plays: sp.csr_array
    listeners: dict[str, int]
    how: str
    min_plays: dict[str, float]
    song_play_counts: npt.NDArray[np.float64]
    titled_share: float
    all_plays: sp.csr_array
    all_artists: npt.NDArray[np.int64]


def listening_of(
    plays_of: Mapping[str, Sequence[KindPlays]],
    n_units: KindPlays,
    min_plays: float | None,
    *,
    song_counts: npt.NDArray[np.float64],
    titled_share: float,
    people: int,
    gap_minutes: float,
) -> Listening:
    """Apply the play thresholds and stack the listeners of all kinds.

    Parameters
    ----------
    plays_of : mapping of str to sequence of KindPlays
        Portions of the listeners of each kind.
    n_units : KindPlays
        Matrices without listeners, of the right number of columns.
    min_plays : float or None
        As for :func:`nearsong.library.listeners.matrices.build_listening`.
    song_counts : array of shape (n_songs,)
        Plays of each song.
    titled_share : float
        The share of matched plays that name a title.
    people : int
        Users with timed events.
    gap_minutes : float
        What separates sessions.
    """
    thresholds = {"artists": float(min_plays or 1), "songs": float(min_plays or 1)}
    listeners: dict[str, int] = {}
    stacked: list[tuple[sp.csr_array, sp.csr_array]] = []
    everyone: list[sp.csr_array] = []
    for kind, portions in plays_of.items():
        matrices = []
        for index, unit in enumerate(("artists", "songs", "artists")):
            plays = sp.csr_array(sp.vstack([n_units[index], *(portion[index] for portion in portions)]))
            least = 0.0 if kind == "playlists" else float(min_plays or 1)
            if kind == "users" and index < 2 and plays.nnz:
                thresholds[unit] = min_plays or _auto_min_plays(plays)
            matrices.append(_at_least(plays, thresholds[unit] if kind == "users" else least))
        artists, songs, outside = matrices
        non_empty = (np.diff(artists.indptr) > 0) | (np.diff(songs.indptr) > 0)
        listeners[kind] = int(non_empty.sum())
        stacked.append((artists[non_empty], songs[non_empty]))
        somebody = (np.diff(artists.indptr) > 0) | (np.diff(outside.indptr) > 0)
        everyone.append(sp.csr_array(sp.hstack([artists[somebody], outside[somebody]])))
    all_plays, all_artists = _without_rare(sp.csr_array(sp.vstack(everyone)), n_units.artists.shape[1])
    return Listening(
        artist_plays=sp.csr_array(sp.vstack([part[0] for part in stacked])),
        song_plays=sp.csr_array(sp.vstack([part[1] for part in stacked])),
        listeners=listeners,
        how=_how(listeners, thresholds, people, gap_minutes),
        min_plays=thresholds,
        song_play_counts=song_counts,
        titled_share=titled_share,
        all_plays=all_plays,
        all_artists=all_artists,
    )


def _without_rare(plays: sp.csr_array, n_artists: int) -> tuple[sp.csr_array, npt.NDArray[np.int64]]:
    """Leave out columns after the library's artists that have few listeners; return those that are left."""
    n_listeners = np.bincount(plays.indices, minlength=plays.shape[1])
    is_wanted = (np.arange(plays.shape[1]) < n_artists) | (n_listeners >= MIN_OUTSIDE_LISTENERS)
    wanted = np.flatnonzero(is_wanted)
    return plays if is_wanted.all() else sp.csr_array(plays[:, wanted]), wanted


def _auto_min_plays(plays: sp.csr_array) -> float:
    """Return the paper's threshold, or 1 if it would exclude most users."""
    several = np.count_nonzero(np.diff(plays.indptr) >= 2)
    still = np.count_nonzero(np.diff(_at_least(plays, PAPER_MIN_PLAYS).indptr) >= 2)
    return PAPER_MIN_PLAYS if 0 < several <= 2 * still else 1


def _at_least(plays: sp.csr_array, min_plays: float) -> sp.csr_array:
    """Return a boolean matrix that is True where plays are ``min_plays`` or more."""
    enough = plays.data >= min_plays
    until = np.concatenate([[0], np.cumsum(enough)])[plays.indptr]
    indices = plays.indices[enough]
    return sp.csr_array((np.ones(len(indices), bool), indices, until.astype(plays.indptr.dtype)), shape=plays.shape)


def _how(listeners: dict[str, int], thresholds: dict[str, float], people: int, gap_minutes: float) -> str:
    """Return a readable description of the listeners."""
    parts = []
    if n := listeners["users"]:
        least = thresholds["artists"]
        note = f" (a listener of an artist has at least {least:g} plays)" if least > 1 else ""
        parts.append(f"{n:,} user{'s' * (n > 1)}{note}")
    if n := listeners["sessions"]:
        whose = "one person's history" if people == 1 else f"the histories of {people:,} people"
        parts.append(f"{whose}, split into {n:,} session{'s' * (n > 1)} at gaps of {gap_minutes:g} minutes")
    if n := listeners["playlists"]:
        parts.append(f"{n:,} playlist{'s' * (n > 1)}")
    return "; ".join(parts) or "no listeners"
