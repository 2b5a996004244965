"""Seeds and what was just played, liked or skipped -> the next songs of a radio that never ends."""

from collections.abc import Sequence

import numpy as np

from nearsong.library.answers.filters import FilterContext, Filters
from nearsong.library.answers.recommending.known_songs import KnownSongs, Mask
from nearsong.library.answers.recommending.recommender import Recommender
from nearsong.library.answers.recommending.records import Recommendation
from nearsong.library.answers.recommending.surprise import check_surprise, surprising_rows, wants_unknown
from nearsong.library.answers.seeds import Seed, check_seeds, seed_of_song
from nearsong.library.neighbours.space import Space
from nearsong.recommendation import Taste, nearest_liked, pulls, strongest_rows, taste_scores
from nearsong.types import FloatArray
from nearsong.validation import check_count

REACTION_WEIGHTS = {"played": 0.5, "liked": 1.0, "skipped": -0.25}
"""What a song that the radio played is worth, compared with all seeds together."""

FORGETTING = 0.9
"""With each further song, those before count this much less; seeds never do."""

REMEMBERED_SONGS = 50
"""So many of the latest songs count; those before are only not repeated."""

LISTENER_SHARE = 0.25
"""Weight of the taste of the listener, compared with the seeds."""

ARTIST_GAP = 4
"""No artist occurs twice within this many consecutive songs, if there are others."""

DRAWN_SHARE = 0.8
"""The next song is one of some of the best, so that another seed gives another radio, if their scores are at least
this share of the first's."""


def next_songs(
    recommender: Recommender,
    seeds: Sequence[Seed],
    heard: Sequence[tuple[Seed, str]],
    n: int,
    filters: Filters,
    *,
    known: KnownSongs | None = None,
    surprise: float = 0.0,
    seed: int = 0,
) -> list[Recommendation]:
    """Return the next songs of a radio.

    Parameters
    ----------
    recommender : Recommender
    seeds : sequence of Seed
        What the radio started from.
    heard : sequence of (Seed, str)
        What it played, the latest last, each "played", "liked" or "skipped".
    n : int
        Number of songs; later ones are chosen as if those before were played.
    filters : Filters
        ``one_per_artist``: no artist twice, until all were there.
    known : KnownSongs, optional
        What the listener thinks of the songs; what they dislike is left out.
    surprise : float
        From 0, the nearest songs, to 1, far ones that the listener does not know.
    seed : int
        Of the random generator; the same seed gives the same radio.

    Returns
    -------
    list of Recommendation
        Of n songs. Nothing is repeated until all songs were played, then what was played longest ago. Empty if no
        song passes the filters.
    """
    check_count(n, "n")
    check_count(seed, "seed", minimum=0)
    check_surprise(surprise)
    check_seeds([*seeds, *(song for song, reaction in heard if reaction != "skipped")])
    playing = _Radio(recommender, seeds, heard, filters=filters, known=known, surprise=surprise)
    songs = []
    for number in range(len(heard), len(heard) + n):
        row = playing.choose(seed, number)
        if row is None:
            break
        songs.append(playing.recommendation(row))
        playing.take(row)
    return songs


class _Radio:
    """A radio in progress: scores change with each song."""

    def __init__(
        self,
        recommender: Recommender,
        seeds: Sequence[Seed],
        heard: Sequence[tuple[Seed, str]],
        *,
        filters: Filters,
        known: KnownSongs | None,
        surprise: float,
    ) -> None:
        self._recommender, self._space = recommender, recommender.space
        self._gap = len(self._space.songs) if filters.one_per_artist else ARTIST_GAP
        self._surprise = surprise
        self._known = _known_songs(recommender, known)
        self._allowed = _allowed(self._space, recommender, seeds, filters, known)
        self._base = self._pull(seeds, np.full(len(seeds), 1.0 / max(len(seeds), 1)))
        if known is not None and known.weights.any():
            points = strongest_rows(known.weights)
            taste = Taste(self._space.embeddings[points], known.weights[points])
            self._base += LISTENER_SHARE * taste_scores(self._space.embeddings, taste, recommender.typical)
        latest = heard[-REMEMBERED_SONGS:]
        worth = np.array([REACTION_WEIGHTS[reaction] for _, reaction in latest])
        self._reacted = self._pull([song for song, _ in latest], worth * FORGETTING ** np.arange(len(latest))[::-1])
        songs = [seed.song for seed in (*seeds, *(song for song, _ in heard))]
        self._played = [self._space.row_of[song.id] for song in songs if song is not None]
        self._liked = [*seeds, *(song for song, reaction in heard if reaction == "liked")] or [
            song for song, reaction in heard if reaction == "played"
        ]

    def take(self, row: int) -> None:
        """Remember a song that is played next."""
        song = seed_of_song(self._space, self._space.songs[row])
        self._reacted = FORGETTING * self._reacted + self._pull([song], np.array([REACTION_WEIGHTS["played"]]))
        self._played.append(row)

    def choose(self, seed: int, number: int) -> int | None:
        """Return the song of this number of the radio; None if no song passes the filters."""
        played = np.zeros(len(self._allowed), bool)
        played[self._played] = True
        new = self._allowed & ~self._recommender.copies_of(played)
        if not new.any():
            return self._longest_ago()
        artists = self._space.artists
        recent = {int(artists[row]) for row in self._played[max(0, len(self._played) - self._gap + 1) :]} - {-1}
        others = new & ~np.isin(artists, list(recent))
        scores = self._base + self._reacted
        unknown = ~self._known if wants_unknown(self._surprise, seed, number) else None
        best = surprising_rows(scores, others if others.any() else new, self._surprise, unknown)
        near = best[scores[best] >= min(DRAWN_SHARE * scores[best[0]], scores[best[0]])]
        return int(np.random.default_rng([seed, number]).choice(near))

    def recommendation(self, row: int) -> Recommendation:
        """Return a song as a recommendation, with the nearest seed or liked song."""
        points = np.array([seed.embedding for seed in self._liked])
        (point,) = nearest_liked(self._space.embeddings[[row]], Taste(points, np.ones(len(points))))
        score = float(self._base[row] + self._reacted[row])
        return Recommendation(self._space.songs[row], score, self._liked[point].song)

    def _longest_ago(self) -> int | None:
        """Return the allowed song that was played longest ago."""
        latest = {row: position for position, row in enumerate(self._played) if self._allowed[row]}
        return min(latest, key=lambda row: latest[row], default=None)

    def _pull(self, points: Sequence[Seed], weights: FloatArray) -> FloatArray:
        """Return the sum of the pulls of points on all songs, (n_songs,)."""
        if not points:
            return np.zeros(len(self._space.songs))
        taste = Taste(np.array([point.embedding for point in points], dtype=np.float32), weights)
        liked, disliked = pulls(self._space.embeddings, taste, self._recommender.typical)
        return liked - disliked


def _known_songs(recommender: Recommender, known: KnownSongs | None) -> Mask:
    """Return a mask of the songs that the listener knows, with their copies."""
    return np.zeros(len(recommender.space.songs), bool) if known is None else recommender.copies_of(known.is_known)


def _allowed(
    space: Space, recommender: Recommender, seeds: Sequence[Seed], filters: Filters, known: KnownSongs | None
) -> Mask:
    """Return a mask of the songs that the radio may play; seeds among them, once all others were played."""
    allowed = filters.allowed(FilterContext(space, plays=recommender.plays))
    if filters.new_artists:
        allowed &= ~space.by_artists({seed.artist_key for seed in seeds} - {""})
    if known is not None:
        allowed &= ~recommender.copies_of(known.weights < 0)
    return allowed
