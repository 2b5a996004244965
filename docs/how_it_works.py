"""Draws the pictures of how-it-works.md from the demo's music: python docs/how_it_works.py."""

import csv
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.patches import Circle
from sklearn.manifold import TSNE

from nearsong import Codebook, SimilarityModel, jaccard_neighbors, load_audio, relevant_songs
from nearsong.audio import load_frames
from nearsong.demo.music import make_demo_library
from nearsong.encoding import codebook_bag

FIGURES = Path(__file__).parent / "figures"
INK, ACCENT, SECOND, GREY = "#1d2433", "#4757c7", "#d9822b", "#c9cfda"
N_CODEWORDS = 48
SECONDS = 12.0

plt.rcParams.update(
    {
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)


@dataclass
class Songs:
    """The demo's songs (n of them), their sound and their listeners."""

    paths: list[Path]
    artist: np.ndarray
    artists: list[str]
    styles: list[str]
    frames: list[np.ndarray]
    plays: sp.csr_array
    new: list[Path]
    new_styles: list[str]


def read_songs(folder: Path) -> Songs:
    """Synthesise the demo's music and load its frames and play counts."""
    demo = make_demo_library(folder / "demo", n_artists=48, seconds=SECONDS, n_listeners=300)
    by_name = {name.lower(): name for name in demo.styles}
    paths = sorted(p for p in demo.music.rglob("*") if p.suffix in {".flac", ".mp3", ".ogg", ".wav", ".m4a", ".opus"})
    found = [(path, next((n for n in by_name if n in str(path).lower()), None)) for path in paths]
    found = [(path, name) for path, name in found if name is not None]
    artists = sorted({name for _, name in found})
    index = {name: i for i, name in enumerate(artists)}
    counts: dict[tuple[str, str], float] = defaultdict(float)
    with demo.listens.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["artist"].lower() in index:
                counts[row["user"], row["artist"].lower()] += float(row["plays"])
    users = {user: i for i, user in enumerate(sorted({user for user, _ in counts}))}
    rows, columns = zip(*((users[user], index[artist]) for user, artist in counts), strict=True)
    plays = sp.csr_array((list(counts.values()), (rows, columns)), shape=(len(users), len(artists)))
    new_names = [next(n for n in demo.styles if n.lower() in str(path).lower()) for path in demo.new]
    return Songs(
        paths=[path for path, _ in found],
        artist=np.array([index[name] for _, name in found]),
        artists=[by_name[name] for name in artists],
        styles=[demo.styles[by_name[name]] for name in artists],
        frames=[load_frames(path) for path, _ in found],
        plays=plays,
        new=demo.new,
        new_styles=[demo.styles[name] for name in new_names],
    )


def save(figure: plt.Figure, name: str) -> None:
    """Write a figure beside the others of the documentation."""
    figure.savefig(FIGURES / f"{name}.png", dpi=160, metadata={"Software": None})


def draw_sound(songs: Songs, histograms: np.ndarray) -> None:
    """Waveform, frames and histogram of three songs: two of one artist, one of another style."""
    first, same, other = _three_songs(songs, histograms)
    figure, axes = plt.subplots(3, 3, figsize=(9, 5), width_ratios=[1, 1, 1.2], layout="constrained")
    rows = [
        (first, "song 1", ACCENT),
        (same, "song 2\n(same artist)", ACCENT),
        (other, "song 3\n(another style)", SECOND),
    ]
    order = np.argsort(-histograms[first])
    everything = np.concatenate(songs.frames)[:, 1:13]
    mean, scale = everything.mean(axis=0), everything.std(axis=0)
    tallest = max(histograms[song].max() for song, *_ in rows)
    for row, (song, label, colour) in zip(axes, rows, strict=True):
        samples = load_audio(songs.paths[song])[::40]
        row[0].plot(np.linspace(0, SECONDS, len(samples)), samples / np.abs(samples).max(), color=colour, lw=0.4)
        row[0].set(yticks=[], ylabel=label, xticks=[], xlim=(0, SECONDS), ylim=(-1.1, 1.1))
        coefficients = (songs.frames[song][:, 1:13] - mean) / scale
        row[1].imshow(coefficients.T, aspect="auto", origin="lower", cmap="PuOr_r", vmin=-2.5, vmax=2.5)
        row[1].set(xticks=[], yticks=[])
        row[2].bar(np.arange(N_CODEWORDS), histograms[song][order], color=colour, width=0.9)
        row[2].set(yticks=[], xticks=[], ylim=(0, 1.05 * tallest))
    axes[0, 0].set_title("the sound")
    axes[0, 1].set_title("its tone colour over time")
    axes[0, 2].set_title("how much of each typical sound it has")
    axes[-1, 0].set_xlabel(f"{SECONDS:g} seconds")
    axes[-1, 1].set_xlabel(f"{SECONDS:g} seconds")
    axes[-1, 2].set_xlabel(f"{N_CODEWORDS} typical sounds, in the order of song 1")
    save(figure, "how-sound")


def _three_songs(songs: Songs, histograms: np.ndarray) -> tuple[int, int, int]:
    """Return two similar songs of one artist, and a song of another style that differs from both."""
    apart = np.abs(histograms[:, None] - histograms).sum(axis=2)
    same_artist = np.equal.outer(songs.artist, songs.artist) & ~np.eye(len(apart), dtype=bool)
    first, same = np.unravel_index(np.argmin(np.where(same_artist, apart, np.inf)), apart.shape)
    style = np.array(songs.styles)[songs.artist]
    other = int(np.argmax(np.where(style != style[first], apart[first], -1)))
    return int(first), int(same), other


def draw_listeners(songs: Songs) -> None:
    """Who plays whom, and the listeners that two artists share."""
    plays = (songs.plays.toarray() > 0).astype(int)
    popular = np.argsort(-plays.sum(axis=0))[:24]
    shared = plays.T @ plays
    jaccard = shared / (plays.sum(axis=0)[:, None] + plays.sum(axis=0) - shared)
    np.fill_diagonal(jaccard, 0)
    first = int(popular[0])
    candidates = np.flatnonzero((plays.sum(axis=0) > 20) & (np.arange(plays.shape[1]) != first))
    most, fewest = candidates[np.argsort(jaccard[first, candidates])[[-1, 0]]]
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), width_ratios=[1.25, 1, 1], layout="constrained")
    users, artists = np.nonzero(plays[:40][:, popular])
    axes[0].scatter(artists, users, s=9, color=ACCENT)
    axes[0].set(xlabel="artists", ylabel="listeners", xticks=[], yticks=[], title="who plays whom")
    for ax, other, colour, word in [(axes[1], most, ACCENT, "many"), (axes[2], fewest, SECOND, "few")]:
        radius = np.sqrt(plays.sum(axis=0)[[first, other]] / np.pi)
        apart = _distance_for_overlap(radius[0], radius[1], shared[first, other])
        for x, r in [(0, radius[0]), (apart, radius[1])]:
            ax.add_patch(Circle((x, 0), r, color=colour, alpha=0.35, lw=0))
        ax.set(
            xlim=(-radius[0] - 1, apart + radius[1] + 1),
            title=f"two artists that share {word} listeners\n{jaccard[first, other]:.0%} of them play both",
        )
        ax.set_aspect("equal")
        ax.set_ylim(-max(radius) - 1, max(radius) + 1)
        ax.axis("off")
    save(figure, "how-listeners")


