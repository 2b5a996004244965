"""Files that crash their decoder or never end, on the worker of a real Dask cluster: they cost themselves only."""

import contextlib
from importlib.util import find_spec

from dask_cluster import dask_cluster
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.library.store import Store
from required import require

require("dask", find_spec("distributed") is not None, "the extra `cluster` is not installed")

TIMEOUT_SECONDS = 30.0  # which a song of two seconds keeps on a busy machine, too

TRICKS = """
import os, signal, time
from nearsong.audio import decode

def read_or_not(path, check=decode._check_file):
    name = os.path.basename(path)
    if name.startswith("Crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if name.startswith("Hang"):
        time.sleep(600)
    return check(path)

decode._check_file = read_or_not
"""


def test_files_that_hang_or_crash_their_decoder_are_reported_and_the_scan_goes_on(
    music, make_song, encoder, postgres, tmp_path
):
    for seed, name in enumerate(("Crash 1", "Hang", "Crash 2"), 20):
        make_song(music / "Artist 1" / f"{name}.wav", seed)
    (tmp_path / "tricks").mkdir()
    (tmp_path / "tricks" / "sitecustomize.py").write_text(TRICKS)  # which each process of the worker imports
    with (
        contextlib.closing(Store(postgres.new_schema())) as store,
        dask_cluster(1, path=str(tmp_path / "tricks")) as cluster,
    ):
        options = ScanOptions(cluster=cluster.address, timeout=TIMEOUT_SECONDS)
        report = scan(store, [music], options, encoder=encoder)
        assert (report.found, report.added) == (9, 6)
        assert {path.rpartition("/")[2]: why.partition("(")[0].strip() for path, why in report.unreadable} == {
            "Crash 1.wav": "crashed its decoder",
            "Crash 2.wav": "crashed its decoder",
            "Hang.wav": "took longer than 30.0 s to read and was skipped.",
        }
        assert sorted(song.title for song in store.songs.all()) == [f"Song {number}" for number in range(6)]
        again = scan(store, options=options)
        assert (again.unchanged, again.known_unreadable) == (6, 3)
