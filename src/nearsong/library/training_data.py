"""Who listens to what -> who takes part in a training: which unit, which artists, which of their songs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.metric.oracles.kernel import LOSS_CODES
from nearsong.model.held_out import UNITS, Audience, Indices
from nearsong.validation import check_choice, check_count, check_positive, check_vectors

FloatArray = npt.NDArray[np.float64]

FEWEST_ARTISTS = 25
"""Artists that a training needs: ten to learn from, and as many to choose and to judge by."""

FEWEST_LISTENERS = 5
"""Listeners of two or more artists that a training needs."""

FEWEST_JUDGED = 10
"""Artists with a score, held out at one time or another, that it takes to say which metric is better."""

LISTENER_STEPS = (100, 50, 20, 10, 5, 3)
"""Listeners that artists may be asked to have; where the data is thin, 2."""

PLENTY = {"artist": 500, "song": 1000}
"""So many left are enough to ask for more listeners of each."""

SCARCE = {"artist": 40, "song": 200}
"""With fewer than this many that have 3 listeners, 2 are enough."""

DENSE_SONGS, DENSE_LISTENERS = 500, 10
"""From so many songs with so many listeners each, single songs can be learned from."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a training learns from, as arrays.

    Attributes
    ----------
    vectors : array of shape (n_songs, V)
        Histograms; rows may sum to 1 only roughly.
    song_artist : array of int and shape (n_songs,)
        Whose each song is, a column of ``artist_plays``; -1 when unknown.
    artist_plays : csr_array of shape (n_listeners, n_artists)
        Non-zero where a listener listens to an artist.
    song_plays : csr_array of shape (n_listeners, n_songs) or None
        The same for songs, if the histories name them.
    listeners : mapping of str to int
        How many of each kind they are, such as ``{"users": 3, "sessions": 312}``.
    song_ids : array of int and shape (n_songs,), optional
        What the report calls the songs; by default their rows.
    """

    vectors: npt.NDArray[Any]
    song_artist: npt.NDArray[Any]
    artist_plays: sp.csr_array
    song_plays: sp.csr_array | None = None
    listeners: Mapping[str, int] = field(default_factory=dict)
    song_ids: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        n_songs, n_artists = len(self.vectors), self.artist_plays.shape[1]
        for name, length in {
            "song_artist": len(self.song_artist),
            "song_ids": n_songs if self.song_ids is None else len(self.song_ids),
            "the columns of song_plays": n_songs if self.song_plays is None else self.song_plays.shape[1],
        }.items():
            if length != n_songs:
                raise InvalidInputError(f"{name} are {length} and the vectors {n_songs}; one a song is needed.")
        least, most = (int(f(self.song_artist)) if n_songs else -1 for f in (np.min, np.max))
        if not -1 <= least <= most < n_artists:
            raise InvalidInputError(
                f"song_artist goes from {least} to {most} and artist_plays has {n_artists} columns; use 0 to "
                f"{n_artists - 1}, or -1 for an unknown artist."
            )


@dataclass(frozen=True)
class TrainingSettings:
    """How to learn and to judge; None lets the data decide.

    Attributes
    ----------
    unit : {"auto", "artist", "song"}
        Whether to learn from who listens to which artists (as the paper does) or to which songs. ``auto`` takes songs
        where 500 of them have 10 listeners each and these are half of the songs that could be learned from.
    losses, Cs : tuples
        The metrics that validation chooses from.
    n_splits : int, optional
        How often artists are held out: by default 10 times with few artists, down to 3 times with more than 500.
    n_relevant : int, optional
        Units that are relevant to each: by default a twentieth of those that take part, 2 to 10 artists or 5 to 20
        songs.
    min_listeners : int, optional
        Listeners that make an artist, or song, known. By default the most of 100, 50, 20, 10, 5 and 3 that 500
        artists (1,000 songs) have, else 3; or 2, where fewer than 40 (200) have 3. More artists teach more than
        better known ones: on GTZAN, artists with 2 or more listeners taught as well as those with 3 and better than
        those with 10 or more (the same artists tested: AUC 0.754, 0.748, 0.742; never seen: 0.706, 0.704, 0.684).
    max_songs, songs_an_artist : int
        Most songs to learn from, in all and of an artist: what bounds the time. A song of every artist is taken
        before a second of any.
    seed : int
        Of samples, splits and intervals.
    tol, max_rounds : float, int
        When the fits end that validation chooses from.
    final_tol, final_max_rounds : float, int
        When the last fit ends, the one that is kept.
    """

    unit: str = "auto"
    losses: tuple[str, ...] = ("auc", "ndcg", "mrr")
    Cs: tuple[float, ...] = (1e1, 1e2, 1e3, 1e4, 1e5)
    n_splits: int | None = None
    n_relevant: int | None = None
    min_listeners: int | None = None
    max_songs: int = 2000
    songs_an_artist: int = 20
    seed: int = 0
    tol: float = 1e-2
    max_rounds: int = 40
    final_tol: float = 3e-3
    final_max_rounds: int = 100

    def __post_init__(self) -> None:
        check_choice(self.unit, "unit", ("auto", *UNITS))
        object.__setattr__(self, "losses", _each(self.losses, "losses"))
        object.__setattr__(self, "Cs", _each(self.Cs, "Cs"))
        for loss in self.losses:
            check_choice(loss, "loss", LOSS_CODES)
        for C in self.Cs:
            check_positive(C, "C")
        for name in ("n_splits", "n_relevant", "min_listeners"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        for name, least in {"max_songs": 2, "songs_an_artist": 1, "max_rounds": 3, "final_max_rounds": 3}.items():
            check_count(getattr(self, name), name, least)
        check_count(self.seed, "seed", minimum=0)
        for name in ("tol", "final_tol"):
            check_positive(getattr(self, name), name)


@dataclass(frozen=True, eq=False)
class Taught:
    """Who takes part.

    Attributes
    ----------
    songs : array of shape (n,)
        Their rows in the data.
    histograms : array of shape (n, V)
        Summing to 1.
    audience : Audience
        The same songs, their artists and listeners numbered anew; without listeners of a single unit.
    artists_known, songs_known : int
        Artists that are known well enough, and their songs; ``songs`` are some of these.
    min_listeners, n_relevant, n_splits : int
        As asked for, or as the data has it.
    """

    songs: Indices
    histograms: FloatArray
    audience: Audience
    artists_known: int
    songs_known: int
    min_listeners: int
    n_relevant: int
    n_splits: int

    @property
    def n_listeners(self) -> int:
        """Listeners of at least two units."""
        return int(self.audience.plays.shape[0])


def choose_taught(data: TrainingData, settings: TrainingSettings) -> Taught:
    """Choose unit, artists and songs by the rules of :class:`TrainingSettings`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong.library.training_data import TrainingData, TrainingSettings, choose_taught
    >>> random = np.random.default_rng(0)
    >>> data = TrainingData(
    ...     vectors=random.dirichlet(np.ones(8), size=60),
    ...     song_artist=np.arange(60) % 30,
    ...     artist_plays=sp.csr_array(random.random((50, 30)) < 0.3),
    ... )
    >>> taught = choose_taught(data, TrainingSettings())
    >>> taught.artists_known, len(taught.songs), taught.min_listeners, taught.n_relevant, taught.n_splits
    (30, 60, 2, 2, 10)
    """
    unit = _unit(data, settings)
    song_artist = np.asarray(data.song_artist, dtype=np.int64)
    plays = _listens(data, unit)
    whose = song_artist if unit == "artist" else np.where(song_artist >= 0, np.arange(len(song_artist)), -1)
    counts = _listeners(plays, whose)
    min_listeners = settings.min_listeners or _auto_min_listeners(counts, unit)
    taking_part = np.flatnonzero(_of_song(counts, whose) >= min_listeners)
    songs = sample_songs(song_artist, taking_part, settings)
    artists, number = np.unique(song_artist[songs], return_inverse=True)
    columns = sp.csr_array(plays[:, artists if unit == "artist" else songs])
    informative = np.flatnonzero(np.diff(columns.indptr) >= 2)
    audience = Audience(song_artist=number.astype(np.int64), plays=sp.csr_array(columns[informative]), unit=unit)
    return Taught(
        songs=songs,
        histograms=_histograms(data.vectors, songs),
        audience=audience,
        artists_known=len(np.unique(song_artist[taking_part])),
        songs_known=len(taking_part),
        min_listeners=min_listeners,
        n_relevant=settings.n_relevant or _auto_n_relevant(len(artists), len(songs), unit),
        n_splits=settings.n_splits or _auto_n_splits(len(artists)),
    )


def sample_songs(song_artist: Indices, taking_part: Indices, settings: TrainingSettings) -> Indices:
    """Return some of the songs that take part, ascending: a song of every artist before a second of any.

    Examples
    --------
    >>> import numpy as np
    >>> from nearsong.library.training_data import TrainingSettings, sample_songs
    >>> whose = np.array([0] * 90 + [1] * 2 + [2])
    >>> few = TrainingSettings(max_songs=6)
    >>> np.bincount(whose[sample_songs(whose, np.arange(93), few)])
    array([3, 2, 1])
    """
    random = np.random.default_rng([settings.seed, 23])
    shuffled = random.permutation(taking_part)
    order = np.argsort(song_artist[shuffled], kind="stable")
    of_artist = song_artist[shuffled][order]
    first = np.searchsorted(of_artist, of_artist, side="left")
    turn = np.empty(len(shuffled), dtype=np.int64)
    turn[order] = np.arange(len(shuffled)) - first  # how many songs of its artist come before a song
    by_turn = np.argsort(turn, kind="stable")
    chosen = by_turn[turn[by_turn] < settings.songs_an_artist][: settings.max_songs]
    return np.sort(shuffled[chosen])


def _unit(data: TrainingData, settings: TrainingSettings) -> str:
    if settings.unit == "song" and data.song_plays is None:
        raise InvalidInputError(
            "unit='song' needs listens that name songs of the library and these name artists only; use unit='artist'."
        )
    if settings.unit != "auto":
        return settings.unit
    if data.song_plays is None:
        return "artist"
    of_song = _listens(data, "song")
    whose = np.asarray(data.song_artist, dtype=np.int64)
    dense = (np.diff(of_song.indptr) >= (settings.min_listeners or DENSE_LISTENERS)) & (whose >= 0)
    counts = _listeners(_listens(data, "artist"), whose)
    known = _of_song(counts, whose) >= (settings.min_listeners or _auto_min_listeners(counts, "artist"))
    return "song" if dense.sum() >= DENSE_SONGS and 2 * dense.sum() >= known.sum() else "artist"


def _listens(data: TrainingData, unit: str) -> sp.csc_array:
    """Return who listens to which unit, without zeros or repetitions."""
    plays = data.artist_plays if unit == "artist" else data.song_plays
    assert plays is not None
    listens = sp.csc_array(plays).astype(bool)
    listens.sum_duplicates()
    listens.eliminate_zeros()
    return listens


def _listeners(plays: sp.csc_array, whose: Indices) -> Indices:
    """Return how many listeners each unit has; 0 for units without songs."""
    with_songs = np.isin(np.arange(plays.shape[1]), whose)
    return np.where(with_songs, np.diff(plays.indptr), 0).astype(np.int64)


def _of_song(counts: Indices, whose: Indices) -> Indices:
    """Return each song's number of listeners, -1 where it is not known whose the song is."""
    return np.append(counts, -1)[whose]


