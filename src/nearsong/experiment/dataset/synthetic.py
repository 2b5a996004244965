"""Parameters -> a synthetic data-set folder with a known truth: tastes determine both listening and sound.

Every artist has a taste, a point in a few dimensions near one or more genres. So does every user, who picks artists
with probability proportional to ``popularity * exp(-sharpness * |user - artist|^2 / 2)`` and plays close artists
more often. Songs scatter around their artist; :mod:`nearsong.experiment.dataset.synthetic_sound` makes their frames.
"""

import csv
import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.evaluation import scores_from_distances
from nearsong.experiment.dataset.synthetic_sound import SoundBank, vectors_of
from nearsong.types import FloatArray
from nearsong.validation import check_choice, check_count, check_in_range, check_positive

_GENRE_CONCENTRATION = 0.3  # Dirichlet parameter: below 1, most artists have one main genre
TASTE_STD = 0.6  # of artists around their genres, and of users around an artist they like
_LOG_PLAYS_STD = 1.2
_LOG_PLAYS_PER_AFFINITY = 0.5
_LOG_ARTISTS_STD = 0.7  # of the number of artists per user
_MIN_LOG_WEIGHT = -60.0  # relative to the largest weight of a user; smaller weights are clipped
BLOCK_ENTRIES = 1 << 22  # users x artists drawn together


@dataclass(frozen=True, eq=False)
class Truth:
    """The parameters behind a synthetic data set; rows in the order of ``Dataset.artists`` and ``Dataset.song_ids``.

    Attributes
    ----------
    taste : array of shape (n_artists, taste_dim)
        Artists close to each other share listeners.
    popularity : array of shape (n_artists,)
        Probability that a user without preferences picks the artist; sums to one.
    genre : array of int and shape (n_artists,)
        The main genre of each artist.
    song_taste : array of shape (n_songs, taste_dim)
        The taste of the artist plus a deviation.
    song_artist : array of int and shape (n_songs,)
        The artist of each song.
    """

    taste: FloatArray
    popularity: FloatArray
    genre: npt.NDArray[np.int64]
    song_taste: FloatArray
    song_artist: npt.NDArray[np.int64]

    def distances(self) -> FloatArray:
        """Return the squared distances (artists x artists) between tastes."""
        lengths = np.einsum("ij,ij->i", self.taste, self.taste)
        return np.asarray(np.maximum(lengths[:, None] + lengths - 2 * self.taste @ self.taste.T, 0.0))

    def auc(self, neighbors: npt.ArrayLike) -> float:
        """Return how well the true tastes rank given neighbours: the best possible result.

        Parameters
        ----------
        neighbors : array-like of int and shape (n_artists, k)
            The neighbours of each artist, padded with -1, as ``jaccard_neighbors`` returns them.

        Returns
        -------
        float
            Mean AUC of ranking all other artists by distance of taste.
        """
        ids = np.asarray(neighbors)
        relevant = np.zeros((len(self.taste), len(self.taste)), bool)
        rows, columns = np.nonzero(ids >= 0)
        relevant[rows, ids[rows, columns]] = True
        return scores_from_distances(self.distances(), relevant, np.eye(len(self.taste), dtype=bool)).auc


