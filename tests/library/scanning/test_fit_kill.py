"""A first scan that is killed at every step: nothing is read or fitted twice, and the library is the same."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import time
from types import SimpleNamespace

import pytest

from nearsong.errors import LibraryError
from nearsong.library.models import fit_encoder, fitting_cache
from nearsong.library.models.fitting_cache import FOLDER_NAME, MAX_AGE_SECONDS, FittingCache
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.library.store import Store, vectors

ENCODERS = ("codewords", "gaussian")

SCAN = """
import os, signal
from nearsong.errors import AudioError
from nearsong.library.models import fit_encoder
from nearsong.library.scanning import scan
from nearsong.library.store import Store, songs, vectors
from nearsong.model.encoders import ENCODERS

steps = []

def step(name):
    # the first step is made; before the second one the process dies
    if steps:
        os.kill(os.getpid(), signal.SIGKILL)
    steps.append(name)
    with open(log, "a") as file:
        file.write(name + "\\n")

def map_here(function, paths, **options):
    kind = function.func.__name__
    for path in paths:
        step(kind + " " + os.path.basename(path))
        try:
            result = function(path)
        except AudioError as error:
            result = error
        yield path, result

def stepwise(name, call):
    def one(*arguments, **options):
        step(name)
        return call(*arguments, **options)
    return one

scan.map_audio_files = fit_encoder.map_audio_files = map_here
for name in encoders:
    ENCODERS[name].fit = stepwise("fit " + name, ENCODERS[name].fit)
