"""Analysing music: features against librosa, a scan against decoding alone, other programs, and memory.

One JSON line a case, each measured on one core.

``mfcc``: seconds of ``DeltaMFCC.transform`` and of librosa for the same frames; ``ratio`` is librosa's time to ours.
``features_NAME``: CPU milliseconds of the frames of 30 seconds, and of Fourier transforms of as many windows of that
size alone, by scipy in single precision, 16 at a time; ``ratio`` is the first to the second.
``scan_FORMAT``: seconds of decoding and resampling whole files, and of all that a scan does: with all default
encoders (``default_ratio``), and with the paper's histograms of 1,024 codewords alone for tau = 1 and 4; ratios are
the scan's time to decoding's. Reading WAV costs next to nothing, so what comes after it is a larger share there.
``peers``: songs a second from file to vector, of ours, with all default encoders and with codewords alone, and of
other programs for similar music, each in a process of its own and on complete songs. pymusly brings no decoder; it
gets the samples that ours decodes, in that time.
``convert_FORM``: seconds of converting files for a player that cannot play them, to FLAC or to MP3 of 128 kbit/s, and
of decoding and resampling the same files as a scan does; ``ratio`` is the first to the second.
``memory``: peak of a scan's worker process on one very long file, and what it holds before it opens the file.

The music is a folder of yours (``--music``) or a soundtrack that is fetched once into benchmarks/.music.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from signal import SIGILL
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import rfft

from music import FORMATS, full_songs, in_format, music_files, repeat_file, seconds_of, synthesised_music
from nearsong.audio import (
    SAMPLE_RATE,
    Chroma,
    DeltaMFCC,
    MelLevels,
    load_audio,
    load_frames,
    map_audio_files,
    stream_audio,
)
from nearsong.audio.conversion.convert import convert_file, identity_of
from nearsong.audio.conversion.forms import AudioFormat
from nearsong.encoding import Codebook
from nearsong.library.models.fit_encoder import fit_encoders
from nearsong.model import SimilarityModel
from nearsong.model.encoders import SongEncoder, encode_file, joined, read_encoder
from nearsong.model.encoders.registry import DEFAULT_ENCODERS
from timing import cpu, one_core, wall

CACHE = Path(__file__).parent / ".music"
TAUS = (1, 4)
BLOCK_SAMPLES = 65_536
PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {
        "songs": 2,
        "seconds": 3,
        "codewords": 32,
        "rounds": 1,
        "mfcc_seconds": 3,
        "mfcc_rounds": 1,
        "long": {"mp3": [1 / 60]},
    },
    "full": {
        "songs": 4,
        "seconds": 220,  # of each song, where they have to be synthesised
        "codewords": 1024,
        "rounds": 3,
        "mfcc_seconds": 240,
        "mfcc_rounds": 9,
        "long": {"mp3": [1, 3], "m4a": [1]},  # hours; libsndfile reads the one and FFmpeg the other
    },
}
ALLOWED = {"ratio": 1.5, "peak_mb": 500}
"""What a scan may take compared with decoding, and a worker of memory."""

PAPER = "nearsong-codewords"
"""nearsong with the paper's encoder alone."""

PEERS = {"nearsong": "nearsong", PAPER: "nearsong", "bliss-audio": "bliss_audio", "pymusly": "pymusly"}
"""Program -> its module; nearsong with all default encoders."""


@dataclass
class Music:
    """The songs of this run in every format, made when first asked for, and models that know their codewords."""

    name: str
    songs: list[Path]
    folder: Path
    sizes: dict[str, Any]
    _models: dict[int, SimilarityModel] = field(default_factory=dict)

    def as_format(self, ending: str) -> list[Path]:
        return in_format(self.songs, ending, self.folder)

    def model(self, tau: int) -> SimilarityModel:
        if not self._models:
            songs = [load_frames(path) for path in self.songs]
            codebook = Codebook(self.sizes["codewords"]).fit(np.concatenate(songs))
            self._models = {tau: SimilarityModel.learn(codebook, songs, tau=tau) for tau in TAUS}
        return self._models[tau]

    @cached_property
    def default_encoders(self) -> SongEncoder:
        """The encoders of a new library, fitted to these songs."""
        fitted = fit_encoders(DEFAULT_ENCODERS, [str(path) for path in self.songs], seed=0)
        return joined([fitted[name] for name in DEFAULT_ENCODERS])


def find_music(profile: str, folder: str | None, work: Path) -> Music:
    sizes = PROFILES[profile]
    found = [] if profile == "smoke" and folder is None else music_files(folder, CACHE)
    songs = full_songs(found, sizes["songs"])
    if songs:
        name = songs[0].relative_to(CACHE).parts[0] if folder is None else "given folder"
        return Music(name, songs, work, sizes)
    if folder is not None:
        raise SystemExit(f"--music {folder}: no audio file below it; give a folder of music.")
    if profile != "smoke":
        reason = "apt-get cannot fetch a soundtrack here; synthesised music is used"
        print(f"bench_audio: {reason}. Give a folder of yours with --music.", file=sys.stderr)
    return Music("synthesised", synthesised_music(work, sizes["songs"], sizes["seconds"]), work, sizes)


