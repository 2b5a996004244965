"""Listening data and song vectors -> the training set: the unit to learn from, the artists and their songs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.library.training.coverage.records import Coverage
from nearsong.library.training.coverage.songs import cover, first_songs
from nearsong.library.training.settings import TrainingSettings
from nearsong.model.held_out import Indices, ListeningData

LISTENER_STEPS = (100, 50, 20, 10, 5, 3)
"""Candidates for the minimum number of listeners per artist or song; 2 if data is scarce."""

TARGET_UNITS = {"artist": 500, "song": 1000}
"""A candidate is chosen if at least this many units remain."""

MIN_LISTENERS = 2
"""The lowest minimum that is chosen from the data."""

SCARCE_UNITS = {"artist": 40, "song": 200}
"""With fewer than this many units of 3 listeners, the minimum is 2."""

DENSE_SONGS, DENSE_LISTENERS = 500, 10
"""With this many songs of this many listeners each, ``auto`` may choose songs as the unit."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Input of a training, as arrays.

    Attributes
    ----------
    vectors : array of shape (n_songs, n_dimensions)
        Song vectors of one or several encoders side by side, as stored; NaN in the block of an encoder that a song
        has no vector of.
    song_artist : array of int and shape (n_songs,)
        Artist of each song, a column of ``artist_plays``; -1 if unknown.
    artist_plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener listens to an artist.
    song_plays : csr_array of shape (n_listeners, n_songs) or None
        The same for songs; None if the histories name artists only.
    listeners : mapping of str to int
        Number of listeners of each kind, such as ``{"users": 3, "sessions": 312}``.
    song_ids : array of int and shape (n_songs,), optional
        Song ids used in the report; by default row numbers.
    all_plays : csr_array of shape (n_all_listeners, n_artists + n_outside), optional
        Who listens to whom, with further columns for artists that have no songs here; by default ``artist_plays``.
    artist_names : sequence of str, optional
        The names of the artists, by column of ``all_plays``, so that explanations can name them.
    songs_of_artist : array of int and shape (n_artists,), optional
        Songs of each artist in the library, also those that are not given here; by default those that are.
    n_unknown_songs : int
        Songs of the library that are not given here because nobody knows their artist.
    """

    vectors: npt.NDArray[Any]
    song_artist: npt.NDArray[Any]
    artist_plays: sp.csr_array
    song_plays: sp.csr_array | None = None
    listeners: Mapping[str, int] = field(default_factory=dict)
    song_ids: npt.NDArray[Any] | None = None
    all_plays: sp.csr_array | None = None
    artist_names: Sequence[str] = ()
    songs_of_artist: npt.NDArray[Any] | None = None
    n_unknown_songs: int = 0

    def __post_init__(self) -> None:
        n_songs, n_artists = len(self.vectors), self.artist_plays.shape[1]
        for name, length in {
            "song_artist": len(self.song_artist),
            "song_ids": n_songs if self.song_ids is None else len(self.song_ids),
            "the columns of song_plays": n_songs if self.song_plays is None else self.song_plays.shape[1],
        }.items():
            if length != n_songs:
                raise InvalidInputError(f"{name}: {length} given for {n_songs} songs; give one per song.")
        if self.all_plays is not None and self.all_plays.shape[1] < n_artists:
            raise InvalidInputError(
                f"all_plays has {self.all_plays.shape[1]} columns for {n_artists} artists; it begins with theirs."
            )
        n_columns = n_artists if self.all_plays is None else self.all_plays.shape[1]
        if len(self.artist_names) not in (0, n_columns):
            raise InvalidInputError(f"{len(self.artist_names)} names given for {n_columns} artists; give one each.")
        least, most = (int(f(self.song_artist)) if n_songs else -1 for f in (np.min, np.max))
        if not -1 <= least <= most < n_artists:
            raise InvalidInputError(
                f"song_artist goes from {least} to {most} and artist_plays has {n_artists} columns; use 0 to "
                f"{n_artists - 1}, or -1 for an unknown artist."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class FinalSongs:
    """What the final fit learns from.

    Attributes
    ----------
    songs, columns : arrays of shape (n_final,)
        Rows of the songs in the data, and the columns of their artists in the listens.
    ranked : array of shape (n_ranked,)
        Those of the songs that MLR learns from: all, or a part with a song of every artist first.
    listening_data : ListeningData
        Artists and listeners of ``ranked``, renumbered from 0.
    coverage : Coverage
        How many these are, and how many are left out.
    """

    songs: Indices
    columns: Indices
    ranked: Indices
    listening_data: ListeningData
    coverage: Coverage


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The songs and listeners that a training uses.

    Attributes
    ----------
    songs : array of shape (n,)
        Rows of the songs in the data.
    vectors : array of shape (n, n_dimensions)
        Their song vectors, as stored.
    listening_data : ListeningData
        The same songs with artists and listeners renumbered from 0; listeners of a single unit are left out.
    artists_known, songs_known : int
        Artists with enough listeners, and their songs; ``songs`` is a sample of these.
    min_listeners, n_relevant, n_splits : int
        As set, or as chosen from the data.
    all_plays : csr_array of shape (n_all_listeners, n_columns)
        Who listens to whom, also to artists outside the training set and the library.
    columns : array of shape (n_artists,)
        The column of each artist of ``listening_data`` in ``all_plays``.
    final : FinalSongs
        What the final fit learns from.
    """

    songs: Indices
    vectors: npt.NDArray[Any]
    listening_data: ListeningData
    artists_known: int
    songs_known: int
    min_listeners: int
    n_relevant: int
    n_splits: int
    all_plays: sp.csr_array
    columns: Indices
    final: "FinalSongs"

    @property
    def n_listeners(self) -> int:
        """Number of listeners of at least two units."""
        return int(self.listening_data.plays.shape[0])