def make_dataset(
    folder: str | os.PathLike[str],
    *,
    n_artists: int = 60,
    songs_per_artist: tuple[int, int] | float = (1, 5),
    n_users: int = 500,
    artists_per_user: float | None = None,
    taste_dim: int = 4,
    n_genres: int = 6,
    sharpness: float = 1.0,
    popularity_exponent: float = 0.8,
    median_plays: float = 30.0,
    content: str = "frames",
    frames_per_song: int = 200,
    n_atoms: int = 32,
    sound_of_taste: float = 1.0,
    nuisance: float = 1.0,
    song_spread: float = 0.3,
    n_tags: int = 20,
    tag_noise: float = 0.5,
    seed: int = 0,
) -> Truth:
    """Write a synthetic data set to a new folder, as :class:`nearsong.experiment.Dataset` reads it.

    Parameters
    ----------
    folder : path-like
        Created if necessary; must be empty.
    n_artists, n_users : int
        Number of artists and users.
    songs_per_artist : (int, int) or float
        Range from which the number of songs of each artist is drawn uniformly; or the exact mean, every artist having
        at least one song.
    artists_per_user : float, optional
        Approximate mean number of artists per user, which is long-tailed; by default a fifth of them, at most 50.
    taste_dim, n_genres : int
        Dimensions of the taste space, and number of genres in it.
    sharpness : float
        How much tastes determine what users pick; with 0 only popularity does.
    popularity_exponent : float
        The r-th most popular artist has popularity r to the power of minus this.
    median_plays : float
        Median number of plays of an artist by a user who picked the artist.
    content : {"frames", "vectors"}
        Whether a song is a file of frames or a vector of ``n_atoms`` numbers.
    frames_per_song : int
        Frames per song.
    n_atoms : int
        Number of distinct sounds.
    sound_of_taste : float
        How strongly taste influences the sound; 0 means not at all.
    nuisance : float
        How strongly variation that is unrelated to taste influences the sound.
    song_spread : float
        Standard deviation of songs around their artist; that of artists is about 1 in every dimension.
    n_tags : int
        Number of tags, of which the first ``n_genres`` are genres; 0 for no file of tags.
    tag_noise : float
        Noise in the relation of tags to taste.
    seed : int
        The same seed gives the same bytes. Tastes and songs do not depend on the number of users.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = make_dataset(folder, n_artists=10, songs_per_artist=2.5, n_users=30, content="vectors")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['listens.csv.gz', 'songs.csv', 'tags.csv.gz', 'vector_columns.txt', 'vectors.npy']
    >>> truth.taste.shape, truth.song_taste.shape
    ((10, 4), (25, 4))
    """
    check_choice(content, "content", ("frames", "vectors"))
    check_count(n_genres, "n_genres")
    check_count(n_atoms, "n_atoms", 2)
    check_count(frames_per_song, "frames_per_song", 9)
    check_count(n_users, "n_users")
    for name, value in (
        ("sharpness", sharpness),
        ("popularity_exponent", popularity_exponent),
        ("sound_of_taste", sound_of_taste),
        ("nuisance", nuisance),
        ("song_spread", song_spread),
        ("tag_noise", tag_noise),
    ):
        _check_strength(value, name)
    check_positive(median_plays, "median_plays")
    check_count(n_artists, "n_artists", 2)
    listening = ListenerModel(
        artists_per_user=check_positive(
            min(n_artists / 5, 50.0) if artists_per_user is None else artists_per_user, "artists_per_user"
        ),
        sharpness=sharpness,
        median_plays=median_plays,
    )
    check_count(n_tags, "n_tags", 0)
    random = [np.random.default_rng(s) for s in np.random.SeedSequence(check_count(seed, "seed", 0)).spawn(5)]

    taste, genre, centres = _draw_artists(n_artists, check_count(taste_dim, "taste_dim"), n_genres, random[0])
    popularity = _draw_popularity(n_artists, popularity_exponent, random[0])
    song_artist = _draw_song_artists(n_artists, songs_per_artist, random[1])
    deviation = random[1].standard_normal((len(song_artist), taste_dim))
    truth = Truth(
        taste=taste,
        popularity=popularity,
        genre=genre,
        song_taste=taste[song_artist] + song_spread * deviation,
        song_artist=song_artist,
    )

    path = _new_folder(folder)
    bank = SoundBank.make(n_atoms, taste_dim)
    log_weights = bank.log_weights(truth.song_taste, sound_of_taste, nuisance, random[2])
    _write_songs(path, truth, content == "frames")
    if content == "frames":
        (path / "frames").mkdir()
        for i, row in enumerate(log_weights):
            np.save(path / _frames_name(i), bank.frames(row, frames_per_song, nuisance, random[2]))
    else:
        np.save(path / "vectors.npy", vectors_of(log_weights, random[2]))
        (path / "vector_columns.txt").write_bytes("".join(f"atom {i:02d}\n" for i in range(n_atoms)).encode())
    if n_tags:
        _write_tags(path, truth.song_taste, centres, n_tags, tag_noise, random[3])
    _write_listens(path, truth, n_users, listening, random[4])
    return truth


