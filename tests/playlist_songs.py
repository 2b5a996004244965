"""Songs around their artists to make playlists of, and what is measured of a playlist."""

import numpy as np
from hypothesis import strategies as st

from nearsong.library.answers.playlist import around_seeds, between_songs
from nearsong.library.answers.playlist.rules import PlaylistRules, PlaylistSpace

dials = st.sampled_from([0.0, 0.3, 1.0])
rules_of_any_kind = st.builds(
    PlaylistRules,
    length=st.integers(1, 30),
    artist_gap=st.integers(0, 6),
    diversity=dials,
    drift=dials,
    seed=st.integers(0, 3),
)


def make_playlist(embeddings, artists, seeds, rules=None, *, allowed=None):
    space = PlaylistSpace.of(embeddings, artists, allowed)
    return around_seeds.make_playlist(space, seeds, rules or PlaylistRules())


def walk(embeddings, artists, start, end, rules, *, allowed=None):
    return between_songs.walk(PlaylistSpace.of(embeddings, artists, allowed), start, end, rules)


def library(seed=0, n=60, r=4, n_artists=12, unknown=0.1):
    """Songs around their artists; some artists are not known."""
    rng = np.random.default_rng(seed)
    artists = rng.integers(n_artists, size=n)
    embeddings = (2 * rng.standard_normal((n_artists, r)))[artists] + rng.standard_normal((n, r))
    return embeddings.astype(np.float32), np.where(rng.random(n) < unknown, -1, artists)


def clashes(songs, artists, gap, first=1):
    """Return the embeddings in the list, from ``first`` on, whose artist came less than ``gap`` before."""
    return [
        i
        for i in range(first, len(songs))
        for j in range(max(0, i - gap + 1), i)
        if artists[songs[i]] == artists[songs[j]] >= 0
    ]


def mean_distance(embeddings, songs):
    chosen = embeddings[list(songs)].astype(float)
    apart = np.linalg.norm(chosen[:, None] - chosen, axis=2)
    return apart[np.triu_indices(len(songs), 1)].mean()
