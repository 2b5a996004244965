"""Learning a codebook against scikit-learn's mini-batch k-means, and top-tau search against its matrix product.

One JSON line a case. ``codebook_fit``: seconds and quantization error of ``Codebook.fit``, of one pass of
``MiniBatchKMeans`` from the same start over the same z-scores with small and with large batches, and of its ``fit``
as it comes, each on one thread; ``ratio`` is to the fastest of them.
``top_tau``: seconds of the search, of the matrix product alone in the same tiles, and their ratio.
``encoder``: CPU seconds an hour of audio takes beyond its frames, and milliseconds of a clip of 30 seconds, a line an
encoder; ``ratio`` is to its ``cost``.
"""

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator
from time import perf_counter, process_time

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from nearsong.encoding import Codebook, TopTauHistogram
from nearsong.errors import EncoderNotInstalledError
from nearsong.model import SongEncoder
from nearsong.model.encoders import ENCODERS, encoder_class
from nearsong.model.encoders.codewords import MAX_CODEWORDS, MIN_FRAMES_PER_CODEWORD

WIDTH = 39
ROUNDS = 7
TILE = 256
SAMPLE_SONGS = 60
PROFILES = {
    "smoke": {"bag": 20_000, "codewords": 128, "frames": 2_000, "sizes": [256], "taus": [1, 8]},
    "full": {"bag": 1_100_000, "codewords": 1024, "frames": 20_671, "sizes": [256, 1024, 2048], "taus": [1, 2, 4, 8]},
}