songs.SongTable.put_embeddings = stepwise("embed", songs.SongTable.put_embeddings)
vectors.BLOCK_ROWS = 2
options = scan.ScanOptions(workers=1, encoders=encoders)
scan.scan(Store(address), [folder], options)
"""


def contents(address) -> dict[str, object]:
    """Return all that a scan computes, by the names of files and encoders, as bytes."""
    with contextlib.closing(Store(address)) as store:
        path_of = {song.id: song.path for song in store.songs.all()}
        found: dict[str, object] = {"problems": store.songs.problems()}
        for row in store.models.encoders():
            found[row.name] = (store.models.encoder(row.id), row.fitted_songs)
            for ids, vectors in store.songs.vectors([row.id]):
                found |= {f"{row.name} {path_of[i]}": v.tobytes() for i, v in zip(ids.tolist(), vectors, strict=True)}
        (model,) = store.models.rows()  # a second one would be what was left of a first attempt
        assert store.models.active == model.id
        found["model"] = store.models.data(model.id)
        ids, embeddings = store.songs.embeddings(model.id)
        return found | {path_of[i]: v.tobytes() for i, v in zip(ids.tolist(), embeddings, strict=True)}


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="kills processes")
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_a_scan_that_makes_one_step_before_each_kill_ends_with_the_library_of_one_that_was_not_killed(
    address, music, quick_workers, tmp_path, analysed, monkeypatch
):
    (music / "Artist 0" / "A broken song.mp3").write_bytes(b"not audio at all")
    log, exitcodes = tmp_path / "steps", []
    names = {"address": address, "folder": str(music), "log": str(log), "encoders": ENCODERS}
    while len(exitcodes) < 40 and 0 not in exitcodes:
        process = multiprocessing.get_context("forkserver").Process(target=exec, args=(SCAN, dict(names)))
        process.start()
        process.join(120)
        exitcodes.append(process.exitcode)
    assert exitcodes == [-signal.SIGKILL] * (len(exitcodes) - 1) + [0]
    steps = log.read_text().splitlines()
    assert sorted(step for step in steps if step != "embed") == sorted(
        [f"fit {name}" for name in ENCODERS]
        + [f"{kind} Song {i}.wav" for kind in ("sample_frames", "analyse_file") for i in range(6)]
        + [f"{kind} A broken song.mp3" for kind in ("sample_frames", "analyse_file")]
    )
    assert steps.count("embed") == 3
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 2)
    undisturbed = tmp_path / "undisturbed" / "library.sqlite"
    with contextlib.closing(Store(undisturbed)) as store:
        scan(store, [music], ScanOptions(workers=1, encoders=ENCODERS))
        assert not (store.cache / FOLDER_NAME).exists()
    assert contents(address) == contents(undisturbed)


class StoppedError(Exception):
    """Stands for an interruption."""


@pytest.fixture
def stop_after(store, music):
    """Return a function that scans until some samples were read."""

    def run(n: int) -> None:
        def stop(stage: str, done: int, total: int) -> None:
            if (stage, done) == ("reading samples", n):
                raise StoppedError

        with pytest.raises(StoppedError):
            scan(store, [music], ScanOptions(encoders=("codewords",)), progress=stop)

    return run


def finish(store, music, analysed) -> list[str]:
    """Scan, and return the files whose samples were read."""
    scan(store, [music], ScanOptions(encoders=("codewords",)))
    assert not (store.cache / FOLDER_NAME).exists()
    n_sampled = len(analysed.paths) - 6
    return sorted(os.path.basename(path) for path in analysed.paths[:n_sampled])


def entries(store):
    return sorted((store.cache / FOLDER_NAME).iterdir())


def test_samples_that_were_read_are_not_read_again(store, music, analysed, stop_after):
    stop_after(4)
    read = {os.path.basename(path) for path in analysed.paths}
    analysed.take()
    assert len(entries(store)) == len(read) == 4
    assert finish(store, music, analysed) == sorted({f"Song {i}.wav" for i in range(6)} - read)


def truncated(files):
    files[0].write_bytes(files[0].read_bytes()[:-50])
    return 1


def flipped(files):
    data = bytearray(files[0].read_bytes())
    data[len(data) // 2] ^= 255
    files[0].write_bytes(data)
    return 1


def empty(files):
    files[0].write_bytes(b"")
    return 1


def of_another_song(files):
    files[0].write_bytes(files[1].read_bytes())
    return 1


def a_folder(files):
    files[0].unlink()
    files[0].mkdir()
    (files[0] / "file").touch()
    return 1


@pytest.mark.parametrize("damage", [truncated, flipped, empty, of_another_song, a_folder])
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_damaged_entries_are_read_again(address, store, music, analysed, stop_after, tmp_path, damage):
    stop_after(6)
    analysed.take()
    n_damaged = damage(entries(store))
    scan(store, [music], ScanOptions(encoders=("codewords",)))
    assert len(analysed.take()) == 6 + n_damaged
    undisturbed = tmp_path / "undisturbed" / "library.sqlite"
    with contextlib.closing(Store(undisturbed)) as other:
        scan(other, [music], ScanOptions(encoders=("codewords",)))
    assert contents(address) == contents(undisturbed)


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_a_file_that_changed_is_read_again(store, music, analysed, stop_after, make_song):
    stop_after(6)
    analysed.take()
    make_song(music / "Artist 0" / "Song 0.wav", seed=50, seconds=1.8)
    assert finish(store, music, analysed) == ["Song 0.wav"]


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_another_seed_reads_all_samples(store, music, analysed, stop_after):
    stop_after(6)
    analysed.take()
    scan(store, [music], ScanOptions(encoders=("codewords",), seed=1))
    assert len(analysed.take()) == 12
    assert not (store.cache / FOLDER_NAME).exists()


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_old_entries_and_the_least_recently_used_ones_go_when_the_next_fit_starts(
    store, stop_after, analysed, monkeypatch
):
    stop_after(6)
    old, unused, *used = files = entries(store)
    now = time.time()
    for age, file in enumerate(reversed(files)):
        os.utime(file, (now - age, now - age))
    os.utime(old, (now - MAX_AGE_SECONDS - 1,) * 2)
    FittingCache(store.cache)
    assert entries(store) == [unused, *used]
    monkeypatch.setattr(fitting_cache, "MAX_BYTES", 2 * sum(file.stat().st_size for file in used))
    FittingCache(store.cache)
    assert entries(store) == used


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_nothing_is_kept_where_little_space_is_left(store, stop_after, analysed, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=fitting_cache.MIN_FREE_BYTES))
    stop_after(6)
    assert entries(store) == []


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_without_a_cache_folder_a_scan_works(store, music, analysed):
    store.cache.parent.mkdir(parents=True, exist_ok=True)
    store.cache.write_text("no folder")  # nobody can write here, whoever they are
    scan(store, [music], ScanOptions(encoders=("codewords",)))
    assert len(analysed.take()) == 12
    assert store.songs.counts()["songs"] == 6


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_files_that_could_not_be_read_are_tried_again_once_a_scan_has_said_so(store, music, analysed, monkeypatch):
    real = fit_encoder.sample_sound

    def fail(path, *given):
        raise fit_encoder.TooShortAudioError(path, "is too short.")

    monkeypatch.setattr(fit_encoder, "sample_sound", fail)
    with pytest.raises(LibraryError, match="None of the 6 audio files can be read"):
        scan(store, [music])
    monkeypatch.setattr(fit_encoder, "sample_sound", real)
    scan(store, [music])
    assert store.songs.counts()["songs"] == 6