def choose_training_set(data: TrainingData, settings: TrainingSettings) -> TrainingSet:
    """Choose unit, artists and songs by the rules of :class:`TrainingSettings`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong.library.training.data import TrainingData, TrainingSettings, choose_training_set
    >>> random = np.random.default_rng(0)
    >>> data = TrainingData(
    ...     vectors=random.dirichlet(np.ones(8), size=60),
    ...     song_artist=np.arange(60) % 30,
    ...     artist_plays=sp.csr_array(random.random((50, 30)) < 0.3),
    ... )
    >>> chosen = choose_training_set(data, TrainingSettings())
    >>> chosen.artists_known, len(chosen.songs), chosen.min_listeners, chosen.n_relevant, chosen.n_splits
    (30, 60, 2, 2, 10)
    """
    unit = _unit(data, settings)
    song_artist = np.asarray(data.song_artist, dtype=np.int64)
    plays = _listens(data, unit)
    song_unit = song_artist if unit == "artist" else np.where(song_artist >= 0, np.arange(len(song_artist)), -1)
    counts = _listeners(plays, song_unit)
    min_listeners = settings.min_listeners or _auto_min_listeners(counts, unit)
    n_listeners = _of_song(counts, song_unit)
    least = settings.min_listeners or min(min_listeners, settings.final_min_listeners)
    final = _final_songs(data, plays, n_listeners, unit, settings, least)
    taking_part = np.flatnonzero(n_listeners >= min_listeners)
    songs = sample_songs(song_artist, np.intersect1d(taking_part, final.songs), settings)
    artists = np.unique(song_artist[songs])
    return TrainingSet(
        songs=songs,
        vectors=data.vectors[songs],
        listening_data=_renumbered(plays, song_artist, songs, unit),
        artists_known=len(np.unique(song_artist[taking_part])),
        songs_known=len(taking_part),
        min_listeners=min_listeners,
        n_relevant=settings.n_relevant or _auto_n_relevant(len(artists), len(songs), unit),
        n_splits=settings.n_splits or _auto_n_splits(len(artists)),
        all_plays=sp.csr_array(data.artist_plays if data.all_plays is None else data.all_plays),
        columns=artists,
        final=final,
    )


def _final_songs(
    data: TrainingData,
    plays: sp.csc_array,
    n_listeners: Indices,
    unit: str,
    settings: TrainingSettings,
    least: int,
) -> FinalSongs:
    """Choose what the final fit learns from: every artist with enough listeners, and as many songs as there may be.

    With songs as the unit, songs with enough listeners (n_songs,) come first, since MLR can learn from them only.
    """
    song_artist = np.asarray(data.song_artist, dtype=np.int64)
    of_artist = np.diff(_listens(data, "artist").indptr).astype(np.int64)
    limits = {"songs_an_artist": settings.songs_an_artist, "seed": settings.seed}
    can_rank = np.flatnonzero(n_listeners >= least)
    ranked = first_songs(song_artist, can_rank, n_songs=settings.max_ranked_songs, **limits)
    songs = first_songs(song_artist, can_rank, n_songs=settings.max_final_songs, **limits)
    ranked = np.intersect1d(ranked, songs)
    if unit == "song":  # the listener space is learned from artists, so it can use their other songs too
        is_rest = (_of_song(of_artist, song_artist) >= least) & ~np.isin(song_artist, song_artist[songs])
        n_left = settings.max_final_songs - len(songs)
        rest = first_songs(song_artist, np.flatnonzero(is_rest), n_songs=max(0, n_left), **limits)
        songs = np.union1d(songs, rest)
    known = np.bincount(song_artist[song_artist >= 0], minlength=len(of_artist))
    return FinalSongs(
        songs=songs,
        columns=song_artist[songs],
        ranked=ranked,
        listening_data=_renumbered(plays, song_artist, ranked, unit),
        coverage=cover(
            known if data.songs_of_artist is None else np.asarray(data.songs_of_artist, dtype=np.int64),
            of_artist,
            song_artist[songs],
            song_artist[ranked],
            n_unknown=data.n_unknown_songs + int((song_artist < 0).sum()),
            min_listeners=least,
        ),
    )


