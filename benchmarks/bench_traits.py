"""Whether the words for sound hold: each trait against what people say of the same music, and what did not hold.

One JSON line a trait and label: the AUC of the trait's value for songs with the label, with a 95 % interval of 500
bootstraps over artists, since songs of an artist are alike. Below 0.5 the label goes with the trait's low word.
``cases`` that start with ``rejected`` are measures that were tried and have no word. One line a word says how much of
each genre has it.

Cases that start with ``probe`` say what stored vectors tell: ridge regression of a label on the vectors of an
encoder, three times five folds that share no artist, the penalty chosen by folds within the others. ``genre`` in
place of an encoder is what the genre alone tells; ``voice numbers`` are those of the learned word. The folds'
predictions are compared with the label that they were learned from and with labels of other sources;
``within_genres`` counts only pairs of songs of one genre. Cases that start with ``codeword`` do the same as traits
for the words that codewords get: the share of a song in codewords with the word.

``--data`` is a folder that holds the data set gtzan-lastfm2k: spectral patterns, MFCCs, chroma, genres and listeners'
tags of artists. Beside it, spotify-lastfm15k and cal500-lastfm15k give labels of artists that are in both. Without
it, clips are synthesised, with a beat and without. ``--table`` prints the weights of the learned word instead.
"""

import argparse
import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, MelLevels, with_derivatives
from nearsong.library.answers.words.sound_traits import TRAITS, trait_signs, trait_values
from nearsong.library.answers.words.voice import VOICE_WORD, has_voice, voice_numbers
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.encoders.registry import encoder_class
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder
from nearsong.types import FloatArray

Mask = npt.NDArray[np.bool_]
PROFILES = {"smoke": 20, "full": 500}
"""Profile -> bootstraps."""

DRUM_GENRES = ("disco", "hiphop", "metal", "pop", "reggae", "rock")
LABELS: dict[str, tuple[str, ...]] = {
    "drums": ("genre drums/classical", "tag dance", "spotify danceability", "cal500 Song-Heavy_Beat"),
    "instruments": (
        "cal500 Song-Texture_Electric", "cal500 Song-Texture_Acoustic", "spotify acousticness", "tag acoustic",
        "tag metal",
    ),
    "brightness": ("tag metal", "tag dance", "cal500 Song-High_Energy", "genre classical", "genre jazz"),
    "attack": ("spotify danceability", "tag rap", "tag instrumental", "cal500 Vocals-Rapping"),
    "bass": ("tag rap", "spotify danceability", "cal500 Song-Heavy_Beat", "genre classical"),
    "rejected: tempo": ("cal500 Song-Fast_Tempo", "spotify tempo"),
    "rejected: change of loudness": ("cal500 Song-Changing_Energy_Level", "genre classical", "tag metal"),
    "rejected: loudness at the rate of syllables": (
        "tag instrumental", "tag female vocalists", "spotify instrumentalness",
    ),
}  # fmt: skip
"""Measure -> labels that should go with it, in either direction."""

_WOMEN, _MEN = "cal500 Instrument_-_Female_Lead_Vocals", "cal500 Instrument_-_Male_Lead_Vocals"
PROBES: dict[str, tuple[str, ...]] = {
    "genre drums/classical": (),
    "tag female vocalists": (_WOMEN, _MEN, "spotify instrumentalness"),
    _WOMEN: ("tag female vocalists",),
    "tag instrumental": ("spotify instrumentalness", "tag female vocalists"),
    "spotify instrumentalness": ("tag instrumental", "tag female vocalists"),
    "spotify speechiness": ("tag rap", "cal500 Vocals-Rapping"),
    "cal500 Vocals-Rapping": ("tag rap", "spotify speechiness"),
    "spotify tempo": ("cal500 Song-Fast_Tempo",),
    "cal500 Song-Fast_Tempo": ("spotify tempo",),
}
"""Label that a probe learns -> labels of other sources that its predictions are compared with."""

