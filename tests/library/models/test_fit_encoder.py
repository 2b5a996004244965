"""The library's own codebook: the same for the same files, from all folders, as large as the music allows."""

import os

import numpy as np
import pytest
import soundfile

from nearsong.audio import SAMPLE_RATE, DeltaMFCC, load_audio, load_frames
from nearsong.errors import LibraryError
from nearsong.library.models import fit_encoder as fitting
from nearsong.library.models.fit_encoder import fit_encoders, sample_frames, sample_sound, spread_order
from nearsong.model.encoders import ENCODERS, codewords


def fit_encoder(name, paths, **options):
    return fit_encoders([name], paths, **options)[name]


def paths_of(folder):
    return sorted(str(path) for path in folder.rglob("*.wav"))


def test_the_same_files_and_seed_give_the_same_codebook_in_any_order(music, analysed):
    paths = paths_of(music)
    encoder = fit_encoder("codewords", paths)
    assert fit_encoder("codewords", paths[::-1]).key == encoder.key
    assert fit_encoder("codewords", paths, seed=1).key != encoder.key
    assert encoder.n_dimensions == 16


def test_progress_is_reported_to_its_end(music, analysed):
    reported = []
    fit_encoder("codewords", paths_of(music), progress=lambda *facts: reported.append(facts))
    assert reported == [("reading samples", i, 6) for i in range(1, 7)] + [("fitting encoders", i, 1) for i in (0, 1)]


def test_files_that_can_be_read_stand_in_for_those_that_cannot(music, analysed, monkeypatch):
    bad = [music / "bad" / f"{i}.wav" for i in range(20)]
    bad[0].parent.mkdir()
    for path in bad:
        path.write_bytes(b"no sound")
    monkeypatch.setattr(fitting, "SAMPLE_SONGS", 3)
    encoder = fit_encoder("codewords", paths_of(music))
    assert encoder.n_dimensions == 16
    good = [path for path in analysed.paths if "bad" not in path]
    assert len(good) == 3


def test_no_sound_at_all_is_an_error_in_one_line(tmp_path, analysed):
    for i in range(3):
        (tmp_path / f"{i}\udcff.wav").write_bytes(b"no sound")
    with pytest.raises(
        LibraryError, match=r"None of the 3 audio files can be read \(.*0�.wav: .*\). Check the folder"
    ):
        fit_encoder("codewords", [str(path) for path in tmp_path.iterdir()])


def test_hardly_a_moment_or_nothing_but_silence_is_too_little(tmp_path, analysed):
    soundfile.write(tmp_path / "moment.wav", np.random.default_rng(0).normal(size=3000) / 10, 22_050)
    soundfile.write(tmp_path / "silence.wav", np.zeros(30_000), 22_050)
    for name in ("moment", "silence"):
        with pytest.raises(LibraryError, match=r"too little sound to learn a codebook. Scan more music"):
            fit_encoder("codewords", [str(tmp_path / f"{name}.wav")])


def test_a_codebook_is_smaller_where_much_of_the_music_is_the_same(make_song, tmp_path, analysed, monkeypatch):
    monkeypatch.setattr(codewords, "MIN_FRAMES_PER_CODEWORD", 2)
    make_song(tmp_path / "sound.wav", seconds=0.6)
    soundfile.write(tmp_path / "silence.wav", np.zeros(200_000), 22_050)
    assert codewords.codebook_size(len(load_frames(tmp_path / "silence.wav"))) > 64
    assert fit_encoder("codewords", paths_of(tmp_path)).n_dimensions in (32, 64)


def test_files_are_taken_from_all_folders_in_turn():
    paths = [f"/many/{i}.mp3" for i in range(50)] + [f"/few/{i}.mp3" for i in range(2)] + ["/one/1.mp3"]
    order = spread_order(paths, seed=0)
    assert sorted(order) == sorted(paths)
    assert {os.path.dirname(path) for path in order[:3]} == {"/many", "/few", "/one"}
    assert {os.path.dirname(path) for path in order[3:5]} == {"/many", "/few"}
    assert spread_order(paths[::-1], seed=0) == order != spread_order(paths, seed=1)


def test_a_sample_is_a_run_of_the_files_sound(make_song, tmp_path):
    path = make_song(tmp_path / "long.wav", seconds=12)
    complete = load_audio(path)
    starts = set()
    for seed in range(6):
        run = sample_sound(path, SAMPLE_RATE, seed, seconds=2)
        assert run.shape == (2 * SAMPLE_RATE,)
        windows = np.lib.stride_tricks.sliding_window_view(complete, 50)
        start = int(np.flatnonzero((windows == run[:50]).all(axis=1))[0])
        np.testing.assert_array_equal(complete[start : start + len(run)], run)
        starts.add(start)
    assert len(starts) == 6
    (frames,) = sample_frames(path, [DeltaMFCC()], seconds=100).values()
    np.testing.assert_array_equal(frames, load_frames(path))


def test_a_file_that_is_shorter_than_it_says_gives_its_end(make_song, tmp_path, monkeypatch):
    path = make_song(tmp_path / "short.wav", seconds=6)
    monkeypatch.setattr(fitting, "read_tags_and_length", lambda path: (None, 3600.0))
    run = sample_sound(path, SAMPLE_RATE, 3, seconds=2)
    np.testing.assert_array_equal(run, load_audio(path)[-len(run) :])


def test_several_encoders_are_fitted_to_one_sample(music, analysed):
    paths = paths_of(music)
    names = sorted(ENCODERS)
    together = fit_encoders(names, paths)
    n_read = len(analysed.paths)
    assert {name: encoder.key for name, encoder in together.items()} == {
        name: fit_encoder(name, paths).key for name in names
    }
    assert n_read == len(paths)