def made_up_frames(n_frames: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Frames like music's: 200 timbres, held for a while, correlated coefficients that wander from frame to frame."""
    rng = np.random.default_rng(seed)
    wander = lfilter([0.6], [1.0, -0.8], rng.standard_normal((n_frames, WIDTH)), axis=0)
    mixing = rng.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)
    timbres = rng.standard_normal((200, WIDTH))
    held = np.repeat(rng.integers(len(timbres), size=n_frames // 40 + 1), 40)[:n_frames]
    loudness = np.linspace(20.0, 0.5, WIDTH)
    return np.asarray((wander @ mixing + timbres[held]) * loudness, dtype=np.float32)


def wall(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def codebook_fit(bag: int, codewords: int) -> dict[str, object]:
    frames = made_up_frames(bag)
    Codebook(2).fit(frames[:100])  # compiles
    codebook = Codebook(codewords)
    seconds = wall(lambda: codebook.fit(frames))

    scores = codebook.normalize(frames)[np.random.default_rng(0).permutation(bag)]

    def pass_once(size: int) -> MiniBatchKMeans:
        peer = MiniBatchKMeans(
            codewords, init=scores[:codewords].copy(), n_init=1, reassignment_ratio=0, random_state=0
        )
        for first in range(0, bag, size):
            peer.partial_fit(scores[first : first + size])
        return peer

    def error_of(peer: MiniBatchKMeans) -> float:
        centres = Codebook.from_arrays(codebook.mean_, codebook.scale_, peer.cluster_centers_)
        return round(centres.quantization_error(frames), 4)

    peers = {
        "pass_1024": lambda: pass_once(1024),
        "pass_8192": lambda: pass_once(8192),
        "default_fit": lambda: MiniBatchKMeans(codewords, random_state=0).fit(scores),
    }
    result = {"case": f"codebook_fit_{bag}_x_{codewords}", "seconds": round(seconds, 2)}
    result["error"] = round(codebook.quantization_error(frames), 4)
    fastest = np.inf
    for name, run in peers.items():
        start = perf_counter()
        peer = run()
        peer_seconds = perf_counter() - start
        fastest = min(fastest, peer_seconds)
        result |= {f"{name}_seconds": round(peer_seconds, 2), f"{name}_error": error_of(peer)}
    return result | {"ratio": round(seconds / fastest, 2)}


def top_tau(n_frames: int, sizes: list[int], taus: list[int]) -> Iterator[dict[str, object]]:
    frames = made_up_frames(n_frames)
    mean, scale = frames.mean(axis=0), frames.std(axis=0)
    for n_codewords in sizes:
        chosen = np.random.default_rng(1).choice(n_frames, n_codewords, replace=False)
        codewords = (frames[chosen] - mean) / scale
        codebook = Codebook.from_arrays(mean, scale, codewords)
        left = np.column_stack([(frames - mean) / scale, np.ones(n_frames)]).astype(np.float32)
        right = np.vstack([-codewords.T, (codewords**2).sum(axis=1) / 2]).astype(np.float32)
        keys = np.empty((TILE, n_codewords), np.float32)

        def multiply(left=left, right=right, keys=keys) -> None:
            for first in range(0, len(left), TILE):
                part = left[first : first + TILE]
                np.matmul(part, right, out=keys[: len(part)])

        for tau in taus:
            encoder = TopTauHistogram(codebook, tau)
            encoder.nearest(frames[:1])  # compiles
            # Taken in turn, so that whatever else the machine does falls on both; the best of each counts.
            pairs = [[wall(lambda e=encoder: e.nearest(frames)), wall(multiply)] for _ in range(ROUNDS)]
            seconds, gemm_seconds = np.min(pairs, axis=0).tolist()
            yield {
                "case": f"top_{tau}_of_{n_codewords}_x_{n_frames}",
                "seconds": round(seconds, 4),
                "gemm_seconds": round(gemm_seconds, 4),
                "ratio": round(seconds / gemm_seconds, 2),
            }


def _installed_encoders() -> list[str]:
    """Return musicnn, if `nearsong encoders install musicnn` was run; others have no cost of their own."""
    with contextlib.suppress(EncoderNotInstalledError):
        encoder_class("musicnn").check_available()
        return ["musicnn"]
    return []


def encoder_costs(n_frames: int) -> Iterator[dict[str, object]]:
    every_frame = made_up_frames(n_frames)
    every_sample = np.split(made_up_frames(MAX_CODEWORDS * MIN_FRAMES_PER_CODEWORD, seed=1), SAMPLE_SONGS)
    for name in [*ENCODERS, *_installed_encoders()]:
        features = encoder_class(name).default_features()
        frames = _of_width(every_frame, features.n_features)
        clip = np.resize(frames, (round(30 / features.seconds_a_frame), features.n_features))
        encoder = encoder_class(name).fit([_of_width(sample, features.n_features) for sample in every_sample])
        encoder.encode(frames[:TILE])  # compiles
        seconds = min(_encoding_seconds(encoder, frames) for _ in range(ROUNDS))
        seconds *= 3600 / (n_frames * features.seconds_a_frame)
        clip_seconds = min(_encoding_seconds(encoder, clip) for _ in range(10 * ROUNDS))
        yield {
            "case": f"encoder_{name}",
            "seconds_an_hour": round(seconds, 3),
            "clip_milliseconds": round(1000 * clip_seconds, 2),
            "dimensions": encoder.n_dimensions,
            "ratio": round(seconds / encoder.cost, 2),
        }


def _of_width(frames: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.float32]:
    """Return as many frames of another number of coefficients."""
    return np.tile(frames, (1, -(-width // WIDTH)))[:, :width]


def _encoding_seconds(encoder: SongEncoder, frames: npt.NDArray[np.float32]) -> float:
    start = process_time()
    accumulator = encoder.start()
    for first in range(0, len(frames), TILE):
        accumulator.add(frames[first : first + TILE])
    accumulator.result()
    return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    sizes = PROFILES[parser.parse_args().profile]
    with threadpool_limits(1):
        for case in top_tau(sizes["frames"], sizes["sizes"], sizes["taus"]):
            print(json.dumps(case), flush=True)
        for case in encoder_costs(sizes["frames"]):
            print(json.dumps(case), flush=True)
        print(json.dumps(codebook_fit(sizes["bag"], sizes["codewords"])), flush=True)


if __name__ == "__main__":
    main()
