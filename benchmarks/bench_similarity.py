"""Whose nearest songs do listeners agree with: nearsong, and other programs on the same files and held-out artists.

One JSON line a method: AUC for songs of held-out artists, against known songs and among unseen artists, as a training
of the library reports it (mean over artists, 95 % interval). ``above_sound_alone`` is the difference in AUC from
nearsong without any listeners. The artists are split as the training splits them; programs that learn nothing
from listeners are scored on the same rankings.

``musicnn``: cosine of MSD_musicnn's penultimate layer, which AudioMuse-AI finds similar songs with; its weights must
be installed (``nearsong encoders install musicnn``). ``musly``, ``bliss``: their own distances between whole files.

The music is a folder of yours with a listening history of many people (``--music``, ``--listens``), or the demo's.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nearsong.audio import load_audio
from nearsong.demo.music import make_demo_library
from nearsong.errors import EncoderNotInstalledError
from nearsong.library import Library
from nearsong.library.listeners.histories import ListenerChoice
from nearsong.library.store import Store
from nearsong.library.training.data import choose_training_set
from nearsong.library.training.report import DATABASES, TrainingReport
from nearsong.library.training.settings import TrainingSettings
from nearsong.library.training.tally import Tally
from nearsong.library.training.train import training_data
from nearsong.model.encoders import encoder_class
from nearsong.model.held_out import make_split
from nearsong.types import FloatArray, no_progress

PROFILES: dict[str, dict[str, Any]] = {
    "smoke": {"n_artists": 26, "songs_an_artist": 1, "seconds": 2.0, "n_listeners": 60},
    "full": {"n_artists": 72, "songs_an_artist": 3, "seconds": 20.0, "n_listeners": 400},
}
Distances = Callable[[Sequence[str]], FloatArray]
"""Paths -> their distances (n_songs, n_songs)."""


class NotRunnableError(Exception):
    """A program cannot be measured here; the text says why."""


def musly_distances(paths: Sequence[str]) -> FloatArray:
    if not find_spec("pymusly"):
        raise NotRunnableError("not installed")
    from pymusly import MuslyJukebox

    jukebox = MuslyJukebox("timbre", "none")
    tracks = [jukebox.track_from_audiodata(load_audio(path).tolist()) for path in paths]
    jukebox.set_style(tracks)
    numbered = list(zip(jukebox.add_tracks(tracks), tracks, strict=True))
    return np.array([jukebox.compute_similarity(seed, numbered) for seed in numbered])


BLISS = "import json, sys; from bliss_audio import Song; print(json.dumps([Song(p).analysis for p in sys.argv[1:]]))"


def bliss_distances(paths: Sequence[str]) -> FloatArray:
    if not find_spec("bliss_audio"):
        raise NotRunnableError("not installed")
    done = subprocess.run([sys.executable, "-c", BLISS, *paths], capture_output=True, text=True, check=False)
    if done.returncode < 0:  # its wheel is compiled for newer processors than some have
        raise NotRunnableError("does not run on this processor")
    done.check_returncode()
    return _euclidean(np.array(json.loads(done.stdout)))


def musicnn_distances(paths: Sequence[str]) -> FloatArray:
    encoder_type = encoder_class("musicnn")
    try:
        encoder_type.check_available()
    except EncoderNotInstalledError as error:
        raise NotRunnableError("not installed") from error
    encoder = encoder_type.fit([], features=encoder_type.default_features(), seed=0)
    vectors = np.array([encoder.encode(path) for path in paths])
    return _euclidean(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _euclidean(vectors: FloatArray) -> FloatArray:
    squares = np.square(vectors).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * vectors @ vectors.T, 0.0))


PEERS: dict[str, Distances] = {"musly": musly_distances, "bliss": bliss_distances, "musicnn": musicnn_distances}


def peer_lines(
    address: Path, path_of: dict[int, str], settings: TrainingSettings, report: TrainingReport
) -> Iterator[dict[str, Any]]:
    """Score other programs on the splits of a training."""
    with closing(Store(address)) as store:
        encoder_ids = tuple(store.models.scanned_encoders().values())
        data, _ = training_data(store, encoder_ids, ListenerChoice(), settings, no_progress)
    chosen = choose_training_set(data, settings)
    assert data.song_ids is not None
    assert len(chosen.songs) == report.songs
    paths = [path_of[song] for song in data.song_ids[chosen.songs].tolist()]
    listening = chosen.listening_data
    for name, distances in PEERS.items():
        try:
            table = distances(paths)
        except NotRunnableError as error:
            yield {"case": name, "skipped": str(error)}
            continue
        tally = Tally(listening.n_artists, settings.seed)
        for number in range(chosen.n_splits):
            split = make_split(listening, number, n_relevant=chosen.n_relevant, seed=settings.seed)
            for database, ranking in zip(DATABASES, (split.test_known, split.test_unknown), strict=True):
                artists = listening.song_artist[ranking.queries]
                tally.add(name, database, artists, ranking.score_distances(table))
        yield line_of(tally.row(name), report)


def line_of(row: Any, report: TrainingReport) -> dict[str, Any]:
    line: dict[str, Any] = {"case": row.name}
    for database in DATABASES:
        estimate = getattr(row, database)
        if estimate is not None:
            line[database] = round(estimate.mean, 4)
            line[f"{database}_interval"] = [round(estimate.low, 4), round(estimate.high, 4)]
            native = report.score("native", database)
            if native is not None:
                line[f"{database}_above_sound_alone"] = round(estimate.mean - native, 4)
    return line


def measure(
    music: Path, listens: Sequence[Path], settings: TrainingSettings, folder: Path
) -> Iterator[dict[str, Any]]:
    address = folder / "library.sqlite"
    with Library.open(address) as library:
        library.scan(music)
        library.import_listens(*listens)
        report = library.train(settings)
        path_of = {song.id: song.path for song in library.songs()}
    yield {"case": "data", "songs": report.songs, "artists": report.artists, "listeners": report.listeners}
    yield from (line_of(row, report) for row in report.rows)
    yield from peer_lines(address, path_of, settings, report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--music", type=Path, metavar="DIR", help="a folder of audio files to use")
    parser.add_argument("--listens", type=Path, nargs="+", metavar="FILE", help="listening histories of its artists")
    arguments = parser.parse_args()
    if (arguments.music is None) != (arguments.listens is None):
        raise SystemExit("--music and --listens go together; give both.")
    settings = TrainingSettings()
    if arguments.profile == "smoke":
        settings = TrainingSettings(methods=("listener_space",), n_splits=2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        music, listens = arguments.music, arguments.listens
        if music is None:
            made = make_demo_library(folder / "demo", **PROFILES[arguments.profile])
            music, listens = made.music, [made.listens, made.playlists]
        for line in measure(music, listens, settings, folder):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
