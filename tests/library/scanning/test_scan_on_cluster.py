"""A real Dask cluster, as the guide starts it, and a real PostgreSQL: the same library as from one machine, whatever
dies meanwhile.
"""

import contextlib
import io
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import soundfile

import music_library
from command_line import run_nearsong
from dask_cluster import Cluster, dask_cluster
from nearsong.audio.write import write_audio
from nearsong.errors import InvalidInputError, NearsongError, NoSuchSongError
from nearsong.library import Library, playlist_text
from nearsong.library.files.find import FoundFile
from nearsong.library.files.open_song import open_song_file
from nearsong.library.scanning.cluster.batch import FileBatch, FileLimits, LibraryAddress, analyse_batch
from nearsong.library.scanning.cluster.tasks import ClusterTasks
from nearsong.library.scanning.scan import ScanOptions, ScanReport, scan
from nearsong.library.store import Store
from required import require
from scanned_rows import check_same, stored
from tag_bombs import with_id3_bomb
from waiting import wait_for

require("dask", find_spec("distributed") is not None, "the extra `cluster` is not installed")
Client = pytest.importorskip("distributed").Client

ONE_MACHINE = ScanOptions(workers=2)
N_SONGS, N_FILES = 24, 29


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Music, and among it what is none: read only."""
    folder = music_library.make_music(tmp_path_factory.mktemp("music"), N_SONGS // 2)
    odd = folder / "Odd Band - Odd Album (1999)"
    odd.mkdir()
    sound = music_library.sound(1, 77)
    whole = write_audio(odd / "01 Cut.flac", sound, music_library.RATE)
    whole.write_bytes(whole.read_bytes()[:-4000])
    with_id3_bomb(write_audio(odd / "02 Bomb.mp3", sound, music_library.RATE))
    (odd / "03 None.mp3").write_bytes(b"no music" * 1000)
    (odd / "04 Empty.flac").touch()
    soundfile.write(odd / "05 Silence.wav", np.zeros(3 * music_library.RATE), music_library.RATE)
    return folder


@pytest.fixture(scope="module")
def s3_settings() -> dict[str, str]:
    """The address of a storage, and keys for it, as workers have them in their environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    keys = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_DEFAULT_REGION": "us-east-1"}
    return {"AWS_ENDPOINT_URL": address, **keys}


@pytest.fixture(scope="module")
def cluster(s3_settings) -> Iterator[Cluster]:
    """Two workers with their nannies."""
    with dask_cluster(2, options=(), **s3_settings) as cluster:
        yield cluster


@pytest.fixture
def new_store(postgres) -> Iterator[Callable[[], Store]]:
    with contextlib.ExitStack() as opened:
        yield lambda: opened.enter_context(contextlib.closing(Store(postgres.new_schema())))


def on(cluster: Cluster) -> ScanOptions:
    return ScanOptions(cluster=cluster.address)


def pids_of_workers(cluster: Cluster) -> list[int]:
    with Client(cluster.address, timeout=60) as client:
        client.wait_for_workers(2, timeout=120)
        return sorted(client.run(os.getpid).values())


def n_analysed(messages: str) -> int:
    """Return how many files the workers have begun to analyse, by their own words."""
    return sum(int(number) for number in re.findall(r"analysing (\d+) files from", messages))


def counts(report: ScanReport) -> dict[str, object]:
    facts = {name: value for name, value in vars(report).items() if name != "seconds"}
    return {name: sorted(value) if isinstance(value, list) else value for name, value in facts.items()}


def test_a_cluster_writes_what_one_machine_writes_byte_by_byte(folder, cluster, new_store):
    here, there = new_store(), new_store()
    expected = scan(here, [folder], ONE_MACHINE)
    stages = set()
    report = scan(there, [folder], on(cluster), progress=lambda stage, done, total: stages.add(stage))
    assert counts(report) == counts(expected)
    assert (report.found, report.added, len(report.unreadable), len(report.set_aside)) == (N_FILES, 26, 2, 1)
    assert {"reading samples", "analysing songs"} <= stages
    check_same(there, here)
    assert n_analysed(cluster.messages()) == N_FILES


@pytest.fixture
def batches_of_seven(monkeypatch) -> None:
    monkeypatch.setattr("nearsong.library.scanning.cluster.cluster_scan.MIN_BATCHES", 2)


@pytest.fixture(scope="module")
def expected(folder, encoder, tmp_path_factory) -> Iterator[Store]:
    """What one machine writes with a small encoder."""
    with contextlib.closing(Store(tmp_path_factory.mktemp("expected") / "library.sqlite")) as store:
        scan(store, [folder], ONE_MACHINE, encoder=encoder)
        yield store


