"""How a training grows with the artists it learns from: accuracy on held-out artists, time and memory.

Cases, one JSON line each, from a fresh process:

- ``spotify``: the final fit of `nearsong train` on fractions of the artists of ``spotify-lastfm15k``, and on fewer
  songs of each; skipped where the data is absent. Queries are songs of test artists; *known* ranks songs of the
  artists that every fraction learns from, *unseen* songs of artists that none does. So only what is learned differs.
- ``synthetic``: the same on a catalogue with a known truth (`synthetic_catalogue.py`), artists with two or more
  listeners; AUC also against the truth. With ``--profile largest`` up to 87,000 songs.
- ``listeners``: the same by how many listeners an artist needs to take part.
- ``anchors``: the listener space with the limits that make it grow with the artists, against the exact one.
- ``training``: a complete training (choosing and the final fit) of a catalogue.

Seconds are of the processor, since machines are shared; wall times are given too. Ratios are to the smallest size, or
to sound alone, in the same run.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.library.training.data import TrainingData, choose_training_set
from nearsong.library.training.final import FinalFit
from nearsong.library.training.fit import fit_model
from nearsong.library.training.settings import TrainingSettings
from nearsong.library.training.wording import sentences
from nearsong.model import SongEncoder
from nearsong.model.encoders.pretrained.vectors import VectorsEncoder
from nearsong.model.held_out import Indices, ListeningData, Ranking, neighbours_among, ranking_of
from nearsong.model.listener_space import learning, targets
from nearsong.types import FloatArray
from synthetic_catalogue import synthetic_catalogue

DATA = Path(os.environ.get("NEARSONG_DATA", "../shared/data")) / "spotify-lastfm15k"

PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {
        "spotify": {"fractions": (0.5, 1.0), "songs": (2,), "seeds": (0,), "methods": ("listener_space",)},
        "synthetic": {
            "artists": (60, 120),
            "songs_an_artist": 1.2,
            "listeners": 200,
            "min_listeners": (),
            "held_out": 30,
            "dimensions": 20,
            "seeds": (0,),
            "methods": ("listener_space",),
        },
        "listeners": {
            "artists": (100,),
            "songs_an_artist": 1.2,
            "listeners": 100,
            "min_listeners": (1,),
            "held_out": 30,
            "dimensions": 20,
            "seeds": (0,),
            "methods": ("listener_space",),
        },
        "anchors": {"artists": 120, "anchors": (30,), "dimensions": 20},
        "training": {"artists": 150, "songs": 200, "listeners": 300, "dimensions": 20},
    },
    "full": {
        "spotify": {
            "fractions": (0.1, 0.25, 0.5, 1.0),
            "songs": (1, 3, 8),
            "seeds": (0, 1, 2),
            "methods": ("listener_space", "combined"),
        },
        "synthetic": {
            "artists": (500, 2_000, 6_000, 20_000),
            "songs_an_artist": 1.2,
            "listeners": 20_000,
            "min_listeners": (),
            "held_out": 500,
            "dimensions": 200,
            "seeds": (0,),
            "methods": ("listener_space", "combined"),
        },
        "listeners": {
            "artists": (3_000,),
            "songs_an_artist": 1.2,
            "listeners": 3_000,
            "min_listeners": (1, 3, 10),
            "held_out": 250,
            "dimensions": 100,
            "seeds": (0,),
            "methods": ("listener_space",),
        },
        "anchors": {"artists": 2_500, "anchors": (500,), "dimensions": 200},
        "training": {"artists": 16_000, "songs": 20_000, "listeners": 20_000, "dimensions": 3_900},
    },
    "largest": {  # nearly as many songs as a training learns from at most
        "synthetic": {
            "artists": (6_000, 60_000),
            "songs_an_artist": 4.0,
            "listeners": 30_000,
            "min_listeners": (),
            "held_out": 500,
            "dimensions": 200,
            "seeds": (0,),
            "methods": ("listener_space", "combined"),
        },
    },
}
CHOICE = {
    "listener_space": {"penalty": 0.3, "centroid_share": 0.5, "sound_weight": 0.25},
    "combined": {
        "penalty": 0.3,
        "centroid_share": 0.5,
        "sound_weight": 0.25,
        "metric_weight": 0.2,
        "loss": "auc",
        "C": 1e3,
    },
}
N_RELEVANT = 10
SONGS_AN_ARTIST = 20


def peak_gb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e9


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Songs, listeners and, if it is known, the truth (n_artists, n_tastes)."""

    vectors: npt.NDArray[Any]
    song_artist: Indices
    plays: sp.csr_array
    taste: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Growth:
    """Held-out artists of a catalogue, and what is learned from some of the others."""

    catalogue: Catalogue
    test: Indices
    unseen: Indices
    training: Indices
    seed: int

    @classmethod
    def of(cls, catalogue: Catalogue, n_held_out: int, seed: int) -> "Growth":
        """Hold out twice as many artists with 3 or more listeners; the others are in random order."""
        random = np.random.default_rng([seed, 73])
        listeners = np.bincount(catalogue.plays.indices, minlength=catalogue.plays.shape[1])
        with_songs = np.unique(catalogue.song_artist)
        known = random.permutation(with_songs[listeners[with_songs] >= 3])
        test, unseen = known[:n_held_out], known[n_held_out : 2 * n_held_out]
        rest = np.setdiff1d(with_songs, known[: 2 * n_held_out])
        return cls(catalogue, np.sort(test), np.sort(unseen), random.permutation(rest), seed)

    def songs_of(self, artists: Indices, most: int) -> Indices:
        """Return songs of artists, at most so many of each."""
        songs = np.flatnonzero(np.isin(self.catalogue.song_artist, artists))
        first = np.searchsorted(self.catalogue.song_artist[songs], self.catalogue.song_artist[songs])
        return songs[np.arange(len(songs)) - first < most]

    def rankings(self, n_known: int) -> dict[str, Ranking]:
        """Return what is scored; the first ``n_known`` training artists are the known ones."""
        catalogue = self.catalogue
        queries = self.songs_of(self.test, 2)
        found = {}
        for name, artists in (("known", self.training[:n_known]), ("unseen", self.unseen)):
            database = self.songs_of(artists, 2)
            data = ListeningData(song_artist=catalogue.song_artist, plays=catalogue.plays)
            found[name] = ranking_of(data, queries, database, neighbours_among(data, np.sort(artists), N_RELEVANT))
            if catalogue.taste is not None:
                near = nearest_by_taste(catalogue.taste, self.test, artists)
                found[f"{name}_truth"] = ranking_of(data, queries, database, near)
        return found

    def measure(
        self, encoder: SongEncoder, rankings: dict[str, Ranking], method: str, *, n_artists: int, **limits: int
    ) -> dict[str, Any]:
        """Fit as `nearsong train` does in the end, and score the held-out artists."""
        catalogue = self.catalogue
        artists = self.training[:n_artists]
        songs = self.songs_of(artists, limits.pop("songs_an_artist", SONGS_AN_ARTIST))
        # held-out artists have no listeners; others without songs here still describe those that have
        allowed = ~np.isin(np.arange(catalogue.plays.shape[1]), np.concatenate([self.test, self.unseen]))
        plays = sp.csr_array(catalogue.plays @ sp.diags_array(allowed.astype(np.float64))).astype(bool)
        plays.eliminate_zeros()
        data = TrainingData(catalogue.vectors[songs], catalogue.song_artist[songs], plays)
        settings = TrainingSettings(unit="artist", songs_an_artist=SONGS_AN_ARTIST, **limits)
        training_set = replace(choose_training_set(data, settings), n_relevant=N_RELEVANT)
        wall, start = perf_counter(), process_time()
        model, _ = FinalFit(encoder, data, training_set, settings).fit(method, CHOICE[method])
        seconds = {"cpu_seconds": process_time() - start, "wall_seconds": perf_counter() - wall}
        scores = {name: _auc(model, catalogue, ranking) for name, ranking in rankings.items()}
        used = training_set.final.coverage.used
        return {"artists": used.artists, "songs": used.songs, **scores, **seconds}