CODEWORD_LABELS: dict[str, tuple[str, ...]] = {
    "loud": ("spotify loudness", "spotify energy", "cal500 Song-High_Energy", "tag metal", "genre classical"),
    "quiet": ("spotify loudness", "spotify acousticness", "tag metal", "genre classical"),
    "bright": ("tag dance", "tag metal", "cal500 Song-High_Energy", "genre classical"),
    "airy": ("tag dance", "tag metal", "genre classical"),
    "dark": ("tag dance", "tag metal", "genre classical", "genre jazz"),
    "warm": ("spotify acousticness", "tag acoustic", "tag metal", "genre jazz"),
    "bass-heavy": ("tag rap", "spotify danceability", "cal500 Song-Heavy_Beat", "genre classical"),
    "thin": ("tag rap", "genre classical"),
    "noise-like": ("tag metal", "cal500 Song-Texture_Electric", "genre classical"),
    "tone-like": ("spotify acousticness", "cal500 Song-Texture_Acoustic", "genre classical", "tag metal"),
    "short bursts": ("spotify danceability", "tag rap", "cal500 Song-Heavy_Beat", "genre classical"),
    "steady": ("spotify danceability", "tag ambient", "genre classical", "tag rap"),
}
"""Word of codewords -> labels that should go with it, in either direction."""

N_REPEATS, N_FOLDS, N_INNER_FOLDS = 3, 5, 4
PENALTIES = tuple(float(penalty) for penalty in np.geomspace(0.01, 100, 9))
"""Of a probe, where the numbers of a song have a total variance of 1 on average."""

TABLE_PENALTY = 0.3
"""Of the weights of the learned word, for each of its numbers at a variance of 1; 0.1 to 3 differ by 0.011 AUC."""


@dataclass(frozen=True, eq=False)
class Songs:
    """Songs, the values of measures, and labels: which songs have one, and of which it is known."""

    artists: Sequence[str]
    genres: npt.NDArray[np.str_]
    measures: dict[str, FloatArray]
    labels: dict[str, tuple[Mask, Mask]]
    vectors: dict[str, FloatArray]
    codeword_labels: Sequence[str] = ()


def auc(values: FloatArray, has: Mask) -> float:
    """Return the share of pairs, one song with a label and one without, in which the former has the larger value."""
    inside, outside = values[has], np.sort(values[~has])
    below = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
    return float(below.mean() / 2 / len(outside))