def once_analysing(do: Callable[[], object]) -> Callable[[str, int, int], None]:
    """Return a progress that does something when the first batch is written and others are under way."""
    done = []

    def progress(stage: str, step: int, total: int) -> None:
        if stage == "analysing songs" and not done:
            done.append(do())

    return progress


def test_a_worker_that_is_killed_costs_at_most_its_batch(
    folder, cluster, encoder, new_store, expected, batches_of_seven
):
    store, before = new_store(), n_analysed(cluster.messages())
    pids = pids_of_workers(cluster)
    report = scan(
        store,
        [folder],
        on(cluster),
        encoder=encoder,
        progress=once_analysing(lambda: os.kill(pids[0], signal.SIGKILL)),
    )
    assert report.found == N_FILES
    check_same(store, expected)
    assert n_analysed(cluster.messages()) - before <= N_FILES + 7
    assert pids_of_workers(cluster) != pids  # its nanny has brought it back


def test_connections_that_are_lost_cost_nothing(
    folder, cluster, encoder, new_store, expected, postgres, batches_of_seven
):
    store, before = new_store(), n_analysed(cluster.messages())
    terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    terminate += " AND usename = 'nearsong'"
    end = once_analysing(lambda: postgres.run(terminate))
    report = scan(store, [folder], on(cluster), encoder=encoder, progress=end)
    assert report.found == N_FILES
    check_same(store, expected)
    assert n_analysed(cluster.messages()) - before == N_FILES


def test_a_database_that_stops_while_workers_write_costs_nothing(
    folder, cluster, encoder, new_store, expected, postgres, batches_of_seven
):
    store, said = new_store(), cluster.messages().count("cannot be reached right now")
    before = n_analysed(cluster.messages())

    def stop_until_a_worker_asks() -> None:
        postgres.stop()
        try:
            wait_for(lambda: cluster.messages().count("cannot be reached right now") > said)
        finally:
            postgres.start()

    report = scan(store, [folder], on(cluster), encoder=encoder, progress=once_analysing(stop_until_a_worker_asks))
    assert report.found == N_FILES
    check_same(store, expected)
    assert n_analysed(cluster.messages()) - before == N_FILES


def test_a_scheduler_that_is_killed_ends_the_scan_and_the_next_goes_on(
    folder, encoder, new_store, expected, batches_of_seven
):
    store = new_store()
    with dask_cluster(2) as cluster:
        with pytest.raises(NearsongError, match=r"scheduler at tcp://.* was lost; what .* is kept\. Start it again"):
            scan(
                store,
                [folder],
                on(cluster),
                encoder=encoder,
                progress=once_analysing(lambda: cluster.kill_scheduler()),
            )
        n_first = len(store.songs.known_files())
        assert 7 <= n_first < N_FILES
        cluster.start_scheduler()
        cluster.start_worker()
        cluster.wait_for_workers(1)
        report = scan(store, options=on(cluster))
        assert report.unchanged + report.known_unreadable + report.known_set_aside >= n_first
        check_same(store, expected)
        assert n_analysed(cluster.messages()) <= N_FILES + 2 * 7  # of both workers


def test_moved_copied_and_touched_files_are_known_again(
    folder, cluster, encoder, new_store, tmp_path, batches_of_seven
):
    music = tmp_path / "music"
    shutil.copytree(folder, music)
    stores = new_store(), new_store()
    for store in stores:
        scan(store, [music], on(cluster), encoder=encoder)
    before = n_analysed(cluster.messages())
    songs = sorted(music.rglob("*.wav"))
    songs[0].rename(music / "Moved.wav")
    shutil.copy(songs[1], music / "Copy.wav")
    os.utime(songs[2], (1, 1))
    (music / "More").mkdir()
    soundfile.write(music / "More" / "New.wav", music_library.sound(2, 5), music_library.RATE)
    reports = [
        scan(store, options=options) for store, options in zip(stores, (on(cluster), ONE_MACHINE), strict=True)
    ]
    assert counts(reports[0]) == counts(reports[1])
    assert (reports[0].moved, reports[0].copied, reports[0].added) == (1, 1, 1)
    check_same(*stores)
    assert n_analysed(cluster.messages()) - before == 1