def nearest_by_taste(taste: FloatArray, queries: Indices, artists: Indices) -> npt.NDArray[np.int32]:
    """Return the artists (n_artists, N_RELEVANT) whose taste is nearest, for the queries; -1 for all others."""
    near = np.full((len(taste), N_RELEVANT), -1, np.int32)
    squares = np.square(taste[artists]).sum(axis=1)
    order = np.argpartition(squares - 2 * taste[queries] @ taste[artists].T, N_RELEVANT, axis=1)[:, :N_RELEVANT]
    near[queries] = artists[order]
    return near


def _auc(model: Any, catalogue: Catalogue, ranking: Ranking) -> float:
    queries = model.project(catalogue.vectors[ranking.queries])
    database = model.project_database(catalogue.vectors[ranking.database], catalogue.song_artist[ranking.database])
    scores = ranking.score_embeddings(queries, database)
    assert scores is not None
    return scores.auc


def encoder_of(vectors: npt.NDArray[Any]) -> SongEncoder:
    return VectorsEncoder(vectors.shape[1], "0" * 16, "benchmark")


def spotify() -> Catalogue:
    """Read the data set; descriptors at unit variance."""
    with (DATA / "songs.csv").open(newline="") as file:
        names, song_artist = np.unique([row["artist"] for row in csv.DictReader(file)], return_inverse=True)
    number = {name: at for at, name in enumerate(names.tolist())}
    users: dict[str, int] = {}
    rows, columns = [], []
    with gzip.open(DATA / "listens.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            column = number.setdefault(row["artist"], len(number))
            rows.append(users.setdefault(row["user"], len(users)))
            columns.append(column)
    plays = sp.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(len(users), len(number)))
    vectors = np.load(DATA / "vectors.npy").astype(np.float64)
    order = np.argsort(song_artist, kind="stable")
    vectors = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    return Catalogue(vectors[order].astype(np.float32), song_artist[order].astype(np.int64), plays)


