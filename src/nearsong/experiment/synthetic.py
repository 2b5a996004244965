"""A known truth -> a data-set folder of any size: tastes make listeners choose artists, and show in the sound.

Every artist has a taste, a point in a few dimensions near one or more genres. So has every user, who picks artists
with probability proportional to ``popularity * exp(-sharpness * |user - artist|^2 / 2)`` and plays those close by
more often. Songs scatter about their artist; :mod:`nearsong.experiment.synthetic_sound` makes them heard.
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
from nearsong.experiment.synthetic_sound import SoundBank, vectors_of
from nearsong.validation import check_choice, check_count, check_in_range, check_positive

FloatArray = npt.NDArray[np.float64]

_GENRE_MIX = 0.3  # parameter of a Dirichlet distribution: below 1, most artists lean to one genre
_OWN_WAY = 0.6  # how far artists are from their genres, and users from an artist they like
_PLAYS_SPREAD = 1.2  # of the logarithm of play counts
_PLAYS_OF_TASTE = 0.5  # how much more an artist that suits is played
_SHARE_OF_ARTISTS = 0.7  # spread of the logarithm of how many artists a user plays
_LEAST_LOG = 60.0  # weights below exp(-60) of a user's largest are all the same
_ENTRIES = 1 << 22  # users x artists looked at together


@dataclass(frozen=True, eq=False)
class Truth:
    """What a made-up data set was made from; rows are in the order of ``Dataset.artists`` and ``Dataset.song_ids``.

    Attributes
    ----------
    taste : array of shape (n_artists, taste_dim)
        Artists close to each other share listeners.
    popularity : array of shape (n_artists,)
        How likely an artist is to be picked by someone without preferences; sums to one.
    genre : array of int and shape (n_artists,)
        The genre an artist leans to most.
    song_taste : array of shape (n_songs, taste_dim)
        The artist's, and a deviation.
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
        """Return how well tastes rank given neighbours: what the best of ears could reach.

        Parameters
        ----------
        neighbors : array-like of int and shape (n_artists, k)
            Each artist's neighbours, padded with -1, as ``jaccard_neighbors`` returns them.

        Returns
        -------
        float
            Mean AUC over artists of the ranking of all other artists by distance of taste.
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
    """Make up a data set and write it into a new folder, as :class:`nearsong.experiment.Dataset` reads it.

    Parameters
    ----------
    folder : path-like
        Made if it is not there; must be empty.
    n_artists, n_users : int
        How many.
    songs_per_artist : (int, int) or float
        Each artist has from the first to the second number of songs, all equally likely; or one number: their mean,
        met exactly, every artist having at least one.
    artists_per_user : float, optional
        About the mean number of artists a user plays, which is long-tailed; by default a fifth of them, at most 50.
    taste_dim, n_genres : int
        Dimensions of tastes, and genres in them.
    sharpness : float
        How much tastes decide what users pick; 0 leaves popularity alone.
    popularity_exponent : float
        The r-th most popular artist has popularity r to the power of minus this.
    median_plays : float
        Median play count of an artist by a user who picked the artist.
    content : {"frames", "vectors"}
        Whether a song is heard through its frames or is a vector of ``n_atoms`` numbers.
    frames_per_song : int
        Frames of every song.
    n_atoms : int
        Different sounds there are.
    sound_of_taste : float
        How strongly the taste shows in the sound; 0 is not at all.
    nuisance : float
        How strongly something else does that has nothing to do with taste.
    song_spread : float
        How far songs are from their artist; artists are about 1 from each other in every dimension.
    n_tags : int
        Tags, the first ``n_genres`` of them genres; 0 for no file of tags.
    tag_noise : float
        How far tags are from being a function of taste.
    seed : int
        The same seed gives the same bytes. Tastes and songs do not depend on the number of users.

    Returns
    -------
    Truth

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
    played = check_positive(
        min(n_artists / 5, 50.0) if artists_per_user is None else artists_per_user, "artists_per_user"
    )
    check_count(n_tags, "n_tags", 0)
    random = [np.random.default_rng(s) for s in np.random.SeedSequence(check_count(seed, "seed", 0)).spawn(5)]

    taste, genre, centres = _draw_artists(n_artists, check_count(taste_dim, "taste_dim"), n_genres, random[0])
    popularity = _draw_popularity(n_artists, popularity_exponent, random[0])
    song_artist = _draw_song_artists(n_artists, songs_per_artist, random[1])
    deviation = random[1].standard_normal((len(song_artist), taste_dim))
    truth = Truth(taste, popularity, genre, taste[song_artist] + song_spread * deviation, song_artist)

    place = _new_folder(folder)
    bank = SoundBank.make(n_atoms, taste_dim)
    amounts = bank.amounts(truth.song_taste, sound_of_taste, nuisance, random[2])
    _write_songs(place, truth, content == "frames")
    if content == "frames":
        (place / "frames").mkdir()
        for i, row in enumerate(amounts):
            np.save(place / _frames_name(i), bank.frames(row, frames_per_song, nuisance, random[2]))
    else:
        np.save(place / "vectors.npy", vectors_of(amounts, random[2]))
        (place / "vector_columns.txt").write_bytes("".join(f"atom {i:02d}\n" for i in range(n_atoms)).encode())
    if n_tags:
        _write_tags(place, truth.song_taste, centres, n_tags, tag_noise, random[3])
    _write_listens(place, truth, n_users, played, sharpness, median_plays, random[4])
    return truth


