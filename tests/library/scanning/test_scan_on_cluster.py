"""A real Dask cluster, as the guide starts it, and a real PostgreSQL: the same library as from one machine, whatever
dies meanwhile.
"""

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
import soundfile

import music_library
from dask_cluster import Cluster, dask_cluster
from nearsong.audio.write import write_audio
from nearsong.errors import InvalidInputError, NearsongError
from nearsong.library.scanning.scan import ScanOptions, ScanReport, scan
from nearsong.library.store import Store, schema
from tag_bombs import with_id3_bomb

ONE_MACHINE = ScanOptions(workers=2)
N_SONGS, N_FILES = 24, 29
NOT_COMPARED = {"id", "added"}  # which depend on who was faster, and when


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
def cluster() -> Iterator[Cluster]:
    """Two workers with their nannies."""
    with dask_cluster(2, options=()) as cluster:
        yield cluster


@pytest.fixture
def new_store(postgres) -> Iterator[Callable[[], Store]]:
    with contextlib.ExitStack() as opened:
        yield lambda: opened.enter_context(contextlib.closing(Store(postgres.new_schema())))


def on(cluster: Cluster) -> ScanOptions:
    return ScanOptions(cluster=cluster.address)


def stored(store: Store) -> dict[str, object]:
    """Return every row that a scan writes: files by path, with encoders and models by their order."""
    with store._database.reading() as connection:

        def rows(table):
            return [dict(row._mapping) for row in connection.execute(sa.select(table))]

        encoders = sorted(rows(schema.encoders), key=lambda row: row["id"])
        models = sorted(rows(schema.models), key=lambda row: row["id"])
        songs = rows(schema.songs)
        path_of = {row["id"]: row["path"] for row in songs}
        vectors = {
            (path_of[row["song_id"]], next(e["name"] for e in encoders if e["id"] == row["encoder_id"])): row["vector"]
            for row in rows(schema.song_vectors)
        }
        embeddings = {(path_of[row["song_id"]], row["model_id"]): row["embedding"] for row in rows(schema.embeddings)}
        return {
            "songs": {row["path"]: {k: v for k, v in row.items() if k not in NOT_COMPARED} for row in songs},
            "encoders": encoders,
            "vectors": vectors,
            "embeddings": embeddings,
            "models": [{k: v for k, v in row.items() if k != "created"} for row in models],
            "model_encoders": rows(schema.model_encoders),
            "stale": rows(schema.stale_artists),
            "roots": [row["path"] for row in rows(schema.roots)],
        }


def check_same(found: Store, expected: Store) -> None:
    first, second = stored(found), stored(expected)
    for part in second:
        assert first[part] == second[part], part


def pids_of_workers(cluster: Cluster) -> list[int]:
    from distributed import Client

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
