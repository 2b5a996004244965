"""What a heart, a skip and the age of a play are worth, on simulated listeners whose taste is known.

One JSON line a choice: of each listener the AUC over songs they never met, against what they truly like, and how many
of the first 50 they like (``liked``); means with 95 % intervals over listeners, and ``above`` the first choice of its
case. ``reactions``: weights of a listener's own hearts and skips, or the neighbours of skipped songs left out
(``repelled``). ``matrix``: hearts and skips in the matrix of who plays what. ``half_life``: tastes that change.
``radio``: the share of 30 songs that are liked. ``minus``: songs similar to two liked ones, without a skipped one.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from held_out_listeners import interval
from nearsong.library.answers import minus_seeds
from nearsong.library.answers.filters import Filters
from nearsong.library.answers.recommending import radio
from nearsong.library.answers.recommending.recommender import Recommender
from nearsong.library.answers.seeds import seed_of_song
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.recommendation import OverlapScores, Taste, Worth, item_weights, recency, taste_scores
from nearsong.recommendation.scores import squared_distances
from nearsong.types import FloatArray
from simulated_listeners import World, favourites_of, liked_by, make_world, songs

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"listeners": 12, "seeds": 1, "radios": 2},
    "full": {"listeners": 100, "seeds": 5, "radios": 20},
}
N_MET = 60
DAY = 86_400.0
WORTHS = [(0, 0), (0.5, 0), (1, 0), (2, 0), (4, 0), (0, 0.5), (0, 1), (0, 2), (0, 4), (1, 1), (1, 2), (2, 2), (2, 4)]
"""What a heart and a skip may be worth."""
Found = dict[str, list[tuple[float, float]]]


def measured(scores: FloatArray, likes: npt.NDArray[np.bool_], allowed: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return AUC, and the liked share of the first 50, over allowed songs."""
    own, wanted = scores[allowed], likes[allowed]
    order = np.argsort(-own, kind="stable")
    ranks = np.empty(len(own))
    ranks[order] = np.arange(len(own))
    n_liked, n_other = wanted.sum(), (~wanted).sum()
    before = ranks[wanted].sum() - n_liked * (n_liked - 1) / 2
    return float(1 - before / (n_liked * n_other)), float(wanted[order[:50]].mean())


def lines(case: str, found: Found, **facts: Any) -> Iterator[dict[str, Any]]:
    """Return a line for each choice, compared with the first."""
    first = np.array(next(iter(found.values())))
    for choice, values in found.items():
        rows = np.array(values)
        yield {
            "case": case,
            "choice": choice,
            "auc": interval(rows[:, 0]),
            "auc_above": interval(rows[:, 0] - first[:, 0]),
            "liked": interval(rows[:, 1]),
            "liked_above": interval(rows[:, 1] - first[:, 1]),
            **facts,
        }


def own_scores(world: World, listener: int, worth: Worth) -> FloatArray:
    """Return the scores of all songs by a listener's own evidence."""
    none = np.full(len(world.embeddings), np.nan)
    weights = item_weights(world.plays[listener], world.skips[listener], world.hearts[listener], none, worth)
    rows = np.flatnonzero(weights)
    return taste_scores(world.embeddings, Taste(world.embeddings[rows], weights[rows]))


def repelled_scores(world: World, listener: int, n_neighbours: int) -> FloatArray:
    """Return scores by plays, with the neighbours of skipped songs last."""
    scores = own_scores(world, listener, Worth(heart=0.0, skip=0.0))
    skipped = np.flatnonzero(world.skips[listener])
    if len(skipped):
        squares = squared_distances(world.embeddings, world.embeddings[skipped])
        near = np.argpartition(squares, n_neighbours, axis=0)[:n_neighbours]
        scores[np.unique(near)] -= 1.0
    return scores


