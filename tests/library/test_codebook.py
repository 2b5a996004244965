"""The library's own codebook: the same for the same files, from all folders, as large as the music allows."""

import os

import numpy as np
import pytest
import soundfile

from nearsong.audio import DeltaMFCC, load_frames
from nearsong.errors import LibraryError
from nearsong.library import codebook
from nearsong.library.codebook import learn_ear, sample_frames, spread_order


def paths_of(folder):
    return sorted(str(path) for path in folder.rglob("*.wav"))


def test_the_same_files_and_seed_give_the_same_codebook_in_any_order(music, heard):
    paths = paths_of(music)
    ear = learn_ear(paths)
    assert learn_ear(paths[::-1]).key == ear.key
    assert learn_ear(paths, seed=1).key != ear.key
    assert ear.n_codewords == 16


def test_progress_is_told_to_its_end(music, heard):
    told = []
    learn_ear(paths_of(music), progress=lambda *facts: told.append(facts))
    assert told == [("learning the codebook", i, 6) for i in range(1, 7)]


def test_files_that_can_be_read_stand_in_for_those_that_cannot(music, heard, monkeypatch):
    bad = [music / "bad" / f"{i}.wav" for i in range(20)]
    bad[0].parent.mkdir()
    for path in bad:
        path.write_bytes(b"no sound")
    monkeypatch.setattr(codebook, "SAMPLE_SONGS", 3)
    ear = learn_ear(paths_of(music))
    assert ear.n_codewords == 16
    good = [path for path in heard.paths if "bad" not in path]
    assert len(good) == 3


def test_no_sound_at_all_is_an_error_in_one_line(tmp_path, heard):
    for i in range(3):
        (tmp_path / f"{i}\udcff.wav").write_bytes(b"no sound")
    with pytest.raises(LibraryError, match=r"none of 3 audio files gives a sound \(.*0�.wav: .*\); check the folder"):
        learn_ear([str(path) for path in tmp_path.iterdir()])


def test_hardly_a_moment_or_nothing_but_silence_is_too_little(tmp_path, heard):
    soundfile.write(tmp_path / "moment.wav", np.random.default_rng(0).normal(size=3000) / 10, 22_050)
    soundfile.write(tmp_path / "silence.wav", np.zeros(30_000), 22_050)
    for name in ("moment", "silence"):
        with pytest.raises(LibraryError, match=r"too little sound to learn a codebook from; scan more music"):
            learn_ear([str(tmp_path / f"{name}.wav")])


def test_a_codebook_is_smaller_where_much_of_the_music_is_the_same(make_song, tmp_path, heard, monkeypatch):
    monkeypatch.setattr(codebook, "FRAMES_A_CODEWORD", 2)
    make_song(tmp_path / "sound.wav", seconds=0.6)
    soundfile.write(tmp_path / "silence.wav", np.zeros(200_000), 22_050)
    assert codebook.codebook_size(len(load_frames(tmp_path / "silence.wav"))) > 64
    assert learn_ear(paths_of(tmp_path)).n_codewords in (32, 64)


def test_files_are_taken_from_all_folders_in_turn():
    paths = [f"/many/{i}.mp3" for i in range(50)] + [f"/few/{i}.mp3" for i in range(2)] + ["/one/1.mp3"]
    order = spread_order(paths, seed=0)
    assert sorted(order) == sorted(paths)
    assert {os.path.dirname(path) for path in order[:3]} == {"/many", "/few", "/one"}
    assert {os.path.dirname(path) for path in order[3:5]} == {"/many", "/few"}
    assert spread_order(paths[::-1], seed=0) == order != spread_order(paths, seed=1)


def test_a_sample_is_a_run_of_the_files_frames(make_song, tmp_path):
    path = make_song(tmp_path / "long.wav", seconds=12)
    whole = load_frames(path)
    wanted = round(2 / DeltaMFCC().seconds_a_frame)
    starts = set()
    for seed in range(6):
        run = sample_frames(path, seed, seconds=2)
        assert run.shape == (wanted, 39)
        start = int(np.flatnonzero((whole == run[0]).all(axis=1))[0])
        np.testing.assert_array_equal(whole[start : start + wanted], run)
        starts.add(start)
    assert len(starts) == 6
    np.testing.assert_array_equal(sample_frames(path, 0, seconds=100), whole)


def test_a_file_that_is_shorter_than_it_says_gives_its_end(make_song, tmp_path, monkeypatch):
    path = make_song(tmp_path / "short.wav", seconds=6)
    whole = load_frames(path)
    monkeypatch.setattr(codebook, "read_tags_and_length", lambda path: (None, 3600.0))
    run = sample_frames(path, 3, seconds=2)
    np.testing.assert_array_equal(run, whole[-len(run) :])
