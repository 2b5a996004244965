"""Importing: its progress, its end by Ctrl-C, and what is stored."""

import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile
from contextlib import closing

import numpy as np
import pytest

from nearsong.errors import ListensError
from nearsong.library.listeners import read_ahead
from nearsong.library.listeners.importing import files, import_listens
from nearsong.library.listeners.read_ahead import ReadAhead
from nearsong.library.store import Store
from nearsong.listens import RowCounts, blocks, sources


@pytest.fixture
def library(tmp_path):
    with closing(Store(tmp_path / "library.sqlite")) as store:
        yield store


def write_rows(path, n_rows):
    with open(path, "w") as file:
        file.write("user,artist,plays\n")
        file.writelines(f"user {i // 20},artist {i * i % 9973},{i % 50 + 1}\n" for i in range(n_rows))
    return path


def test_progress_tells_rows_and_a_total_that_ends_as_the_rows(library, tmp_path):
    seen = []
    paths = [write_rows(tmp_path / "a.csv", 300_000), write_rows(tmp_path / "b.csv", 260_000)]
    files = import_listens(library, paths, progress=lambda *step: seen.append(step))
    assert [file.rows for file in files] == [300_000, 260_000]
    assert {stage for stage, _, _ in seen} == {"reading listens"}
    assert seen[-1][1:] == (560_000, 560_000)
    steps = [(done, total) for _, done, total in seen if done]
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert all(done <= total for done, total in steps)
    assert all(0.7 < total / 560_000 < 1.4 for _, total in steps)


def test_an_estimate_holds_when_the_reader_stalls_between_counting_rows_and_telling_how_far_it_is(
    library, tmp_path, monkeypatch
):
    """Progress is shown exactly when rows of a chunk are counted and its bytes are not yet told."""
    seen, shown = [], threading.Event()

    class StallingCounts(RowCounts):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "read" and value:
                shown.clear()
                assert shown.wait(timeout=60)

    def progress(stage, done, total):
        seen.append((done, total))
        shown.set()

    monkeypatch.setattr(sources, "CHUNK_BYTES", 8_000)
    monkeypatch.setattr(files, "RowCounts", StallingCounts)
    n_rows = 1_500
    import_listens(library, [write_rows(tmp_path / "a.csv", n_rows)], progress=progress)
    steps = [(done, total) for done, total in seen if done or total]
    assert len(steps) > 3
    assert all(0.9 < total / n_rows < 1.1 for _, total in steps)
    assert seen[-1] == (n_rows, n_rows)


def test_histories_of_one_file_share_its_bytes_in_the_estimate(library, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 4_000)
    monkeypatch.setattr(read_ahead, "_ITEMS_AHEAD", 1)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 100)
    path, seen = tmp_path / "both.zip", []
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("counts.csv", "user,artist,plays\n" + "".join(f"ann,Band {i},3\n" for i in range(1_000)))
        archive.writestr("events.csv", "user,artist,time\n" + "".join(f"ann,B {i},16{i:08}\n" for i in range(1_000)))
    files = import_listens(library, [path], progress=lambda *step: seen.append(step[1:]))
    assert [file.rows for file in files] == [1_000, 1_000]
    after_the_first = [total for done, total in seen if done >= 1_000]
    assert all(total <= 3_000 for total in after_the_first)
    assert seen[-1] == (2_000, 2_000)


def test_rows_come_back_as_they_were_in_the_file(library, tmp_path):
    [file] = import_listens(library, [write_rows(tmp_path / "a.csv", 300_000)])
    columns = list(library.listens.columns(file.source))
    assert len(columns) > 1
    ids, names = library.listens.names()
    artist_of = dict(zip(ids.tolist(), (name.artist for name in names), strict=True))
    found = [artist_of[name] for part in columns for name in part.name.tolist()]
    assert found == [f"artist {i * i % 9973}" for i in range(300_000)]
    assert np.concatenate([part.plays for part in columns]).tolist() == [i % 50 + 1 for i in range(300_000)]
    assert library.listens.n_users() == 15_000


def test_ctrl_c_ends_an_import_at_once_and_leaves_nothing(tmp_path):
    path = write_rows(tmp_path / "plays.csv", 3_000_000)
    address = tmp_path / "library.sqlite"
    command = [sys.executable, "-m", "nearsong", "--library", str(address), "listens", "import", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("reading listens: ") and not line.startswith("reading listens: 0"):
                break
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    with closing(sqlite3.connect(address)) as connection:
        for table in ("listen_sources", "listen_blocks", "listen_names", "listen_users", "listen_totals"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_an_error_of_the_reader_is_raised_where_the_items_are_used():
    def items(check):
        yield 1
        raise ListensError("damaged")

    seen = []
    with pytest.raises(ListensError, match="damaged"), ReadAhead(items, lambda: None) as ahead:
        seen.extend(ahead)
    assert seen == [1]


def test_a_reader_that_nobody_waits_for_ends():
    ended = []

    def items(check):
        try:
            while True:
                check()
                yield 1
        finally:
            ended.append(True)

    with ReadAhead(items, lambda: None) as ahead:
        next(iter(ahead))
    ahead._thread.join(timeout=30)
    assert not ahead._thread.is_alive()