def _draw_artists(
    n_artists: int, dim: int, n_genres: int, random: np.random.Generator
) -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray]:
    """Return tastes with mean 0 and variance 1 in every dimension, main genres, and the centres of the genres."""
    centres = random.standard_normal((n_genres, dim))
    mix = random.dirichlet(np.full(n_genres, _GENRE_CONCENTRATION), n_artists)
    taste = mix @ centres + TASTE_STD * random.standard_normal((n_artists, dim))
    mean, scale = taste.mean(axis=0), taste.std(axis=0)
    return (taste - mean) / scale, np.argmax(mix, axis=1).astype(np.int64), (centres - mean) / scale


def _draw_popularity(n_artists: int, exponent: float, random: np.random.Generator) -> FloatArray:
    popularity = np.arange(1.0, n_artists + 1) ** -exponent
    return np.asarray(random.permutation(popularity / popularity.sum()))


def _draw_song_artists(n_artists: int, songs: Any, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the artist of each song, in order."""
    if isinstance(songs, tuple):
        if len(songs) != 2:
            raise InvalidInputError(f"songs_per_artist={songs!r} has {len(songs)} numbers; give (minimum, maximum).")
        low = check_count(songs[0], "minimum of songs_per_artist")
        high = check_count(songs[1], "maximum of songs_per_artist", low)
        counts = random.integers(low, high, n_artists, endpoint=True)
    else:
        more = round(n_artists * (check_in_range(songs, "songs_per_artist", 0, 1e6) - 1))
        if more < 0:
            raise InvalidInputError(f"songs_per_artist={songs!r} leaves artists without songs; give at least 1.")
        counts = 1 + random.multinomial(more, np.full(n_artists, 1 / n_artists))
    return np.repeat(np.arange(n_artists, dtype=np.int64), counts)


def _write_songs(folder: Path, truth: Truth, with_frames: bool) -> None:
    names = _artist_names(len(truth.taste))
    with (folder / "songs.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["song_id", "artist", "title", "genre", *(["frames"] if with_frames else [])])
        for i, artist in enumerate(truth.song_artist):
            fields = [f"s{i:06d}", names[artist], f"Song {i}", f"genre {truth.genre[artist]}"]
            rows.writerow([*fields, *([_frames_name(i)] if with_frames else [])])


def _write_tags(
    folder: Path, song_taste: FloatArray, centres: FloatArray, n_tags: int, noise: float, random: np.random.Generator
) -> None:
    """Assign each tag to the 5 to 30 % of songs that are farthest in its direction, with noise."""
    directions = random.standard_normal((n_tags, song_taste.shape[1]))
    n_genres = min(n_tags, len(centres))
    directions[:n_genres] = centres[:n_genres]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    strength = song_taste @ directions.T + noise * random.standard_normal((len(song_taste), n_tags))
    share = random.uniform(0.05, 0.3, n_tags)
    assigned = [column > np.quantile(column, 1 - s) for column, s in zip(strength.T, share, strict=True)]
    names = [f"genre {j}" if j < n_genres else f"mood {j - n_genres}" for j in range(n_tags)]
    with _open_gzip(folder / "tags.csv.gz") as file:
        file.write("song_id,tag\n")
        for song, tag in np.argwhere(np.transpose(assigned)):
            file.write(f"s{song:06d},{names[tag]}\n")


@dataclass(frozen=True, kw_only=True)
class ListenerModel:
    """How users pick and play artists; see :func:`make_dataset`."""

    artists_per_user: float
    sharpness: float
    median_plays: float


def _write_listens(
    folder: Path, truth: Truth, n_users: int, listening: ListenerModel, random: np.random.Generator
) -> None:
    """Draw users and their listens block by block."""
    names = _artist_names(len(truth.taste))
    block = max(1, BLOCK_ENTRIES // len(names))
    with _open_gzip(folder / "listens.csv.gz") as file:
        file.write("user,artist,plays\n")
        for start in range(0, n_users, block):
            size = min(block, n_users - start)
            user, artist, plays = draw_listens(truth, size, listening, random)
            fields = zip(
                (user + start).tolist(), map(names.__getitem__, artist.tolist()), plays.tolist(), strict=True
            )
            file.write("".join(map("u%07d,%s,%d\n".__mod__, fields)))


def draw_listens(
    truth: Truth, n_users: int, listening: ListenerModel, random: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return users, artists and numbers of plays of the listens of some users, ordered by user.

    Sampling without replacement: of independent exponential waiting times, with rates proportional to the
    probabilities of the artists, the n shortest are the picks.
    """
    n_artists, dim = truth.taste.shape
    liked = truth.taste[random.integers(n_artists, size=n_users)]
    users = liked + TASTE_STD * random.standard_normal((n_users, dim))
    mean_log = np.log(listening.artists_per_user) - _LOG_ARTISTS_STD**2 / 2
    picks = np.rint(random.lognormal(mean_log, _LOG_ARTISTS_STD, n_users)).clip(1, n_artists).astype(np.int64)

    lengths = np.einsum("ij,ij->i", truth.taste, truth.taste)
    # up to a constant per user
    affinity = (listening.sharpness * (users @ truth.taste.T - lengths / 2)).astype(np.float32)
    log_rates = affinity + np.log(truth.popularity).astype(np.float32)
    log_rates -= log_rates.max(axis=1, keepdims=True)
    times = random.standard_exponential(log_rates.shape, dtype=np.float32)
    times /= np.exp(np.maximum(log_rates, _MIN_LOG_WEIGHT, out=log_rates), out=log_rates)

    max_picks = int(picks.max())
    shortest = np.argpartition(times, max_picks - 1, axis=1)[:, :max_picks]
    order = np.argsort(np.take_along_axis(times, shortest, axis=1), axis=1, kind="stable")
    shortest = np.take_along_axis(shortest, order, axis=1)
    picked = np.arange(max_picks) < picks[:, None]
    fit = np.take_along_axis(affinity, shortest, axis=1)
    fit -= np.sum(fit, axis=1, keepdims=True, where=picked) / picks[:, None]
    user, artist = np.nonzero(picked)[0], shortest[picked]
    log_plays = np.log(listening.median_plays) + _LOG_PLAYS_PER_AFFINITY * fit[picked]
    plays = np.exp(log_plays + _LOG_PLAYS_STD * random.standard_normal(len(user)))
    return user, artist, np.ceil(plays.clip(1, 1e6)).astype(np.int64)


def _artist_names(n_artists: int) -> list[str]:
    width = len(str(n_artists - 1))  # fixed width, so that names sort like numbers
    return [f"artist {i:0{width}d}" for i in range(n_artists)]


def _frames_name(song: int) -> str:
    return f"frames/s{song:06d}.npy"


@contextmanager
def _open_gzip(path: Path) -> Iterator[IO[str]]:
    """Open a gzip file for writing text, without name and time in its header, so that its bytes are reproducible."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8", newline="\n") as text,
    ):
        yield text


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    path = Path(folder)
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise InvalidInputError(f"{path} is not empty; choose a new folder.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _check_strength(value: Any, name: str) -> None:
    if value != 0:
        check_positive(value, name)
