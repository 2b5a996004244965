"""A file outside the library -> its nearest songs: how much of the wait is decoding.

A library of random songs is written straight into a store, a model is made of them, and `Library.similar` is asked
with a four-minute MP3 after everything is loaded. One JSON line: seconds of the answer, of decoding alone, their
shares, of a question by id, and of one with filters.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import music
from nearsong.audio import stream_audio
from nearsong.library import Filters, Library
from random_library import make_library

ROUNDS = 5
PROFILES = {
    "smoke": {"case": "ask_500_songs", "songs": 500, "codewords": 64, "seconds": 3.0},
    "full": {"case": "ask_100k_songs", "songs": 100_000, "codewords": 1024, "seconds": 240.0},
}


def median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return float(np.median(times))


def measure(profile: str) -> dict[str, object]:
    case = PROFILES[profile]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_library(folder, case["songs"], case["codewords"])
        song = music.in_format(music.synthesised_music(folder, 1, case["seconds"]), "mp3", folder)[0]
        start = perf_counter()
        with Library.open(folder / "library.sqlite") as library:
            library.similar(song)  # loads, compiles, reads the file into memory
            first = perf_counter() - start
            answer = median(lambda: library.similar(song))
            decode = median(lambda: sum(len(block) for block in stream_audio(song)))
            by_id = median(lambda: library.similar(1))
            seed = library.snapshot().seed(song)
            ready = median(lambda: library.similar(seed))
            filtered = median(lambda: library.similar(1, filters=Filters(one_per_artist=True, new_artists=True)))
    return {
        "case": case["case"],
        "answer_seconds": round(answer, 4),
        "decode_seconds": round(decode, 4),
        "decode_share": round(decode / answer, 3),
        "ratio_to_decode": round(answer / decode, 2),
        "find_seconds": round(ready, 5),
        "by_id_seconds": round(by_id, 5),
        "filtered_seconds": round(filtered, 5),
        "first_answer_seconds": round(first, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    print(json.dumps(measure(parser.parse_args().profile)))
