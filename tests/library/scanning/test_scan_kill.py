"""Real processes: a scan that is killed loses what it had in its hands, and two at once share a library."""

import contextlib
import multiprocessing
import signal

import numpy as np
import pytest

from codewords_of import codewords_of
from nearsong.library.scanning.scan import scan
from nearsong.library.store import Store

pytestmark = pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="kills processes as POSIX has them"
)

SCAN = """
import os, signal
from nearsong.errors import AudioError
from nearsong.library.models import fit_encoder
from nearsong.library.scanning import scan
from nearsong.library.store import Store
from nearsong.library.store.songs import SongTable

def map_here(function, paths, **options):
    for path in paths:
        try:
            yield path, function(path)
        except AudioError as error:
            yield path, error

def tell(stage, done, total):
    pipe.send(f"{stage} {done}")
    if how == "step by step":
        pipe.recv()

if how != "with workers":  # which are slower to start
    scan.map_audio_files = fit_encoder.map_audio_files = map_here
if how == "dies in a song":
    put, calls = SongTable.put, []
    def put_and_die(*arguments):
        calls.append(put(*arguments))
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGKILL)  # before the transaction ends
        return calls[-1]
    SongTable.put = put_and_die
if how == "dies in embeddings":
    put_embeddings = SongTable.put_embeddings
    def embed_and_die(*arguments):
        put_embeddings(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    SongTable.put_embeddings = embed_and_die
report = scan.scan(Store(address), [folder], scan.ScanOptions(workers=1), progress=tell)
pipe.send(f"done {report.found}")
"""


class ScanProcess:
    """A scan in a process of its own."""

    def __init__(self, address: str, folder: str, how: str) -> None:
        context = multiprocessing.get_context("forkserver")
        self.pipe, theirs = context.Pipe()
        names = {"address": address, "folder": folder, "how": how, "pipe": theirs}
        self.process = context.Process(target=exec, args=(SCAN, names))
        self.process.start()
        theirs.close()

    def read_until(self, text: str) -> list[str]:
        """Return what it says until it says this; one that goes step by step is asked to go on."""
        lines: list[str] = []
        while not lines or lines[-1] != text:
            if lines:
                with contextlib.suppress(BrokenPipeError):
                    self.pipe.send("go on")
            assert self.pipe.poll(120), lines
            lines.append(self.pipe.recv())
        return lines

    def kill(self) -> None:
        self.process.kill()
        self.process.join(60)
        assert self.process.exitcode == -signal.SIGKILL


@pytest.fixture
def start(address, music, quick_workers):
    """Return a function that starts a scan."""
    started: list[ScanProcess] = []

    def run(how: str = "") -> ScanProcess:
        started.append(ScanProcess(address, str(music), how))
        return started[-1]

    yield run
    for one in started:
        one.process.kill()
        one.process.join(60)
        one.pipe.close()


def state(address) -> dict[str, tuple[int, bytes]]:
    """Return what is in a library: path -> id and sound."""
    with contextlib.closing(Store(address)) as store:
        songs, encoder_id = store.songs.all(), codewords_of(store)
        sounds: dict[int, bytes] = {}
        for ids, rows in store.songs.vectors([encoder_id or -1]):
            sounds |= {song: row.tobytes() for song, row in zip(ids.tolist(), rows, strict=True)}
        assert store.songs.problems() == []
        assert sorted(sounds) == [song.id for song in songs]  # no song without its sound, nor the other way round
        return {song.path: (song.id, sounds[song.id]) for song in songs}


def is_part_of(before, after) -> bool:
    return before.items() <= after.items()


def test_a_scan_that_is_killed_anywhere_goes_on_where_it_was(start, address, analysed):
    process = start("step by step")
    process.read_until("reading samples 1")
    process.kill()
    assert state(address) == {}

    process = start("step by step")
    process.read_until("analysing songs 1")
    first = state(address)  # another process sees how far it is
    assert len(first) == 1
    process.kill()
    assert state(address) == first

    process = start("dies in a song")
    process.process.join(120)
    assert process.process.exitcode == -signal.SIGKILL
    second = state(address)
    assert len(second) == 3
    assert is_part_of(first, second)

    process = start("dies in embeddings")
    process.process.join(120)
    assert process.process.exitcode == -signal.SIGKILL
    third = state(address)
    assert len(third) == 6
    assert is_part_of(second, third)

    with contextlib.closing(Store(address)) as store:
        assert store.models.active is None
        report = scan(store)
        assert analysed.take() == []
        assert report.unchanged == 6
        assert store.songs.embeddings(store.models.active)[0].tolist() == sorted(song for song, _ in third.values())
    assert state(address) == third


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_a_scan_with_worker_processes_is_killed_and_goes_on(start, address, analysed):
    process = start("with workers")
    reported = process.read_until("analysing songs 2")
    process.kill()
    before = state(address)
    assert 2 <= sum(line.startswith("analysing songs") for line in reported) <= len(before)
    with contextlib.closing(Store(address)) as store:
        report = scan(store)
        assert len(analysed.take()) == report.added == 6 - len(before)
    assert is_part_of(before, state(address))


def test_two_scans_at_once_share_a_library(start, address, music, make_song):
    for i in range(6, 12):
        make_song(music / "more" / f"Song {i}.wav", seed=i)
    processes = [start(), start()]
    for process in processes:
        process.read_until("done 12")
        process.process.join(60)
        assert process.process.exitcode == 0
    found = state(address)
    assert sorted(found) == sorted(str(path) for path in music.rglob("*.wav"))
    assert len({song for song, _ in found.values()}) == 12
    with contextlib.closing(Store(address)) as store:
        ids, embeddings = store.songs.embeddings(store.models.active)
        assert ids.tolist() == sorted(song for song, _ in found.values())
        assert np.isfinite(embeddings).all()
        assert len({row.encoder_ids for row in store.models.rows()}) == 1
        assert scan(store).unchanged == 12
