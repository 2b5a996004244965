"""Whether the words for sound hold: each trait against what people say of the same music, and what did not hold.

One JSON line a trait and label: the AUC of the trait's value for songs with the label, with a 95 % interval of 500
bootstraps over artists, since songs of an artist are alike. Below 0.5 the label goes with the trait's low word.
``cases`` that start with ``rejected`` are measures that were tried and have no word. One line a word says how much of
each genre has it.

``--data`` is a folder that holds the data set gtzan-lastfm2k: spectral patterns, MFCCs, genres and listeners' tags of
artists. Beside it, spotify-lastfm15k and cal500-lastfm15k give labels of artists that are in both. Without it, clips
are synthesised, with a beat and without.
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

from nearsong.audio import DeltaMFCC, MelLevels
from nearsong.library.answers.words.sound_traits import TRAITS, trait_signs, trait_values
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


@dataclass(frozen=True, eq=False)
class Songs:
    """Songs, the values of measures, and labels: which songs have one, and of which it is known."""

    artists: Sequence[str]
    genres: npt.NDArray[np.str_]
    measures: dict[str, FloatArray]
    labels: dict[str, tuple[Mask, Mask]]


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
            has, known = songs.labels[label]
            values = songs.measures[measure][known]
            artists = [artist for artist, is_known in zip(songs.artists, known, strict=True) if is_known]
            low, high = interval(values, has[known], artists, bootstraps)
            yield {
                "case": measure,
                "label": label,
                "songs": int(has[known].sum()),
                "others": int((~has[known]).sum()),
                "auc": round(auc(values, has[known]), 3),
                "low": round(low, 3),
                "high": round(high, 3),
            }
    signs = trait_signs(np.stack([songs.measures[trait.name] for trait in TRAITS], axis=1))
    for number, trait in enumerate(TRAITS):
        for sign, word in ((-1, trait.low), (1, trait.high)):
            shares = {
                str(genre): round(float((signs[songs.genres == genre, number] == sign).mean()), 2)
                for genre in np.unique(songs.genres)
            }
            yield {"case": f"word: {word}", "genres": shares}


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
    return Songs(artists, genres, measures, labels)


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
    return Songs([str(song) for song in range(n_songs)], np.where(drums, "drums", "none"), measures, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--data", type=Path, help="folder of data sets; by default clips are synthesised")
    options = parser.parse_args()
    songs = synthesised() if options.data is None else shared_data(options.data)
    for line in lines(songs, PROFILES[options.profile]):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
