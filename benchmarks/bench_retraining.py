"""A library that has grown -> how often a new model replaces the active one, by three rules, and what that is worth.

Listeners with known tastes are planted; the active model has learned from the first of them, the new one from all.
The truth is how well each ranks the songs of 150 artists that neither was trained on. Rules: `again` compares with
the active model learned again without the held-out artists, from what it knew; `as_it_is` with the active model
unchanged; `sure` wants the whole interval of `again` above 0. One JSON line for each growth: the share of trainings
in which a rule swaps, and the mean true gain of those that did and did not, in pairs of 100.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.encoding import Codebook
from nearsong.library.training.data import choose_training_set
from nearsong.library.training.final import FinalFit
from nearsong.library.training.fit import ActiveModel, TrainingData, TrainingReport, TrainingSettings, fit_model
from nearsong.model import CodewordEncoder, Quantizer, SimilarityModel
from nearsong.model.held_out import ListeningData, neighbours_among, ranking_of

N_CODEWORDS, N_TEST = 24, 150
SETTINGS = TrainingSettings(methods=("listener_space",), n_splits=4)
# growth -> listeners of the active model, of the new one, and how many of those in between play at random
GROWTHS = {
    "110 %": (200, 220, 0),
    "200 %": (100, 200, 0),
    "500 %": (40, 200, 0),
    "noise": (100, 100, 300),
}
PROFILES = {"smoke": (1, 50), "full": (20, 80)}


def planted(n_artists: int, seed: int) -> tuple[TrainingData, TrainingData]:
    """Return music of some artists with 1,000 listeners, and of others to test with."""
    random = np.random.default_rng(seed)
    n_all = n_artists + N_TEST
    taste = random.normal(size=(n_all, 3))
    song_artist = np.repeat(np.arange(n_all), 3)
    manner = np.hstack([0.5 * taste[song_artist], 0.6 * random.normal(size=(len(song_artist), 4))])
    loudness = np.exp(manner @ random.normal(size=(7, N_CODEWORDS)))
    vectors = np.array([random.multinomial(400, row / row.sum()) / 400 for row in loudness], dtype=np.float32)
    gaps = ((random.normal(size=(1000, 3))[:, None] - taste[None]) ** 2).sum(axis=2)
    plays = random.random(gaps.shape) < 0.35 * np.exp(-0.5 * gaps)
    parts = []
    for artists in (np.arange(n_artists), np.arange(n_artists, n_all)):
        songs = np.isin(song_artist, artists)
        part = TrainingData(
            vectors=vectors[songs],
            song_artist=song_artist[songs] - artists[0],
            artist_plays=sp.csr_array(plays[:, artists]),
        )
        parts.append(part)
    return parts[0], parts[1]


def true_auc(model: SimilarityModel, test: TrainingData) -> float:
    listening_data = ListeningData(song_artist=test.song_artist, plays=test.artist_plays)
    songs = np.arange(len(test.vectors))
    ranking = ranking_of(listening_data, songs, songs, neighbours_among(listening_data, np.arange(N_TEST), 5))
    vectors = model.project(test.vectors)
    return float(ranking.score_embeddings(vectors, vectors).auc)


def swaps(report: TrainingReport) -> bool:
    known, unknown = (report.estimate("learned - active", database).mean for database in ("known", "unknown"))
    return known + unknown > 0 and report.estimate("learned - active", "unknown").high >= 0


def trial(growth: tuple[int, int, int], n_artists: int, seed: int) -> dict[str, float]:
    """Return the true gain of the new model, and whether each rule swaps."""
    n_before, n_after, n_noise = growth
    data, test = planted(n_artists, seed)
    random = np.random.default_rng([seed, 1])
    share = data.artist_plays.nnz / np.prod(data.artist_plays.shape)
    noise = sp.csr_array(random.random((n_noise, n_artists)) < share)
    before = replace(data, artist_plays=data.artist_plays[:n_before])
    after = replace(data, artist_plays=sp.csr_array(sp.vstack([data.artist_plays[:n_after], noise])).astype(bool))
    codebook = Codebook(N_CODEWORDS).fit(np.random.default_rng(0).normal(size=(500, 39)))
    encoder = CodewordEncoder(Quantizer(codebook, 1))
    choice = fit_model(encoder, before, SETTINGS).report.choice
    old = fitted(encoder, before, choice)
    everything = np.ones(len(data.vectors), dtype=bool)
    again = fit_model(
        encoder, after, SETTINGS, active=ActiveModel(old, "listener_space", choice, before, everything)
    ).report
    as_it_is = fit_model(encoder, after, SETTINGS, active=ActiveModel(old)).report
    new = fitted(encoder, after, again.choice)
    return {
        "gain": 100 * (true_auc(new, test) - true_auc(old, test)),
        "estimate": 100 * again.estimate("learned - active", "unknown").mean,
        "again": float(swaps(again)),
        "as_it_is": float(swaps(as_it_is)),
        "sure": float(again.estimate("learned - active", "known").low > 0),
    }


def fitted(encoder: CodewordEncoder, data: TrainingData, choice: Mapping[str, Any]) -> SimilarityModel:
    """Return the model of all artists, whether or not it would be taken."""
    chosen = choose_training_set(data, SETTINGS)
    chosen = replace(chosen, vectors=encoder.restore(chosen.vectors))
    return FinalFit(encoder, data, chosen, SETTINGS).fit("listener_space", choice)[0]


def measure(name: str, n_trials: int, n_artists: int) -> dict[str, object]:
    trials = [trial(GROWTHS[name], n_artists, seed) for seed in range(n_trials)]
    gains = np.array([found["gain"] for found in trials])
    line: dict[str, Any] = {"case": f"retraining {name}", "trials": len(trials)}
    line["true_gain"] = round(float(gains.mean()), 2)
    line["estimated_gain"] = round(float(np.mean([found["estimate"] for found in trials])), 2)
    for rule in ("again", "as_it_is", "sure"):
        swapped = np.array([found[rule] > 0 for found in trials])
        line[rule] = {"swaps": round(float(swapped.mean()), 2)}
        for word, chosen in (("gain_if_swapped", swapped), ("gain_if_not", ~swapped)):
            if chosen.any():
                line[rule][word] = round(float(gains[chosen].mean()), 2)
    return line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    n_trials, n_artists = PROFILES[parser.parse_args().profile]
    for name in GROWTHS:
        print(json.dumps(measure(name, n_trials, n_artists)), flush=True)