def _distance_for_overlap(a: float, b: float, area: float) -> float:
    """Return how far two circles of radius a and b are apart if they share an area."""
    low, high = abs(a - b), a + b
    for _ in range(60):
        d = (low + high) / 2
        x = (d * d + a * a - b * b) / (2 * d)
        y = np.sqrt(max(a * a - x * x, 0))
        lens = a * a * np.arccos(np.clip(x / a, -1, 1)) + b * b * np.arccos(np.clip((d - x) / b, -1, 1)) - d * y
        low, high = (d, high) if lens > area else (low, d)
    return (low + high) / 2


def draw_metric(songs: Songs, native: np.ndarray, learned: np.ndarray, relevant: sp.csr_array) -> None:
    """All songs in the order of their distance from one song, before and after learning, for three songs."""
    queries = [int(np.flatnonzero(songs.artist == artist)[0]) for artist in _typical_artists(songs)]
    figure, axes = plt.subplots(len(queries), 1, figsize=(9, 4.4), layout="constrained")
    for number, (ax, query) in enumerate(zip(axes, queries, strict=True), start=1):
        wanted = relevant[[query]].toarray()[0] > 0
        others = songs.artist != songs.artist[query]
        for y, points in [(1, native), (0, learned)]:
            order = np.argsort(np.where(others, np.linalg.norm(points - points[query], axis=1), np.inf))[
                : others.sum()
            ]
            shared = wanted[order]
            ax.scatter(np.flatnonzero(~shared), np.full((~shared).sum(), y), s=14, color=GREY, marker="|")
            ax.scatter(np.flatnonzero(shared), np.full(shared.sum(), y), s=120, color=ACCENT, marker="|", lw=2)
        ax.set_yticks([1, 0], ["sound alone", "learned"])
        ax.set(ylim=(-0.6, 1.6), xticks=[], xlim=(-2, others.sum() + 1), title=f"song {number}")
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(length=0)
    axes[-1].set_xlabel("most similar  ←  all other songs in order  →  least similar")
    save(figure, "how-metric")