def test_the_password_of_the_library_is_nowhere_to_be_seen(cluster, postgres, folder):
    """Not even where a batch fails: Dask then writes what it was given to its logs and events."""
    address, file = postgres.new_schema(), FoundFile(str(folder / "none.wav"), 1, 1)
    with contextlib.closing(Store(address)) as store:
        batch = FileBatch(
            library=LibraryAddress(store.name, store.address),
            files=(file,),
            encoder_ids=(99,),  # which it does not have
            complete=(99,),
            roots=(str(folder),),
            limits=FileLimits(timeout=None, nice=0),
            retry=False,
            keep_all=False,
        )
        with ClusterTasks(cluster.address) as tasks, pytest.raises(NearsongError, match="No row was found"):
            list(tasks.run("scan", analyse_batch, [batch]))
    with Client(cluster.address, timeout=60) as client:
        events = repr(client.get_events())
    messages = wait_for(lambda: said if "Compute Failed" in (said := cluster.messages()) else "")
    assert postgres.password in address
    assert "LibraryAddress(name='postgresql://nearsong@" in repr(batch)
    assert postgres.password not in repr(batch) + messages + events


def test_what_cannot_work_is_said_in_one_line(folder, tmp_path, new_store, cluster):
    with (
        contextlib.closing(Store(tmp_path / "library.sqlite")) as store,
        pytest.raises(InvalidInputError, match=r"is a file of this machine.* --library postgresql://"),
    ):
        scan(store, [folder], on(cluster))
    with pytest.raises(InvalidInputError, match=r"no Dask scheduler found at 'tcp://127\.0\.0\.1:1'"):
        scan(new_store(), [folder], ScanOptions(cluster="tcp://127.0.0.1:1"))


@pytest.fixture
def bucket(folder, s3_settings, monkeypatch) -> Iterator[object]:
    """The music in a bucket, ``music`` below ``shared``; the file system that can change it."""
    s3fs = pytest.importorskip("s3fs", reason="the extra `s3` is not installed")
    with warnings.catch_warnings(action="ignore"):
        moto = pytest.importorskip("moto.server", reason="moto is not installed")
    for name, value in s3_settings.items():
        monkeypatch.setenv(name, value)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    port = int(s3_settings["AWS_ENDPOINT_URL"].rpartition(":")[2])
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    storage = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
    storage.mkdir("shared")
    for path in sorted(folder.rglob("*.*")):
        storage.pipe(f"shared/music/{path.relative_to(folder).as_posix()}", path.read_bytes())
    yield storage
    server.stop()


URL = "s3://shared/music"


def without_folder(rows: dict[str, object], start: str) -> dict[str, object]:
    """Return rows by their paths below a folder, without what says where and when a file was stored."""

    def below(path: str) -> str:
        return path.removeprefix(start)

    return {
        "songs": {
            below(path): {k: v for k, v in row.items() if k not in ("path", "path_key", "modified")}
            for path, row in rows["songs"].items()
        },
        "vectors": {(below(path), encoder): vector for (path, encoder), vector in rows["vectors"].items()},
        "embeddings": {(below(path), model): vector for (path, model), vector in rows["embeddings"].items()},
        **{name: rows[name] for name in ("encoders", "model_encoders")},
    }


def test_music_in_a_bucket_is_heard_like_files_and_stays_there(folder, cluster, bucket, new_store, tmp_path):
    here, there = new_store(), new_store()
    scan(here, [folder], ScanOptions(workers=2, encoders=("codewords",)))
    command = ("scan", URL + "/", "--cluster", cluster.address, "--encoders", "codewords")
    done = run_nearsong(*command, library=there.address, **{k: os.environ[k] for k in os.environ if "AWS" in k})
    assert done.returncode == 0, done.stderr
    assert f"{N_FILES} audio files" in done.stdout
    found, expected = without_folder(stored(there), URL), without_folder(stored(here), str(folder))
    for part in expected:
        assert found[part] == expected[part], part
    assert there.songs.roots() == [URL]

    song = next(song for song in there.songs.all() if song.path.endswith("wav"))
    with pytest.raises(NoSuchSongError, match=r"is in shared storage .* does not play"):
        open_song_file(there, song)
    assert song.path in playlist_text([song], "m3u8", folder=tmp_path)
    with Library.open(there.address, create=False) as library:
        assert library.snapshot().seed(song.path).song.id == song.id

    other = io.BytesIO()
    soundfile.write(other, music_library.sound(0, 999), music_library.RATE, format="FLAC")
    bucket.pipe("shared/music/Band A3/First/01 Song 30.flac", other.getvalue())
    bucket.rm("shared/music/Band A1/First", recursive=True)
    command = [sys.executable, "-m", "nearsong", "--library", there.address, "scan"]  # without a cluster
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    words = " ".join(done.stdout.split())
    assert "1 changed, 23 unchanged" in words
    assert "2 songs have lost their files" in words

    with pytest.raises(InvalidInputError, match="Folder not found: s3://nowhere/music"):
        scan(there, ["s3://nowhere/music"])
    with pytest.raises(InvalidInputError, match="without a password"):
        scan(there, ["ftp://me:s3cret@host/music"])