def _renumbered(plays: sp.csc_array, song_artist: Indices, songs: Indices, unit: str) -> ListeningData:
    """Return some songs with artists and listeners numbered from 0, without listeners of a single unit."""
    artists, number = np.unique(song_artist[songs], return_inverse=True)
    columns = sp.csr_array(plays[:, artists if unit == "artist" else songs])
    informative = np.flatnonzero(np.diff(columns.indptr) >= 2)
    return ListeningData(song_artist=number.astype(np.int64), plays=sp.csr_array(columns[informative]), unit=unit)


def sample_songs(song_artist: Indices, taking_part: Indices, settings: TrainingSettings) -> Indices:
    """Return a sample of the eligible songs, ascending; every artist gets one song before any gets a second.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.training.data import TrainingSettings, sample_songs
    >>> song_artist = np.array([0] * 90 + [1] * 2 + [2])
    >>> few = TrainingSettings(max_songs=6)
    >>> np.bincount(song_artist[sample_songs(song_artist, np.arange(93), few)])
    array([3, 2, 1])
    """
    return first_songs(
        song_artist,
        taking_part,
        n_songs=settings.max_songs,
        songs_an_artist=settings.songs_an_artist,
        seed=settings.seed,
    )


def _unit(data: TrainingData, settings: TrainingSettings) -> str:
    if settings.unit == "song" and data.song_plays is None:
        raise InvalidInputError(
            "unit='song' needs listens that name songs of the library; these name only artists, so use unit='artist'."
        )
    if settings.unit != "auto":
        return settings.unit
    if data.song_plays is None:
        return "artist"
    of_song = _listens(data, "song")
    song_artist = np.asarray(data.song_artist, dtype=np.int64)
    dense = (np.diff(of_song.indptr) >= (settings.min_listeners or DENSE_LISTENERS)) & (song_artist >= 0)
    counts = _listeners(_listens(data, "artist"), song_artist)
    known = _of_song(counts, song_artist) >= (settings.min_listeners or _auto_min_listeners(counts, "artist"))
    return "song" if dense.sum() >= DENSE_SONGS and 2 * dense.sum() >= known.sum() else "artist"


def _listens(data: TrainingData, unit: str) -> sp.csc_array:
    """Return the boolean matrix listeners x units without explicit zeros or duplicates."""
    plays = data.artist_plays if unit == "artist" else data.song_plays
    assert plays is not None
    listens = sp.csc_array(plays).astype(bool)
    listens.sum_duplicates()
    listens.eliminate_zeros()
    return listens


def _listeners(plays: sp.csc_array, song_unit: Indices) -> Indices:
    """Return the number of listeners of each unit; 0 for units without songs."""
    with_songs = np.isin(np.arange(plays.shape[1]), song_unit)
    return np.where(with_songs, np.diff(plays.indptr), 0).astype(np.int64)


def _of_song(counts: Indices, song_unit: Indices) -> Indices:
    """Return the number of listeners of each song's unit; -1 if the artist is unknown."""
    return np.append(counts, -1)[song_unit]


def _auto_min_listeners(counts: npt.NDArray[Any], unit: str) -> int:
    for step in LISTENER_STEPS:
        if (counts >= step).sum() >= TARGET_UNITS[unit]:
            return step
    return 3 if (counts >= 3).sum() >= SCARCE_UNITS[unit] else MIN_LISTENERS


def _auto_n_relevant(n_artists: int, n_songs: int, unit: str) -> int:
    least, most, n = (2, 10, n_artists) if unit == "artist" else (5, 20, n_songs)
    return min(max(round(n / 20), least), most)


def _auto_n_splits(n_artists: int) -> int:
    return next((n for n, below in ((10, 60), (8, 150), (5, 300), (4, 501)) if n_artists < below), 3)