def _typical_artists(songs: Songs) -> np.ndarray:
    """Return three artists with many listeners."""
    return np.argsort(-np.asarray((songs.plays > 0).sum(axis=0)).ravel())[[2, 6, 10]]


def draw_new_song(songs: Songs, model: SimilarityModel, learned: np.ndarray) -> None:
    """Where a song that nobody has played goes, and what it is then near to."""
    new = model.project(model.encode(songs.new[0]))
    distances = np.linalg.norm(learned - new, axis=1)
    nearest = np.argsort(distances)[:8]
    shown = TSNE(perplexity=20, random_state=0, init="pca").fit_transform(np.vstack([learned, new]))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), width_ratios=[1.2, 1], layout="constrained")
    axes[0].scatter(*shown[:-1].T, s=16, color=GREY)
    axes[0].scatter(*shown[nearest].T, s=30, color=ACCENT)
    axes[0].scatter(*shown[-1], s=190, marker="*", color=SECOND, zorder=3)
    axes[0].set(xticks=[], yticks=[], title="the new song (star) among the library's")
    for spine in axes[0].spines.values():
        spine.set_visible(False)
    names = [f"{songs.artists[songs.artist[i]]} ({songs.styles[songs.artist[i]]})" for i in nearest]
    axes[1].barh(range(len(nearest)), distances[nearest], color=ACCENT)
    axes[1].set_yticks(range(len(nearest)), names, size=8)
    axes[1].invert_yaxis()
    axes[1].set(xlabel="distance", title=f"most similar to a new song ({songs.new_styles[0]})")
    save(figure, "how-new-song")


def main() -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        songs = read_songs(Path(folder))
        codebook = Codebook(n_codewords=N_CODEWORDS).fit(codebook_bag(iter(songs.frames)))
        neighbours, _ = jaccard_neighbors(songs.plays, k=6, min_plays=1)
        relevant, ignored = relevant_songs(neighbours, songs.artist)
        native = SimilarityModel.learn(codebook, songs.frames, tau=4)
        learned = SimilarityModel.learn(codebook, songs.frames, relevant, ignored, tau=4)
        histograms = native.encode_all(songs.frames)
        draw_sound(songs, histograms)
        draw_listeners(songs)
        draw_metric(songs, native.project(histograms), learned.project(histograms), relevant)
        draw_new_song(songs, learned, learned.project(histograms))


if __name__ == "__main__":
    main()