# ---- features


def librosa_frames(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    from librosa import feature, power_to_db

    mel = feature.melspectrogram(y=samples, sr=SAMPLE_RATE, n_fft=512, hop_length=256, n_mels=40)
    mfcc = feature.mfcc(S=power_to_db(mel, top_db=None), n_mfcc=13)
    return np.concatenate([mfcc, feature.delta(mfcc), feature.delta(mfcc, order=2)]).T


def measure_mfcc(music: Music) -> Iterator[dict[str, Any]]:
    seconds = music.sizes["mfcc_seconds"]
    samples = np.resize(np.concatenate([load_audio(song) for song in music.songs]), seconds * SAMPLE_RATE)
    features = DeltaMFCC()
    ours = features.transform(samples)  # compiles
    line: dict[str, Any] = {"case": "mfcc", "audio_seconds": seconds, "music": music.name}
    works: list[Callable[[], object]] = [lambda: features.transform(samples)]
    if find_spec("librosa"):
        line["largest_difference"] = float(np.abs(ours - librosa_frames(samples)).max())
        works.append(lambda: librosa_frames(samples))
    with one_core():
        # Taken in turn, so that whatever else the machine does falls on both; the best of each counts.
        best = np.min([[wall(work) for work in works] for _ in range(music.sizes["mfcc_rounds"])], axis=0)
    line |= {"seconds": round(best[0], 4), "times_real_time": round(seconds / best[0])}
    if len(best) > 1:
        line |= {"librosa_seconds": round(best[1], 4), "ratio": round(best[1] / best[0], 2)}
    yield line


FRAME_SIZES = {"chroma": (8192, 2048), "mel_levels": (2048, 512)}
"""Features -> samples of a frame, and from one frame to the next."""


def measure_features(music: Music) -> Iterator[dict[str, Any]]:
    samples = np.resize(np.concatenate([load_audio(song) for song in music.songs]), 30 * SAMPLE_RATE)
    blocks = np.split(samples, range(BLOCK_SAMPLES, len(samples), BLOCK_SAMPLES))
    for features in (Chroma(), MelLevels()):
        length, hop = FRAME_SIZES[features.name]
        windows = np.lib.stride_tricks.sliding_window_view(samples, length)[::hop]
        tiles = [np.ascontiguousarray(windows[start : start + 16]) for start in range(0, len(windows), 16)]
        works: list[Callable[[], object]] = [
            lambda features=features: deque(features.stream(blocks), maxlen=0),
            lambda tiles=tiles: [rfft(tile, axis=1) for tile in tiles],
        ]
        with one_core():
            best = np.min([[cpu(work) for work in works] for _ in range(10 * music.sizes["mfcc_rounds"])], axis=0)
        yield {
            "case": f"features_{features.name}",
            "audio_seconds": 30,
            "music": music.name,
            "milliseconds": round(1000 * best[0], 2),
            "transform_milliseconds": round(1000 * best[1], 2),
            "ratio": round(best[0] / best[1], 2),
        }


# ---- a scan


def measure_scan(music: Music) -> Iterator[dict[str, Any]]:
    encode = [music.default_encoders.encode, *(music.model(tau).encode for tau in TAUS)]
    for ending in FORMATS:
        files = music.as_format(ending)
        analyse: list[Callable[[Path], object]] = [lambda path: deque(stream_audio(path), maxlen=0), *encode]
        with one_core():
            for work in analyse:
                work(files[0])  # compiles, and warms up
            best = np.full((len(files), len(analyse)), np.inf)
            for _ in range(music.sizes["rounds"]):  # in turn; the best of each counts
                for row, path in enumerate(files):
                    best[row] = np.minimum(best[row], [wall(partial(work, path)) for work in analyse])
        decoding, *scans = best.sum(axis=0).tolist()
        length = sum(seconds_of(path) for path in files)
        line = {
            "case": f"scan_{ending}",
            "songs": len(files),
            "audio_seconds": round(length),
            "kbit_a_second": round(sum(path.stat().st_size for path in files) * 8 / length / 1000),
            "music": music.name,
            "codewords": music.sizes["codewords"],
            "decode_seconds": round(decoding, 3),
            "default_seconds": round(scans[0], 3),
            "default_ratio": round(scans[0] / decoding, 3),
            "seconds": round(scans[1], 3),
            "ratio": round(scans[1] / decoding, 3),
            "tau_4_seconds": round(scans[2], 3),
            "tau_4_ratio": round(scans[2] / decoding, 3),
            "songs_a_second": round(len(files) / scans[0], 2),
            "times_real_time": round(length / scans[0]),
        }
        yield line if ending == "wav" else line | {"allowed_ratio": ALLOWED["ratio"]}


# ---- for players


def measure_convert(music: Music) -> Iterator[dict[str, Any]]:
    files = music.as_format("m4a")
    target = music.folder / "converted"

    def convert(form: AudioFormat, path: Path) -> None:
        with FileIO(path) as file:
            convert_file(path, identity_of(file), target, form, max_seconds=36_000, max_bytes=1 << 32)

    forms = [AudioFormat(), AudioFormat(128)]
    works = [lambda path: deque(stream_audio(path), maxlen=0), *(partial(convert, form) for form in forms)]
    with one_core():
        best = np.full((len(files), len(works)), np.inf)
        for _ in range(music.sizes["rounds"]):
            for row, path in enumerate(files):
                best[row] = np.minimum(best[row], [wall(partial(work, path)) for work in works])
    decoding, *seconds = best.sum(axis=0).tolist()
    length = sum(seconds_of(path) for path in files)
    for form, taken in zip(forms, seconds, strict=True):
        yield {
            "case": f"convert_{form.extension}",
            "songs": len(files),
            "audio_seconds": round(length),
            "music": music.name,
            "decode_seconds": round(decoding, 3),
            "seconds": round(taken, 3),
            "ratio": round(taken / decoding, 3),
            "times_real_time": round(length / taken),
        }


# ---- other programs


def analysis_of(program: str, encoders: Path) -> Callable[[str], object]:
    """Return what makes a vector of a file; imports nothing but that program."""
    if program == "bliss-audio":
        from bliss_audio import Song

        return lambda path: Song(path).analysis
    if program == "pymusly":
        from pymusly import MuslyJukebox

        jukebox = MuslyJukebox("timbre", "none")
        # a list: it takes the numbers of an array one by one, which is slower
        return lambda path: jukebox.track_from_audiodata(load_audio(path).tolist())
    return read_encoder((encoders / program).read_bytes()).encode


def analyse_in_this_process(program: str, encoders: str, files: list[str]) -> list[float]:
    with one_core():
        analyse = analysis_of(program, Path(encoders))
        analyse(files[0])  # loads, compiles
        return [wall(partial(analyse, path)) for path in files]


def measure_peers(music: Music) -> Iterator[dict[str, Any]]:
    files = [str(path) for path in music.as_format("ogg")]
    for program, encoder in (("nearsong", music.default_encoders), (PAPER, music.model(1).encoder)):
        (music.folder / program).write_bytes(encoder.to_bytes())
    seconds: dict[str, list[list[float]]] = {program: [] for program, module in PEERS.items() if find_spec(module)}
    missing = {program: "not installed" for program in PEERS if program not in seconds}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for _ in range(music.sizes["rounds"]):
        for program in [program for program in seconds if program not in missing]:
            command = [sys.executable, "-W", "ignore", __file__, "--analyse", program, str(music.folder), *files]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode == -SIGILL:  # compiled for newer processors
                missing[program] = "does not run on this processor"
                continue
            done.check_returncode()
            seconds[program].append(json.loads(done.stdout.splitlines()[-1]))
    line: dict[str, Any] = {"case": "peers", "songs": len(files), "music": music.name}
    line["audio_seconds"] = round(sum(seconds_of(path) for path in music.as_format("ogg")))
    speed = {
        program: len(files) / np.min(runs, axis=0).sum()
        for program, runs in seconds.items()
        if program not in missing
    }
    for program in PEERS:
        name = program.replace("-", "_")
        line[f"{name}_songs_a_second"] = missing[program] if program in missing else round(speed[program], 2)
        if program in speed and program != "nearsong":
            line[f"ratio_to_{name}"] = round(speed["nearsong"] / speed[program], 2)
    yield line


# ---- memory


def peak_mb() -> float:
    units = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e6


def memory_of(model: SimilarityModel, path: Path) -> dict[str, float]:
    """Encode a file as a scan's worker does; runs in such a worker."""
    before = peak_mb()
    start = perf_counter()
    encoded = encode_file((model.encoder,), path)
    seconds = perf_counter() - start
    return {"audio_seconds": encoded.seconds, "seconds": seconds, "peak_mb": peak_mb(), "before_mb": before}


def measure_memory(music: Music) -> Iterator[dict[str, Any]]:
    for ending, lengths in music.sizes["long"].items():
        for hours in lengths:
            song = music.as_format(ending)[0]
            path = repeat_file(song, 3600 * hours, music.folder / f"long.{ending}")
            # a worker for every file: a peak never falls again
            (_, result), *_ = map_audio_files(partial(memory_of, music.model(1)), [path], workers=1)
            if isinstance(result, Exception):
                raise result
            line = {key: round(value, 1) for key, value in result.items()}
            length = f"{hours}h" if hours >= 1 else f"{hours * 60:.0f}min"
            yield {"case": f"memory_{length}_{ending}", "music": music.name, **line, "allowed_mb": ALLOWED["peak_mb"]}
            path.unlink()


CASES = {
    "mfcc": measure_mfcc,
    "features": measure_features,
    "scan": measure_scan,
    "convert": measure_convert,
    "peers": measure_peers,
    "memory": measure_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--case", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--music", metavar="DIR", help="a folder of audio files to use")
    parser.add_argument("--analyse", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.analyse:
        program, encoders, *files = arguments.analyse
        print(json.dumps(analyse_in_this_process(program, encoders, files)))
        return
    with tempfile.TemporaryDirectory() as folder:
        music = find_music(arguments.profile, arguments.music, Path(folder))
        for case in arguments.case:
            for line in CASES[case](music):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
