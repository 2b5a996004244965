"""A seed -> a month of simulated listening with a known truth, and what the same people discover in the week after.

A listener keeps to one style, mostly, and gets to know songs one after the other, popular artists sooner. What is
known is played again and again. Songs of another style are mostly left at once, those of the own style are sometimes
hearted.
"""

from dataclasses import dataclass

import numpy as np

N_LISTENERS = 48
DAYS, WEEK_DAYS = 30, 7
SONGS_IN_MONTH, SONGS_IN_WEEK = 10, 4
PLAYS_A_WEEK = 3
DAY_SECONDS = 86_400

_OWN_STYLE = 8.0  # how much more often a song of the own style is tried
_POPULARITY_EXPONENT = 0.8
_SKIP_SHARE = {True: 0.05, False: 0.7}  # by whether the style is the listener's own
_HEART_SHARE = 0.2


@dataclass(frozen=True)
class Play:
    """One song played by a listener, in seconds since the month began."""

    listener: str
    song: int
    time: int


@dataclass(frozen=True)
class Month:
    """What listeners do in a month, in order of time.

    Attributes
    ----------
    plays, skips, hearts : list of Play
        Songs played to their end, left at once, and hearted.
    discovered : dict of str to set of int
        The songs that each listener plays for the first time in the week after the month.
    """

    plays: list[Play]
    skips: list[Play]
    hearts: list[Play]
    discovered: dict[str, set[int]]

    def played_by(self, listener: str) -> set[int]:
        """Return the songs that a listener knows at the end of the month, skipped ones included."""
        return {play.song for play in self.plays + self.skips if play.listener == listener}


def simulate(song_style: np.ndarray, song_artist: np.ndarray, seed: int) -> Month:
    """Simulate listeners of songs whose styles and artists are given, both (n_songs,)."""
    random = np.random.default_rng([seed, 16])
    n_artists = int(song_artist.max()) + 1
    popularity = random.permutation(np.arange(1.0, n_artists + 1) ** -_POPULARITY_EXPONENT)[song_artist]
    month = Month(plays=[], skips=[], hearts=[], discovered={})
    for number in range(N_LISTENERS):
        own = song_style == number % (int(song_style.max()) + 1)
        _simulate_listener(month, f"listener {number:02}", own, popularity, random)
    for actions in (month.plays, month.skips, month.hearts):
        actions.sort(key=lambda play: play.time)
    return month


def _simulate_listener(
    month: Month, name: str, own: np.ndarray, popularity: np.ndarray, random: np.random.Generator
) -> None:
    chance = popularity * np.where(own, _OWN_STYLE, 1.0)
    tried = random.choice(len(own), SONGS_IN_MONTH + SONGS_IN_WEEK, replace=False, p=chance / chance.sum())
    skipped = random.random(len(tried)) < np.where(own[tried], _SKIP_SHARE[True], _SKIP_SHARE[False])
    first_day = np.sort(random.integers(0, DAYS - 1, SONGS_IN_MONTH))
    for song, day, left in zip(tried[:SONGS_IN_MONTH].tolist(), first_day.tolist(), skipped.tolist(), strict=False):
        if left:
            month.skips.append(Play(name, song, _moment(day, random)))
            continue
        n_plays = 1 + random.poisson(PLAYS_A_WEEK / SONGS_IN_MONTH * (DAYS - day) / WEEK_DAYS)
        days = [day, *random.integers(day, DAYS, n_plays - 1).tolist()]
        month.plays.extend(Play(name, song, _moment(at, random)) for at in days)
        if random.random() < _HEART_SHARE:
            month.hearts.append(Play(name, song, _moment(DAYS - 1, random)))
    later = zip(tried[SONGS_IN_MONTH:].tolist(), skipped[SONGS_IN_MONTH:].tolist(), strict=True)
    month.discovered[name] = {song for song, left in later if not left}


def _moment(day: int, random: np.random.Generator) -> int:
    return day * DAY_SECONDS + int(random.integers(DAY_SECONDS))
