"""Tastes of artists -> simulated listeners: play counts and a few playlists.

A listener has a taste near that of an artist they like, and picks artists with probability proportional to
``popularity * exp(-sharpness * |listener - artist|^2 / 2)``. Popularity follows a power law: most listeners know a
few artists. Some artists have a new song that nobody has played yet.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearsong.types import FloatArray

_SHARPNESS = 3.0  # influence of taste
_POPULARITY_EXPONENT = 1.8  # the r-th most popular artist has popularity r^-1.8
_SEED_EXPONENT = 0.8  # a listener is near an artist drawn by popularity to this power
_TASTE_SPREAD = 0.5  # of listeners around that artist
_MEAN_ARTISTS, _ARTISTS_SPREAD = 11.0, 0.7  # artists per listener; spread of the logarithm
_MEDIAN_PLAYS, _PLAYS_SPREAD = 40.0, 1.0  # plays of an artist by a listener who picked the artist
_LOWER_CASE_SHARE = 0.06  # of the listeners, whose player writes names in lower case
_MAX_PLAYLIST_SONGS = 15
_NEW_SINGLE_EVERY = 3  # artists: one in three has a song that nobody has played yet


class SongName(NamedTuple):
    """A song as named in listening histories; ``path`` is relative to the folder of the playlists."""

    artist: str
    title: str
    path: str
    seconds: float


def zipf_popularity(n_artists: int, random: np.random.Generator) -> FloatArray:
    """Return the popularity of each artist; sums to one.

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
    """Draw the artists of each listener.

    Parameters
    ----------
    tastes : array of shape (n_artists, d)
        Artists with similar tastes share listeners.
    popularity : array of shape (n_artists,)
        Probability of each artist for a listener without preferences.
    n_listeners : int
    random : Generator

    Returns
    -------
    list of arrays of int
        The artists of each listener, at least two if there are as many, the favourite first.
    """
    n_artists = len(tastes)
    weights = popularity**_SEED_EXPONENT
    centres = tastes[random.choice(n_artists, n_listeners, p=weights / weights.sum())]
    listeners = centres + _TASTE_SPREAD * random.standard_normal(centres.shape)
    sizes = random.lognormal(np.log(_MEAN_ARTISTS) - _ARTISTS_SPREAD**2 / 2, _ARTISTS_SPREAD, n_listeners)
    sizes = np.rint(sizes).clip(min(2, n_artists), max(2, n_artists // 2)).astype(np.int64)
    distances = ((listeners[:, None] - tastes) ** 2).sum(axis=2)
    # the n smallest of independent exponential variables with different rates are n picks without replacement
    log_rates = np.log(popularity) - _SHARPNESS * distances / 2
    waiting = np.log(random.standard_exponential(distances.shape)) - log_rates
    order = np.argsort(waiting, axis=1, kind="stable")
    return [row[:size] for row, size in zip(order, sizes, strict=True)]


def new_singles(songs: Sequence[Sequence[SongName]]) -> dict[SongName, SongName]:
    """Choose the last song of every third artist with several songs as a single that nobody has played yet.

    Returns
    -------
    dict
        From each single to the song of the same artist that is played instead, so that plays per artist do not
        change.

    Examples
    --------
    >>> songs = [[SongName("Can", title, f"{title}.mp3", 200.0) for title in ("Spoon", "Vitamin C", "Moonshake")]]
    >>> [(new.title, played.title) for new, played in new_singles(songs).items()]
    [('Moonshake', 'Vitamin C')]
    """
    return {own[-1]: own[-2] for own in songs[::_NEW_SINGLE_EVERY] if len(own) > 1 and own[-1].path}


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
        Names of the listeners.
    picks : sequence of arrays of int
        Their artists.
    songs : sequence of sequences of SongName
        The songs of every artist.
    random : Generator
    instead : mapping of SongName to SongName
        The songs that are played instead of new singles.
    """
    shares = [random.dirichlet(np.full(len(own), 1.5)) for own in songs]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["user", "artist", "title", "plays"])
        for name, artists in zip(names, picks, strict=True):
            lower_case = random.random() < _LOWER_CASE_SHARE
            for artist in artists:
                plays = int(np.ceil(random.lognormal(np.log(_MEDIAN_PLAYS), _PLAYS_SPREAD)))
                counts: Counter[SongName] = Counter()
                for song, count in zip(songs[artist], random.multinomial(plays, shares[artist]), strict=True):
                    counts[instead.get(song, song)] += int(count)
                for song, count in counts.items():
                    if count:
                        names_played = (song.artist, song.title)
                        rows.writerow([name, *(text.lower() if lower_case else text for text in names_played), count])


def write_playlists(
    folder: Path,
    names: Sequence[str],
    picks: Sequence[npt.NDArray[np.int64]],
    songs: Sequence[Sequence[SongName]],
    random: np.random.Generator,
    instead: Mapping[SongName, SongName],
) -> list[Path]:
    """Write a playlist (M3U8 with relative paths) for each name, with songs of its artists in random order.

    Parameters as in `write_listens`; ``names`` are those of the playlists.
    """
    folder.mkdir()
    paths = []
    for name, artists in zip(names, picks, strict=True):
        candidates = [song for artist in artists for song in songs[artist] if song.path]
        drawn = [candidates[i] for i in random.permutation(len(candidates))[:_MAX_PLAYLIST_SONGS]]
        chosen = dict.fromkeys(instead.get(song, song) for song in drawn)  # without duplicates
        lines = ["#EXTM3U", f"#PLAYLIST:{name}"]
        for song in chosen:
            lines += [f"#EXTINF:{round(song.seconds)},{song.artist} - {song.title}", song.path]
        paths.append(folder / f"{name}.m3u8")
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return paths
