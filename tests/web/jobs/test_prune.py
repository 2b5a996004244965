"""Songs whose files are missing, removed by a job."""

import contextlib

import music_library
from nearsong.library import Library
from nearsong.web.jobs.prune import Prune
from nearsong.web.jobs.queue import JobQueue


def test_songs_whose_files_are_missing_are_removed_and_others_stay(tmp_path):
    music_library.make_music(tmp_path / "music", n_artists=2)
    with Library.open(tmp_path / "library.sqlite") as library:
        library.scan(tmp_path / "music", workers=1)
        missing, *others = sorted(song.path for song in library.songs())
        (tmp_path / missing).unlink()
        with contextlib.closing(JobQueue(library.address)) as jobs:
            job = jobs.wait(jobs.add(Prune())[0].id, 300)
        assert (job.state, job.title) == ("done", "Removal of missing songs"), job.error
        assert job.words == "1 missing song removed."
        assert job.result == {"removed": 1, "missing": 0, "songs": len(others)}
        assert sorted(song.path for song in library.snapshot(now=True).space.songs) == others