def _auto_min_listeners(counts: npt.NDArray[Any], unit: str) -> int:
    for step in LISTENER_STEPS:
        if (counts >= step).sum() >= PLENTY[unit]:
            return step
    return 3 if (counts >= 3).sum() >= SCARCE[unit] else 2


def _auto_n_relevant(n_artists: int, n_songs: int, unit: str) -> int:
    least, most, n = (2, 10, n_artists) if unit == "artist" else (5, 20, n_songs)
    return min(max(round(n / 20), least), most)


def _auto_n_splits(n_artists: int) -> int:
    return next((n for n, below in ((10, 60), (8, 150), (5, 300), (4, 501)) if n_artists < below), 3)


def _histograms(vectors: npt.NDArray[Any], songs: Indices) -> FloatArray:
    """Return songs' histograms in double precision, each summing to 1 as exactly as that can hold it."""
    if not len(songs):
        return np.empty((0, vectors.shape[1]))
    rows = check_vectors(vectors[songs], "vectors")
    sums = rows.sum(axis=1, keepdims=True)
    if rows.min() < 0 or sums.min() <= 0:
        raise InvalidInputError("a song's vector is empty or has a number below 0; histograms are needed: scan anew.")
    return np.asarray(rows / sums, dtype=np.float64)


def _each(values: Sequence[Any], name: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not len(values):
        raise InvalidInputError(f"{name}={values!r} is no list of at least one; give a tuple.")
    if len(set(values)) < len(values):
        raise InvalidInputError(f"{name} names a value twice; give each once.")
    return tuple(values)
