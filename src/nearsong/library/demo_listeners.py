"""Artists' tastes -> simulated listeners: who plays which song how often, and a few playlists.

A listener has a taste of their own, somewhere near a band they like, and picks artists with probability proportional
to ``popularity * exp(-sharpness * |listener - artist|^2 / 2)``. Popularity falls as in any catalogue: a few artists
are known to many, and most to few. Some artists have a song out that nobody has played yet.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SHARPNESS = 3.0  # how much taste decides
_POPULARITY_EXPONENT = 1.8  # the r-th best known artist has popularity r^-1.8
_KNOWN_SHARE = 0.8  # listeners are found near artists by popularity to this power
_OWN_WAY = 0.5  # how far a listener's taste is from an artist they like
_MEAN_ARTISTS, _ARTISTS_SPREAD = 11.0, 0.7  # artists that a listener plays; spread of the logarithm
_MEDIAN_PLAYS, _PLAYS_SPREAD = 40.0, 1.0  # of an artist, by a listener who picked the artist
_CARELESS = 0.06  # share of the listeners whose player writes names in lower case
_LONGEST_PLAYLIST = 15
_NEW_SINGLE = 3  # of so many artists one has a song that nobody has played yet


class SongName(NamedTuple):
    """A song as listening histories name it; ``path`` is relative to the folder of the playlists."""

    artist: str
    title: str
    path: str
    seconds: float


def zipf_popularity(n_artists: int, random: np.random.Generator) -> FloatArray:
    """Return how well known each artist is; sums to one.

    Examples
    --------
    >>> sorted(zipf_popularity(3, np.random.default_rng(0)).round(2).tolist())
    [0.1, 0.2, 0.7]
    """
    popularity = np.arange(1.0, n_artists + 1) ** -_POPULARITY_EXPONENT
    return np.asarray(random.permutation(popularity / popularity.sum()))


def draw_picks(
    tastes: FloatArray, popularity: FloatArray, n_listeners: int, random: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Draw what each listener plays.

    Parameters
    ----------
    tastes : array of shape (n_artists, d)
        Artists close to each other share listeners.
    popularity : array of shape (n_artists,)
        How likely each is to be picked by someone without preferences.
    n_listeners : int
        How many.
    random : Generator

    Returns
    -------
    list of arrays of int
        Each listener's artists, two at least if there are as many, the favourite first.
    """
    n_artists = len(tastes)
    known = popularity**_KNOWN_SHARE
    near = tastes[random.choice(n_artists, n_listeners, p=known / known.sum())]
    listeners = near + _OWN_WAY * random.standard_normal(near.shape)
    sizes = random.lognormal(np.log(_MEAN_ARTISTS) - _ARTISTS_SPREAD**2 / 2, _ARTISTS_SPREAD, n_listeners)
    sizes = np.rint(sizes).clip(min(2, n_artists), max(2, n_artists // 2)).astype(np.int64)
    distances = ((listeners[:, None] - tastes) ** 2).sum(axis=2)
    # of independent exponential waiting times, each with its own rate, the shortest n are n picks without replacement
    log_rates = np.log(popularity) - _SHARPNESS * distances / 2
    waiting = np.log(random.standard_exponential(distances.shape)) - log_rates
    order = np.argsort(waiting, axis=1, kind="stable")
    return [row[:size] for row, size in zip(order, sizes, strict=True)]


def new_singles(songs: Sequence[Sequence[SongName]]) -> dict[SongName, SongName]:
    """Choose the last song of every third artist, who keeps others, to be one that nobody has played yet.

    Returns
    -------
    dict
        From each such song to the one of the same artist that is played in its place. What artists have in common is
        not touched by it.

    Examples
    --------
    >>> songs = [[SongName("Can", title, f"{title}.mp3", 200.0) for title in ("Spoon", "Vitamin C", "Moonshake")]]
    >>> [(new.title, played.title) for new, played in new_singles(songs).items()]
    [('Moonshake', 'Vitamin C')]
    """
    return {own[-1]: own[-2] for own in songs[::_NEW_SINGLE] if len(own) > 1 and own[-1].path}


def write_listens(
    path: Path,
    names: Sequence[str],
    picks: Sequence[npt.NDArray[np.int64]],
    songs: Sequence[Sequence[SongName]],
    random: np.random.Generator,
    instead: Mapping[SongName, SongName],
) -> None:
    """Write a listening history: user, artist, title, plays.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        The listeners.
    picks : sequence of arrays of int
        Their artists.
    songs : sequence of sequences of SongName
        Of every artist; some are better known than others.
    random : Generator
    instead : mapping of SongName to SongName
        What is played in place of songs that nobody knows yet.
    """
    shares = [random.dirichlet(np.full(len(own), 1.5)) for own in songs]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["user", "artist", "title", "plays"])
        for name, artists in zip(names, picks, strict=True):
            careless = random.random() < _CARELESS
            for artist in artists:
                plays = int(np.ceil(random.lognormal(np.log(_MEDIAN_PLAYS), _PLAYS_SPREAD)))
                counts: Counter[SongName] = Counter()
                for song, count in zip(songs[artist], random.multinomial(plays, shares[artist]), strict=True):
                    counts[instead.get(song, song)] += int(count)
                for song, count in counts.items():
                    if count:
                        words = (song.artist, song.title)
                        rows.writerow([name, *(word.lower() if careless else word for word in words), count])


def write_playlists(
    folder: Path,
    names: Sequence[str],
    picks: Sequence[npt.NDArray[np.int64]],
    songs: Sequence[Sequence[SongName]],
    random: np.random.Generator,
    instead: Mapping[SongName, SongName],
) -> list[Path]:
    """Write a playlist (M3U8 with relative paths) for each name: songs of the artists picked for it, mixed up.

    Parameters as in :func:`write_listens`; ``names`` are the playlists'.
    """
    folder.mkdir()
    paths = []
    for name, artists in zip(names, picks, strict=True):
        candidates = [song for artist in artists for song in songs[artist] if song.path]
        drawn = [candidates[i] for i in random.permutation(len(candidates))[:_LONGEST_PLAYLIST]]
        chosen = dict.fromkeys(instead.get(song, song) for song in drawn)  # each once
        lines = ["#EXTM3U", f"#PLAYLIST:{name}"]
        for song in chosen:
            lines += [f"#EXTINF:{round(song.seconds)},{song.artist} - {song.title}", song.path]
        paths.append(folder / f"{name}.m3u8")
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return paths