def _draw_artists(
    n_artists: int, dim: int, n_genres: int, random: np.random.Generator
) -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray]:
    """Return tastes of mean 0 and variance 1 in every dimension, the main genre of each, and the genres' centres."""
    centres = random.standard_normal((n_genres, dim))
    mix = random.dirichlet(np.full(n_genres, _GENRE_MIX), n_artists)
    taste = mix @ centres + _OWN_WAY * random.standard_normal((n_artists, dim))
    mean, scale = taste.mean(axis=0), taste.std(axis=0)
    return (taste - mean) / scale, np.argmax(mix, axis=1).astype(np.int64), (centres - mean) / scale


def _draw_popularity(n_artists: int, exponent: float, random: np.random.Generator) -> FloatArray:
    popularity = np.arange(1.0, n_artists + 1) ** -exponent
    return np.asarray(random.permutation(popularity / popularity.sum()))


def _draw_song_artists(n_artists: int, songs: Any, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the artist of each song, in order."""
    if isinstance(songs, tuple):
        if len(songs) != 2:
            raise InvalidInputError(f"songs_per_artist={songs!r} has {len(songs)} numbers; give (fewest, most).")
        fewest = check_count(songs[0], "fewest songs of an artist")
        counts = random.integers(
            fewest, check_count(songs[1], "most songs of an artist", fewest), n_artists, endpoint=True
        )
    else:
        more = round(n_artists * (check_in_range(songs, "songs_per_artist", 0, 1e6) - 1))
        if more < 0:
            raise InvalidInputError(f"songs_per_artist={songs!r} leaves artists without a song; give at least 1.")
        counts = 1 + random.multinomial(more, np.full(n_artists, 1 / n_artists))
    return np.repeat(np.arange(n_artists, dtype=np.int64), counts)


def _write_songs(place: Path, truth: Truth, with_frames: bool) -> None:
    names = _artist_names(len(truth.taste))
    with (place / "songs.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["song_id", "artist", "title", "genre", *(["frames"] if with_frames else [])])
        for i, artist in enumerate(truth.song_artist):
            fields = [f"s{i:06d}", names[artist], f"Song {i}", f"genre {truth.genre[artist]}"]
            rows.writerow([*fields, *([_frames_name(i)] if with_frames else [])])


def _write_tags(
    place: Path, song_taste: FloatArray, centres: FloatArray, n_tags: int, noise: float, random: np.random.Generator
) -> None:
    """Give each tag to the songs that lie farthest in its direction, more or less: from 5 to 30 % of them."""
    directions = random.standard_normal((n_tags, song_taste.shape[1]))
    n_genres = min(n_tags, len(centres))
    directions[:n_genres] = centres[:n_genres]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    leaning = song_taste @ directions.T + noise * random.standard_normal((len(song_taste), n_tags))
    share = random.uniform(0.05, 0.3, n_tags)
    given = [column > np.quantile(column, 1 - s) for column, s in zip(leaning.T, share, strict=True)]
    names = [f"genre {j}" if j < n_genres else f"mood {j - n_genres}" for j in range(n_tags)]
    with _packed(place / "tags.csv.gz") as file:
        file.write("song_id,tag\n")
        for song, tag in np.argwhere(np.transpose(given)):
            file.write(f"s{song:06d},{names[tag]}\n")


def _write_listens(
    place: Path,
    truth: Truth,
    n_users: int,
    artists_per_user: float,
    sharpness: float,
    median_plays: float,
    random: np.random.Generator,
) -> None:
    """Draw users and what they play, some of them at a time."""
    names = _artist_names(len(truth.taste))
    block = max(1, _ENTRIES // len(names))
    with _packed(place / "listens.csv.gz") as file:
        file.write("user,artist,plays\n")
        for start in range(0, n_users, block):
            size = min(block, n_users - start)
            user, artist, plays = _draw_listens(truth, size, artists_per_user, sharpness, median_plays, random)
            fields = zip(
                (user + start).tolist(), map(names.__getitem__, artist.tolist()), plays.tolist(), strict=True
            )
            file.write("".join(map("u%07d,%s,%d\n".__mod__, fields)))


def _draw_listens(
    truth: Truth,
    n_users: int,
    artists_per_user: float,
    sharpness: float,
    median_plays: float,
    random: np.random.Generator,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Draw listens of some users: who, to whom and how often, in the order of the users.

    Picking without replacement: of independent exponential waiting times, each artist's with a rate proportional to
    the probability of being picked, the shortest n are the picks.
    """
    n_artists, dim = truth.taste.shape
    liked = truth.taste[random.integers(n_artists, size=n_users)]
    users = liked + _OWN_WAY * random.standard_normal((n_users, dim))
    typical = np.log(artists_per_user) - _SHARE_OF_ARTISTS**2 / 2
    picks = np.rint(random.lognormal(typical, _SHARE_OF_ARTISTS, n_users)).clip(1, n_artists).astype(np.int64)

    lengths = np.einsum("ij,ij->i", truth.taste, truth.taste)
    affinity = (sharpness * (users @ truth.taste.T - lengths / 2)).astype(np.float32)  # up to a constant a user
    log_rates = affinity + np.log(truth.popularity).astype(np.float32)
    log_rates -= log_rates.max(axis=1, keepdims=True)
    waiting = random.standard_exponential(log_rates.shape, dtype=np.float32)
    waiting /= np.exp(np.maximum(log_rates, -_LEAST_LOG, out=log_rates), out=log_rates)

    most = int(picks.max())
    nearest = np.argpartition(waiting, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(waiting, nearest, axis=1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, axis=1)
    picked = np.arange(most) < picks[:, None]
    suits = np.take_along_axis(affinity, nearest, axis=1)
    suits -= np.sum(suits, axis=1, keepdims=True, where=picked) / picks[:, None]
    user, artist = np.nonzero(picked)[0], nearest[picked]
    log_plays = np.log(median_plays) + _PLAYS_OF_TASTE * suits[picked]
    plays = np.exp(log_plays + _PLAYS_SPREAD * random.standard_normal(len(user)))
    return user, artist, np.ceil(plays.clip(1, 1e6)).astype(np.int64)


def _artist_names(n_artists: int) -> list[str]:
    width = len(str(n_artists - 1))  # so that their order is the order of the names
    return [f"artist {i:0{width}d}" for i in range(n_artists)]


def _frames_name(song: int) -> str:
    return f"frames/s{song:06d}.npy"


@contextmanager
def _packed(path: Path) -> Iterator[IO[str]]:
    """Open a gzip file for text; neither its name nor the time goes into it."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8", newline="\n") as text,
    ):
        yield text


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise InvalidInputError(f"{place} is not empty; a made-up data set needs a new folder.")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _check_strength(value: Any, name: str) -> None:
    if value != 0:
        check_positive(value, name)
