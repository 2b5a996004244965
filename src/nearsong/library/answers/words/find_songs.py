"""A few words and the tags of all songs -> the songs that the words describe best."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.answers.words.song_words import SongWords
from nearsong.library.answers.words.word_match import match_words
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.names import count
from nearsong.validation import check_count

Mask = npt.NDArray[np.bool_]

INSTALL_ADVICE = "run `nearsong encoders install musicnn`, `nearsong encoders add musicnn`, then `nearsong scan`."
"""How to get an encoder with words."""


@dataclass(frozen=True)
class FoundSong:
    """A song that some words describe.

    Attributes
    ----------
    song : Song
    probability : float
        The probability that all words fit, as if they were independent.
    tags : dict of str to float
        The probability of each tag that was asked for.
    share : float
        The share of the library's songs that the words fit less.
    """

    song: Song
    probability: float
    tags: dict[str, float]
    share: float


@dataclass(frozen=True)
class FoundByWords:
    """The songs that some words describe, the best first.

    Attributes
    ----------
    songs : tuple of FoundSong
    wanted, unwanted : tuple of str
        Tags that the words mean.
    unknown : tuple of str
        Words that the encoder has no tag for.
    encoder : str
        Name of the encoder.
    known : tuple of str
        All its tags.
    not_analysed : int
        Songs without a vector of the encoder, which cannot be found.
    """

    songs: tuple[FoundSong, ...]
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    unknown: tuple[str, ...]
    encoder: str
    known: tuple[str, ...]
    not_analysed: int

    def notes(self) -> list[str]:
        """Return what was not understood or not analysed, in words."""
        lines = []
        if self.unknown:
            lines.append(_unknown_note(self.encoder, self.unknown, self.known))
        if self.not_analysed:
            songs = count(self.not_analysed, "song is", "songs are")
            lines.append(f"{songs} not analysed by {self.encoder} yet; run `nearsong scan`.")
        return lines


def find_songs(
    space: Space,
    words: SongWords | None,
    text: str,
    n: int = 10,
    *,
    allowed: Mask | None = None,
    one_per_artist: bool = False,
) -> FoundByWords:
    """Rank the songs of a library by some words.

    Parameters
    ----------
    space : Space
    words : SongWords or None
        The tags of its songs; None if no encoder of the library has tags.
    text : str
        Words; see :func:`~nearsong.library.answers.words.word_match.match_words`.
    n : int, default=10
        At most this many songs.
    allowed : array of bool and shape (n_songs,), optional
        Mask of the space's songs that may be found.
    one_per_artist : bool, default=False
        Only the best song of each artist.

    Raises
    ------
    InvalidInputError
        If the encoder has a tag for none of the words, or there is no such encoder.
    """
    check_count(n, "n")
    if words is None or not len(words.ids):
        raise InvalidInputError(f"No encoder of the library knows words; {INSTALL_ADVICE}")
    match = match_words(text, words.names)
    if not match.wanted and not match.unwanted:
        raise InvalidInputError(_unknown_note(words.encoder, match.unknown, words.names))
    columns = [*match.wanted, *match.unwanted]
    rows = words.probabilities[:, columns].astype(np.float64)
    fits = np.hstack([rows[:, : len(match.wanted)], 1 - rows[:, len(match.wanted) :]])
    joint = np.prod(fits, axis=1)
    shares = np.searchsorted(np.sort(joint), joint) / len(joint)
    songs = _best(space, words.ids[np.lexsort((words.ids, -joint))], n, allowed, one_per_artist)
    row_of = {int(song): row for row, song in enumerate(words.ids)}
    found = []
    for song in songs:
        row = row_of[song.id]
        tags = {words.names[column]: float(value) for column, value in zip(columns, rows[row], strict=True)}
        found.append(FoundSong(song, float(joint[row]), tags, float(shares[row])))
    return FoundByWords(
        songs=tuple(found),
        wanted=tuple(words.names[tag] for tag in match.wanted),
        unwanted=tuple(words.names[tag] for tag in match.unwanted),
        unknown=match.unknown,
        encoder=words.encoder,
        known=words.names,
        not_analysed=len(space.songs) - len(words.ids),
    )


def _best(space: Space, ids: npt.NDArray[np.int64], n: int, allowed: Mask | None, one_per_artist: bool) -> list[Song]:
    """Return the first n songs of a ranking that may be found."""
    chosen: list[Song] = []
    artists: set[str] = set()
    for song_id in ids.tolist():
        row = space.row_of.get(song_id)
        if row is None or (allowed is not None and not allowed[row]):
            continue
        song = space.songs[row]
        if one_per_artist and song.artist_key in artists:
            continue
        if song.artist_key:
            artists.add(song.artist_key)
        chosen.append(song)
        if len(chosen) == n:
            break
    return chosen


def _unknown_note(encoder: str, unknown: tuple[str, ...], known: tuple[str, ...]) -> str:
    return f"{encoder} does not know {', '.join(map(repr, unknown))}; it knows: {', '.join(known)}."