def _line(case: str, record: dict[str, Any]) -> dict[str, Any]:
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in record.items()}
    return {"case": case, **rounded}


def _mean(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over seeds, and the standard error of the scores."""
    names = [name for name in records[0] if name not in ("artists", "songs")]
    found: dict[str, Any] = {
        name: round(float(np.mean([r[name] for r in records])), 1) for name in ("artists", "songs")
    }
    for name in names:
        values = np.array([record[name] for record in records])
        found[name] = float(values.mean())
        if not name.endswith("seconds") and len(values) > 1:
            found[f"{name}_error"] = float(values.std(ddof=1) / np.sqrt(len(values)))
    return found


def measure_spotify(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not DATA.is_dir():
        yield {"case": "spotify", "skipped": f"no data in {DATA}"}
        return
    catalogue = spotify()
    encoder = encoder_of(catalogue.vectors)
    growths = [Growth.of(catalogue, 121, seed) for seed in case["seeds"]]
    n_all = len(growths[0].training)
    n_known = round(case["fractions"][0] * n_all)
    rankings = [growth.rankings(n_known) for growth in growths]
    cases = [(f"fraction_{f:g}", round(f * n_all), SONGS_AN_ARTIST) for f in case["fractions"]]
    cases += [(f"songs_{n}", n_all, n) for n in case["songs"]]
    native = _mean([_native(growth, ranked) for growth, ranked in zip(growths, rankings, strict=True)])
    yield _line("spotify_sound_alone", native)
    for method in case["methods"]:
        for name, n_artists, n_songs in cases:
            if method != "listener_space" and n_songs != SONGS_AN_ARTIST:
                continue
            records = [
                growth.measure(encoder, ranked, method, n_artists=n_artists, songs_an_artist=n_songs)
                for growth, ranked in zip(growths, rankings, strict=True)
            ]
            yield _line(f"spotify_{method}_{name}", {**_mean(records), "peak_gb": peak_gb()})


def measure_synthetic(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    n_most = max(case["artists"])
    n_artists = n_most + 2 * case["held_out"]
    growths = []
    for seed in case["seeds"]:
        made = synthetic_catalogue(
            n_artists,
            round(case["songs_an_artist"] * n_artists),
            case["listeners"],
            n_dimensions=case["dimensions"],
            seed=seed,
        )
        made_catalogue = Catalogue(made.vectors, made.song_artist, made.plays, made.taste.astype(np.float64))
        growths.append(Growth.of(made_catalogue, case["held_out"], seed))
    encoder = encoder_of(growths[0].catalogue.vectors)
    rankings = [growth.rankings(case["artists"][0]) for growth in growths]
    native = _mean([_native(growth, ranked) for growth, ranked in zip(growths, rankings, strict=True)])
    yield _line("synthetic_sound_alone", native)
    cases = [(f"artists_{n}", n, 2) for n in case["artists"]]
    cases += [(f"artists_{n_most}_listeners_{least}", n_most, least) for least in case["min_listeners"]]
    for method in case["methods"]:
        first = 0.0
        for name, n, least in cases:
            if method != "listener_space" and least != 2:
                continue
            records = [
                growth.measure(encoder, ranked, method, n_artists=n, final_min_listeners=least)
                for growth, ranked in zip(growths, rankings, strict=True)
            ]
            found = _mean(records)
            first = first or found["cpu_seconds"] / found["artists"]
            found["seconds_an_artist_ratio"] = found["cpu_seconds"] / found["artists"] / first
            yield _line(f"synthetic_{method}_{name}", {**found, "peak_gb": peak_gb()})


def _native(growth: Growth, rankings: dict[str, Ranking]) -> dict[str, Any]:
    vectors = growth.catalogue.vectors - growth.catalogue.vectors.mean(axis=0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = {name: ranking.score_vectors(unit) for name, ranking in rankings.items()}
    return {"artists": 0, "songs": 0, **{name: score.auc for name, score in scores.items() if score is not None}}


def measure_anchors(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Compare with the exact space: all training artists as anchors, all coordinates."""
    n = case["artists"]
    made = synthetic_catalogue(n + 200, round(1.2 * (n + 200)), n, n_dimensions=case["dimensions"])
    catalogue = Catalogue(made.vectors, made.song_artist, made.plays, made.taste.astype(np.float64))
    growth = Growth.of(catalogue, 100, 0)
    rankings, encoder = growth.rankings(n), encoder_of(made.vectors)
    first = 0.0
    for n_anchors in (10**9, *case["anchors"]):
        learning.MAX_ANCHORS = n_anchors
        targets.MAX_EXACT_ARTISTS = 10**9 if n_anchors == 10**9 else n // 2
        targets.SKETCH_COORDINATES = min(512, n // 4)
        found = growth.measure(encoder, rankings, "listener_space", n_artists=n)
        first = first or found["cpu_seconds"]
        name = "exact" if n_anchors == 10**9 else str(n_anchors)
        yield _line(f"anchors_{name}", {**found, "seconds_ratio": found["cpu_seconds"] / first})


def measure_training(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    made = synthetic_catalogue(
        case["artists"], case["songs"], case["listeners"], n_dimensions=case["dimensions"], seed=1
    )
    data = TrainingData(made.vectors, made.song_artist, made.plays, listeners={"users": case["listeners"]})
    before, wall, start = peak_gb(), perf_counter(), process_time()
    stages: dict[str, float] = {}

    def progress(stage: str, done: int, total: int) -> None:
        stages["choosing" if done < total - 1 else "final"] = process_time() - start

    trained = fit_model(encoder_of(made.vectors), data, progress=progress)
    report = trained.report
    assert report.coverage is not None
    yield _line(
        f"training_{case['songs']}_songs_{case['dimensions']}_dimensions",
        {
            "decision": report.decision,
            "method": report.method,
            "chosen_on": {"artists": report.artists, "songs": report.songs},
            "coverage": report.coverage.as_json(),
            "cpu_seconds_choosing": stages.get("choosing", 0.0),
            "cpu_seconds": process_time() - start,
            "wall_seconds": perf_counter() - wall,
            "wall_by_stage": dict(report.seconds),
            "peak_gb_before": before,
            "peak_gb": peak_gb(),
            "words": sentences(report)[1:3],
        },
    )


MEASURES = {
    "spotify": measure_spotify,
    "synthetic": measure_synthetic,
    "listeners": measure_synthetic,
    "anchors": measure_anchors,
    "training": measure_training,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--case", choices=MEASURES, help="only this case")
    arguments = parser.parse_args()
    if arguments.case:
        for line in MEASURES[arguments.case](PROFILES[arguments.profile][arguments.case]):
            print(json.dumps(line), flush=True)
        return
    for case in PROFILES[arguments.profile]:  # each in a fresh process: peak memory never falls
        subprocess.run([sys.executable, __file__, "--profile", arguments.profile, "--case", case], check=True)


if __name__ == "__main__":
    main()