def interval(values: FloatArray, has: Mask, artists: Sequence[str], bootstraps: int) -> tuple[float, float]:
    rows = defaultdict(list)
    for row, artist in enumerate(artists):
        rows[artist].append(row)
    groups = [np.array(group) for group in rows.values()]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(bootstraps):
        chosen = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        if 0 < has[chosen].sum() < len(chosen):
            drawn.append(auc(values[chosen], has[chosen]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def lines(songs: Songs, bootstraps: int) -> Iterator[dict[str, Any]]:
    for measure, labels in LABELS.items():
        for label in (label for label in labels if label in songs.labels and measure in songs.measures):
            yield {"case": measure, **_judged(songs, songs.measures[measure], label, bootstraps)}
    yield from probe_lines(songs, bootstraps)
    yield from codeword_lines(songs, bootstraps)
    signs = trait_signs(np.stack([songs.measures[trait.name] for trait in TRAITS], axis=1))
    for number, trait in enumerate(TRAITS):
        for sign, word in ((-1, trait.low), (1, trait.high)):
            shares = {
                str(genre): round(float((signs[songs.genres == genre, number] == sign).mean()), 2)
                for genre in np.unique(songs.genres)
            }
            yield {"case": f"word: {word}", "genres": shares}


def _judged(songs: Songs, values: FloatArray, label: str, bootstraps: int) -> dict[str, Any]:
    """Return how well values go with a label."""
    has, known = songs.labels[label]
    artists = [artist for artist, is_known in zip(songs.artists, known, strict=True) if is_known]
    low, high = interval(values[known], has[known], artists, bootstraps)
    return {
        "label": label,
        "songs": int(has[known].sum()),
        "others": int((~has[known]).sum()),
        "auc": round(auc(values[known], has[known]), 3),
        "low": round(low, 3),
        "high": round(high, 3),
    }


def within_genres(songs: Songs, values: FloatArray, label: str) -> float | None:
    """Return the AUC over pairs of songs of the same genre; None if there is no such pair."""
    has, known = songs.labels[label]
    right, pairs = 0.0, 0
    for genre in np.unique(songs.genres):
        inside = known & (songs.genres == genre)
        n_pairs = int(has[inside].sum() * (~has[inside]).sum())
        if n_pairs:
            right, pairs = right + n_pairs * auc(values[inside], has[inside]), pairs + n_pairs
    return round(right / pairs, 3) if pairs else None


def probe_lines(songs: Songs, bootstraps: int) -> Iterator[dict[str, Any]]:
    products = {name: _products(vectors) for name, vectors in songs.vectors.items()}
    products["all encoders"] = np.mean([products[name] for name in products if name != "voice numbers"], axis=0)
    products["genre"] = _products((songs.genres[:, None] == np.unique(songs.genres)).astype(np.float64))
    for learned, others in PROBES.items():
        if learned not in songs.labels:
            continue
        for name, matrix in products.items():
            values = probe(matrix, *songs.labels[learned], songs.artists)
            for label in (label for label in (learned, *others) if label in songs.labels):
                found = _judged(songs, values, label, bootstraps)
                within = within_genres(songs, values, label)
                yield {"case": f"probe: {learned}", "vectors": name, **found, "within_genres": within}
                if (learned, name) == ("tag female vocalists", "voice numbers") and label == learned:
                    yield from _word_lines(songs, values, label)
                    parts = {
                        str(genre): within_genres(_of_genre(songs, genre), values[songs.genres == genre], label)
                        for genre in np.unique(songs.genres)
                    }
                    yield {"case": f"probe: {learned}", "vectors": name, "label": label, "in_genre": parts}


def _word_lines(songs: Songs, values: FloatArray, label: str) -> Iterator[dict[str, Any]]:
    """Say of which songs the learned word would be said, by the folds' predictions."""
    has, known = songs.labels[label]
    said = has_voice(values)
    yield {
        "case": f"word: {VOICE_WORD}",
        "of_tagged": round(float(said[known & has].mean()), 3),
        "of_others": round(float(said[known & ~has].mean()), 3),
        "tagged": round(float(has[known & said].mean()), 3),
        "genres": {
            str(genre): round(float(said[songs.genres == genre].mean()), 2) for genre in np.unique(songs.genres)
        },
    }


def _of_genre(songs: Songs, genre: str) -> Songs:
    inside = songs.genres == genre
    artists = [artist for artist, is_inside in zip(songs.artists, inside, strict=True) if is_inside]
    labels = {name: (has[inside], known[inside]) for name, (has, known) in songs.labels.items()}
    return Songs(artists, songs.genres[inside], {}, labels, {})


def _products(vectors: FloatArray) -> FloatArray:
    """Return inner products of songs (n_songs, n_songs), of z-scores with a total variance of 1."""
    rows = vectors - vectors.mean(axis=0)
    spread = rows.std(axis=0)
    rows = rows / np.where(spread > 0, spread, 1.0)
    products = rows @ rows.T
    return np.asarray(products * len(rows) / np.trace(products))


def _folds(artists: Sequence[str], n_folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the fold of each song; songs of an artist have the same."""
    names = sorted(set(artists))
    numbers = dict(zip(np.random.default_rng(seed).permutation(names).tolist(), range(len(names)), strict=True))
    return np.array([numbers[artist] % n_folds for artist in artists])


def _ridge(
    products: FloatArray, has: Mask, learned: npt.NDArray[np.int64], others: npt.NDArray[np.int64]
) -> FloatArray:
    """Return what ridge regression on some songs says of others, for each penalty (n_penalties, n_others)."""
    mean = has[learned].mean()
    values, axes = np.linalg.eigh(products[np.ix_(learned, learned)])
    targets = axes.T @ (has[learned] - mean)
    across = products[np.ix_(others, learned)] @ axes
    return np.stack([mean + across @ (targets / (values.clip(0) + penalty)) for penalty in PENALTIES])


def probe(products: FloatArray, has: Mask, known: Mask, artists: Sequence[str]) -> FloatArray:
    """Return what ridge regression says of each song (n_songs,), learned from songs of other artists.

    The mean over several divisions of the artists into folds.
    """
    total = np.zeros(len(has))
    for repeat in range(N_REPEATS):
        folds = _folds(artists, N_FOLDS, repeat)
        for fold in range(N_FOLDS):
            learned = np.flatnonzero(known & (folds != fold))
            inner = _folds([artists[song] for song in learned], N_INNER_FOLDS, 100 * (1 + repeat) + fold)
            inside = np.zeros((len(PENALTIES), len(learned)))
            for part in range(N_INNER_FOLDS):
                inside[:, inner == part] = _ridge(products, has, learned[inner != part], learned[inner == part])
            best = int(np.argmax([auc(row, has[learned]) for row in inside]))
            total[folds == fold] += _ridge(products, has, learned, np.flatnonzero(folds == fold))[best]
    return total / N_REPEATS


def codeword_lines(songs: Songs, bootstraps: int) -> Iterator[dict[str, Any]]:
    if not songs.codeword_labels:
        return
    signs = trait_signs(np.stack([songs.measures[trait.name] for trait in TRAITS], axis=1))
    words = [label.split(", ") for label in songs.codeword_labels]
    for word, labels in CODEWORD_LABELS.items():
        shares = songs.vectors["codewords"] @ np.array([float(word in of_one) for of_one in words])
        for label in (label for label in labels if label in songs.labels):
            yield {"case": f"codeword: {word}", **_judged(songs, shares, label, bootstraps)}
        ends = {trait.low: -1 for trait in TRAITS} | {trait.high: 1 for trait in TRAITS}
        if word in ends:
            number = next(number for number, trait in enumerate(TRAITS) if word in (trait.low, trait.high))
            much = shares > np.quantile(shares, 2 / 3)
            same = signs[much, number] == ends[word]
            opposite = signs[much, number] == -ends[word]
            yield {
                "case": f"codeword: {word}",
                "trait_of_the_third_with_most": round(float(same.mean()), 2),
                "opposite_trait": round(float(opposite.mean()), 2),
            }


def voice_table(songs: Songs) -> Iterator[str]:
    """Return the weights of the learned word, and its constant, as the package has them."""
    has, known = songs.labels["tag female vocalists"]
    numbers = songs.vectors["voice numbers"]
    mean, spread = numbers.mean(axis=0), numbers.std(axis=0)
    rows = (numbers[known] - mean) / spread
    products = rows.T @ rows / len(rows) + TABLE_PENALTY * np.eye(rows.shape[1])
    weights = np.linalg.solve(products, rows.T @ (has[known] - has[known].mean()) / len(rows))
    constant = has[known].mean() - (rows @ weights).mean() - mean / spread @ weights
    texts = [f"{weight:.4g}" for weight in weights / spread]
    yield from (" ".join(texts[at : at + 12]) for at in range(0, len(texts), 12))
    yield f"constant {constant:.4f}"


def read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def shared_data(folder: Path) -> Songs:
    """Read the data sets of a folder."""
    gtzan = folder / "gtzan-lastfm2k"
    rows = read(gtzan / "songs.csv")
    artists, genres = [row["artist"] for row in rows], np.array([row["genre"] for row in rows])
    values = trait_values(np.load(gtzan / "spectral_pattern.npy"), MelLevels().band_centres())
    measures = {trait.name: values[:, number] for number, trait in enumerate(TRAITS)}
    frames = [np.load(gtzan / row["frames"]).astype(np.float64) for row in rows]
    for name, measure in REJECTED.items():
        measures[f"rejected: {name}"] = np.array([measure(mfccs[:, 0]) for mfccs in frames])
    everybody = np.ones(len(rows), bool)
    labels = {f"genre {genre}": (genres == genre, everybody) for genre in np.unique(genres)}
    labels["genre drums/classical"] = (
        np.isin(genres, DRUM_GENRES), np.isin(genres, [*DRUM_GENRES, "classical"])
    )  # fmt: skip
    tags: dict[str, set[str]] = defaultdict(set)
    for row in read(gtzan / "tags.csv.gz"):
        tags[row["artist"]].add(row["tag"])
    labels |= _by_artist("tag", artists, tags)
    if (folder / "cal500-lastfm15k").is_dir():
        labels |= _by_artist("cal500", artists, _cal500_tags(folder / "cal500-lastfm15k"))
    if (folder / "spotify-lastfm15k").is_dir():
        labels |= _spotify(folder / "spotify-lastfm15k", artists)
    vectors, codeword_labels = _stored_vectors(gtzan, rows)
    return Songs(artists, genres, measures, labels, vectors, codeword_labels)


def _stored_vectors(gtzan: Path, rows: Sequence[dict[str, str]]) -> tuple[dict[str, FloatArray], list[str]]:
    """Return the vectors of the encoders that scans use, and the words of the codewords."""
    mfccs = [with_derivatives(np.load(gtzan / row["frames"]).astype(np.float32)) for row in rows]
    archive = np.load(gtzan / "chroma.npz")
    frames = dict.fromkeys(("codewords", "gaussian", "fisher", "texture"), mfccs)
    frames["chroma"] = [archive[row["song_id"]].astype(np.float32) for row in rows]
    sample = sorted(np.random.default_rng(0).choice(len(rows), 200, replace=False).tolist())
    encoders = {name: encoder_class(name).fit([own[i] for i in sample]) for name, own in frames.items()}
    vectors = {name: np.asarray(encoder.encode_all(frames[name])) for name, encoder in encoders.items()}
    vectors["spectral pattern"] = np.load(gtzan / "spectral_pattern.npy").astype(np.float64)
    gaussian = encoders["gaussian"]
    assert isinstance(gaussian, GaussianEncoder)
    vectors["voice numbers"] = voice_numbers(vectors["gaussian"], gaussian.gaussian.scales)
    return vectors, list(encoders["codewords"].labels() or ())


def _by_artist(source: str, artists: Sequence[str], tags: dict[str, set[str]]) -> dict[str, tuple[Mask, Mask]]:
    known = np.array([artist in tags for artist in artists])
    names = set().union(*tags.values())
    found = {name: np.array([name in tags.get(artist, ()) for artist in artists]) for name in names}
    return {f"{source} {name}": (has, known) for name, has in found.items() if 0 < has.sum() < known.sum()}


def _cal500_tags(folder: Path) -> dict[str, set[str]]:
    artist_of = {row["song_id"]: row["artist"] for row in read(folder / "songs.csv")}
    tags: dict[str, set[str]] = defaultdict(set)
    for row in read(folder / "tags.csv.gz"):
        tags[artist_of[row["song_id"]]].add(row["tag"].removeprefix("tag_"))
    return tags


def _spotify(folder: Path, artists: Sequence[str]) -> dict[str, tuple[Mask, Mask]]:
    """Return whether the mean of an artist's tracks is above the median of the artists here, for each descriptor."""
    vectors, names = np.load(folder / "vectors.npy"), (folder / "vector_columns.txt").read_text().split()
    tracks: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(read(folder / "songs.csv")):
        tracks[row["artist"]].append(number)
    known = np.array([artist in tracks for artist in artists])
    means = np.array([vectors[tracks[artist]].mean(axis=0) for artist in artists if artist in tracks])
    labels = {}
    for column, name in enumerate(names):
        has = np.zeros(len(artists), bool)
        has[known] = means[:, column] > np.median(means[:, column])
        labels[f"spotify {name}"] = (has, known)
    return labels


def _spectrum(levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    seconds = DeltaMFCC().seconds_a_frame
    power = np.abs(np.fft.rfft((levels - levels.mean()) * np.hanning(len(levels)))) ** 2
    return np.fft.rfftfreq(len(levels), seconds), power


def tempo(levels: FloatArray) -> float:
    """Return beats a minute: the strongest period of rises of the level, near 120 rather than far from it."""
    seconds = DeltaMFCC().seconds_a_frame
    rises = np.maximum(0, levels[2:] - levels[:-2])
    rises = rises - rises.mean()
    products = np.fft.irfft(np.abs(np.fft.rfft(rises, 2 * len(rises))) ** 2)
    lags = np.arange(int(60 / 200 / seconds), int(60 / 50 / seconds))
    beats = 60 / seconds / lags
    return float(beats[np.argmax(products[lags] * np.exp(-0.5 * (np.log2(beats / 120) / 0.9) ** 2))])


def loudness_change(levels: FloatArray) -> float:
    """Return how much the level varies from second to second."""
    second = round(1 / DeltaMFCC().seconds_a_frame)
    n_seconds = len(levels) // second
    return float(levels[: n_seconds * second].reshape(n_seconds, second).mean(axis=1).std())


def syllables(levels: FloatArray) -> float:
    """Return the share of changes of the level at 2.5 to 6 Hz, the rate of syllables."""
    frequencies, power = _spectrum(levels)
    inside = power[(frequencies > 2.5) & (frequencies < 6)].sum()
    return float(inside / power[(frequencies > 0.3) & (frequencies < 20)].sum())


REJECTED: dict[str, Callable[[FloatArray], float]] = {
    "tempo": tempo,
    "change of loudness": loudness_change,
    "loudness at the rate of syllables": syllables,
}


def synthesised(n_songs: int = 24) -> Songs:
    """Return clips of chords, every second one with a drum and a cymbal."""
    rng, features = np.random.default_rng(0), MelLevels()
    times = np.arange(6 * features.sample_rate) / features.sample_rate
    frames = []
    for song in range(n_songs):
        sound = sum(np.sin(2 * np.pi * pitch * times) for pitch in rng.uniform(200, 1500, size=4)) * 0.05
        if song % 2:
            since = times % 0.5
            sound += 0.5 * np.sin(2 * np.pi * 60 * times) * np.exp(-since / 0.05)
            sound += 0.2 * rng.standard_normal(len(times)) * np.exp(-since / 0.03)
        frames.append(features.transform(sound.astype(np.float32)))
    encoder = SpectralPatternEncoder.fit(frames)
    patterns = encoder.encode_all(frames) * encoder.scores.scale + encoder.scores.mean
    values = trait_values(patterns, features.band_centres())
    drums = np.arange(n_songs) % 2 == 1
    labels = {"genre drums/classical": (drums, np.ones(n_songs, bool))}
    measures = {trait.name: values[:, number] for number, trait in enumerate(TRAITS)}
    genres, vectors = np.where(drums, "drums", "none"), {"spectral pattern": patterns}
    return Songs([str(song) for song in range(n_songs)], genres, measures, labels, vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--data", type=Path, help="folder of data sets; by default clips are synthesised")
    parser.add_argument("--table", action="store_true", help="print the weights of the learned word")
    options = parser.parse_args()
    songs = synthesised() if options.data is None else shared_data(options.data)
    if options.table:
        print("\n".join(voice_table(songs)))
        return
    for line in lines(songs, PROFILES[options.profile]):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
