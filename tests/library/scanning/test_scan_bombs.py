"""Tags that would take hundreds of megabytes: the song is kept, and neither the scan nor its workers take them."""

import os
import shutil
import sys

import numpy as np
import pytest

import peak_memory
from nearsong.audio.tags import TAGS_TOO_LARGE
from nearsong.audio.write import write_audio
from nearsong.library.scanning import file_tags
from nearsong.library.scanning import scan as scanning
from nearsong.library.scanning.scan import ScanOptions, scan
from tag_bombs import MEGABYTE, with_id3_bomb, with_sparse_ape_tag

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)
pytestmark = [in_sqlite, pytest.mark.skipif(sys.platform != "linux", reason="measures memory by /proc")]

ONE = ScanOptions(workers=1)
UNPACKED, MUCH = 512, 256 * MEGABYTE  # megabytes of a bomb, and bytes that are more than anything may take


@pytest.fixture
def album(store, tmp_path, encoder, make_song, monkeypatch):
    """Return a folder with a scanned song; workers write down their peaks in it."""
    monkeypatch.setattr(scanning, "analyse_file", peak_memory.analyse_file)
    monkeypatch.setattr(file_tags, "tags_of_file", peak_memory.tags_of_file)
    folder = tmp_path / "music" / "An Artist - An Album"
    make_song(folder / "01 First.wav", seed=1, seconds=2)
    scan(store, [folder.parent], ONE, encoder=encoder)
    assert [name for name, _, _ in peak_memory.peaks_in(folder)] == ["01 First.wav"]
    return folder


def bomb_in(folder, kind):
    """Write a song with hostile tags."""
    samples = 0.1 * np.random.default_rng(0).normal(size=48_000)
    if kind == "compressed ID3":
        return with_id3_bomb(write_audio(folder / "02 Bomb.mp3", samples, 24_000), UNPACKED)
    return with_sparse_ape_tag(write_audio(folder / "02 Bomb.wav", samples, 24_000), UNPACKED)


@pytest.mark.parametrize("kind", ["compressed ID3", "sparse APE"])
def test_a_song_with_hostile_tags_is_kept_by_its_path_in_every_scan_and_takes_no_memory(store, album, kind):
    path = bomb_in(album, kind)
    assert path.stat().st_blocks * 512 < 8 * MEGABYTE

    def scanned_again():
        """Return the report; nothing took memory, and every file was read in another process."""
        with peak_memory.peak_memory() as here:
            report = scan(store, [album.parent], ONE)
        peaks = peak_memory.peaks_in(album)
        assert here.growth < MUCH
        assert [peak for peak in peaks if peak[1] == os.getpid() or peak[2] > MUCH] == []
        return report, sorted({name for name, _, _ in peaks})

    report, read = scanned_again()
    assert (report.added, report.unreadable, report.damaged) == (1, [], [(str(path), TAGS_TOO_LARGE)])
    assert read == [path.name]
    song = next(song for song in store.songs.all() if song.path == str(path))
    assert (song.artist, song.album, song.title) == ("An Artist", "An Album", "Bomb")

    os.utime(path, (1, 1))  # touched
    report, read = scanned_again()
    assert (report.unchanged, read) == (2, [path.name])

    path = path.rename(album / f"03 Moved{path.suffix}")
    report, read = scanned_again()
    assert (report.moved, read) == (1, [path.name])

    if kind == "compressed ID3":  # a copy of the other would take half a gigabyte on some file systems
        shutil.copy(path, album / "04 Copy.mp3")
        report, read = scanned_again()
        assert (report.copied, read) == (1, ["04 Copy.mp3"])

    report, read = scanned_again()
    assert (report.unchanged, read) == (2 + (kind == "compressed ID3"), [])


def test_a_scan_in_which_nothing_changed_starts_no_process(store, album, monkeypatch):
    monkeypatch.setattr("nearsong.audio.workers.pebble.ProcessPool", None)
    assert scan(store, [album.parent], ONE).unchanged == 1