def reactions(sizes: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Compare weights, a repelled set and the matrix."""
    found: Found = {}
    matrix: Found = {}
    for seed in range(sizes["seeds"]):
        world = make_world(sizes["listeners"], N_MET, seed)
        tables = listener_tables(world)
        for row in range(sizes["listeners"]):
            likes, new = world.likes[row], ~world.met[row]
            for heart, skip in WORTHS:
                scores = own_scores(world, row, Worth(heart=heart, skip=skip))
                found.setdefault(f"heart {heart:g}, skip {skip:g}", []).append(measured(scores, likes, new))
            for n_neighbours in (5, 20):
                scores = repelled_scores(world, row, n_neighbours)
                name = f"repelled, {n_neighbours} neighbours"
                found.setdefault(name, []).append(measured(scores, likes, new))
            for name, (table, weights) in tables.items():
                scores = table.scores(weights[row])[world.artists]
                matrix.setdefault(name, []).append(measured(scores, likes, new))
    yield from lines("reactions", found, listeners=len(next(iter(found.values()))))
    yield from lines("matrix", matrix, listeners=len(next(iter(matrix.values()))))


def listener_tables(world: World) -> dict[str, tuple[OverlapScores, FloatArray]]:
    """Return matrices of who plays which artist, and each listener's own weights, with and without reactions."""
    of_artist = sp.csr_array(
        (np.ones(len(world.artists)), (np.arange(len(world.artists)), world.artists)),
        shape=(len(world.artists), int(world.artists.max()) + 1),
    )
    plays, skips, hearts = (np.asarray(part @ of_artist) for part in (world.plays, world.skips, world.hearts * 1.0))
    weights = np.log1p(plays)
    own = weights + hearts - 0.5 * np.log1p(skips)
    liked = sp.csr_array(plays + 3 * hearts >= 2)
    return {
        "plays": (OverlapScores(sp.csr_array(plays > 0)), weights),
        "without artists skipped more than played": (OverlapScores(sp.csr_array(plays > skips)), weights),
        "two plays or a heart": (OverlapScores(liked), weights),
        "plays; own weights with hearts and skips": (OverlapScores(sp.csr_array(plays > 0)), own),
    }


# ---- how long a play counts


def half_lives(sizes: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Compare half-lives for tastes that change once in half a year, in two years, or never."""
    for lifetime in (180, 730, 100_000):
        found: Found = {}
        for seed in range(sizes["seeds"]):
            random = np.random.default_rng([27, seed, lifetime])
            points, known, _ = songs(random)
            for _ in range(sizes["listeners"] // 2):
                days, played = [], []
                favourites, until = favourites_of(points, random), random.exponential(lifetime)
                likes = liked_by(points, favourites, random)
                for day in np.sort(random.uniform(0, 1_095, 120)):
                    while day > until:  # one favourite is replaced by another
                        favourites[random.integers(len(favourites))] = points[random.integers(len(points))]
                        likes = liked_by(points, favourites, random)
                        until += random.exponential(lifetime)
                    pool = np.flatnonzero(likes) if random.random() < 0.8 else np.arange(len(points))
                    days.append(day)
                    played.append(int(random.choice(pool)))
                new = np.ones(len(points), bool)
                new[played] = False
                for half_life in (15.0, 30.0, 90.0, 180.0, 365.0, 730.0, 1e9):
                    worth = Worth(half_life_days=half_life)
                    counts = np.bincount(
                        played, recency((np.array(days) + 1) * DAY, 1_096 * DAY, worth), minlength=len(points)
                    )
                    weights = np.log1p(counts)
                    rows = np.flatnonzero(weights)
                    scores = taste_scores(known, Taste(known[rows], weights[rows]))
                    name = "none" if half_life > 1e8 else f"{half_life:g} days"
                    found.setdefault(name, []).append(measured(scores, likes, new))
        yield from lines("half_life", {"none": found["none"], **found}, taste_changes_after_days=lifetime)


# ---- radio and minus seeds


def recommender_of(world: World) -> Recommender:
    """Return a recommender of the songs of a world."""
    library_songs = [
        Song(id=row + 1, path=f"/{row}.mp3", artist=f"artist {artist}", artist_key=f"artist {artist}", title=str(row))
        for row, artist in enumerate(world.artists.tolist())
    ]
    no_model: Any = None
    space = Space(1, no_model, library_songs, world.embeddings, Path())
    nobody = Listeners(sp.csr_array((0, 0), dtype=bool), [])
    return Recommender(
        store=no_model,
        space=space,
        catalogue=no_model,
        recordings=lambda: np.arange(len(library_songs)),
        plays=lambda: np.zeros(len(library_songs)),
        listeners=lambda: nobody,
        songs_of=lambda item: [],
    )


RADIO_WEIGHTS = {
    "nothing": (0.0, 0.0, 0.0),
    "plays": (0.25, 0.25, 0.0),
    "hearts": (0.0, 1.0, 0.0),
    "skips": (0.0, 0.0, -1.0),
    "plays and hearts": (0.25, 1.0, 0.0),
    "plays, hearts, skips": (0.25, 1.0, -1.0),
    "plays, hearts, half skips": (0.25, 1.0, -0.5),
    "plays, hearts, quarter skips": (0.25, 1.0, -0.25),
    "more plays, hearts, half skips": (0.5, 1.0, -0.5),
    "more plays, hearts, quarter skips": (0.5, 1.0, -0.25),
}


def radios(sizes: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Compare what a radio learns from while it plays."""
    found: Found = {}
    standard = dict(radio.REACTION_WEIGHTS)
    for seed in range(sizes["seeds"]):
        world = make_world(sizes["radios"], N_MET, seed)
        recommender = recommender_of(world)
        space = recommender.space
        random = np.random.default_rng([28, seed])
        for row in range(sizes["radios"]):
            start = seed_of_song(space, space.songs[int(random.choice(np.flatnonzero(world.likes[row])))])
            for name, weights in RADIO_WEIGHTS.items():
                radio.REACTION_WEIGHTS.update(zip(("played", "liked", "skipped"), weights, strict=True))
                heard: list[tuple[Any, str]] = []
                answers = np.random.default_rng([29, seed, row])
                for _ in range(30):
                    (chosen,) = radio.next_songs(recommender, [start], heard, 1, Filters(), seed=row)
                    likes = bool(world.likes[row, chosen.song.id - 1])
                    draw = answers.random()
                    reaction = (
                        ("liked" if draw < 0.3 else "played") if likes else ("skipped" if draw < 0.6 else "played")
                    )
                    heard.append((seed_of_song(space, chosen.song), reaction))
                share = float(np.mean([world.likes[row, song.song.id - 1] for song, _ in heard]))
                found.setdefault(name, []).append((share, share))
    radio.REACTION_WEIGHTS.update(standard)
    for line in lines("radio", found):
        yield {name: value for name, value in line.items() if not name.startswith("auc")}


def minus(sizes: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Compare how strongly similar songs are pushed away from a skipped one."""
    found: Found = {}
    standard = minus_seeds.PUSH
    for seed in range(sizes["seeds"]):
        world = make_world(sizes["listeners"], N_MET, seed)
        random = np.random.default_rng([30, seed])
        for row in range(sizes["listeners"]):
            liked, skipped = np.flatnonzero(world.likes[row] & world.met[row]), np.flatnonzero(world.skips[row])
            if len(liked) < 2 or not len(skipped):
                continue
            plus = world.embeddings[random.choice(liked, 2, replace=False)]
            near = skipped[np.argmin(squared_distances(world.embeddings[skipped], plus).min(axis=1))]
            for push in (0.0, 0.5, 1.0, 2.0, 4.0):
                minus_seeds.PUSH = push
                ranked, _ = minus_seeds.pushed_distances(world.embeddings, plus, [world.embeddings[near]])
                found.setdefault(f"push {push:g}", []).append(measured(-ranked, world.likes[row], ~world.met[row]))
    minus_seeds.PUSH = standard
    yield from lines("minus", found)


CASES = {"reactions": reactions, "half_life": half_lives, "radio": radios, "minus": minus}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--seeds", type=int, help="simulations; by default those of the profile")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    sizes = PROFILES[options.profile] | ({"seeds": options.seeds} if options.seeds else {})
    for case in options.cases:
        for line in CASES[case](sizes):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
