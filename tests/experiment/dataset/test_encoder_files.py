"""Files of vectors and of other frames are read row by row and song by song, and reported where they do not fit."""

import numpy as np
import pytest
import soundfile

from nearsong.audio import Chroma, DeltaMFCC, MelLevels, load_frames
from nearsong.errors import DatasetError, EncoderNotInstalledError, InvalidInputError
from nearsong.experiment import Dataset
from nearsong.experiment.run.encoders import RUN_ENCODERS, choose_encoders, is_available
from nearsong.model.encoders import ENCODERS, encoder_class


class OtherFeatures(DeltaMFCC):
    """A kind of frames that files of MFCCs do not hold: four numbers per frame."""

    name = "other_frames"

    def __init__(self):
        super().__init__()
        self.n_features = 4


@pytest.fixture
def archive(frames_folder):
    random = np.random.default_rng(1)
    frames = {name: random.normal(size=(7, 4)).astype(np.float16) for name in "abc"}
    np.savez(frames_folder / "other_frames.npz", **frames)
    return frames_folder, frames


def test_vectors_of_any_name_are_rows_in_the_order_of_the_songs(frames_folder):
    vectors = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    np.save(frames_folder / "brought.npy", vectors)
    data = Dataset.open(frames_folder)
    assert set(data.sounds.vectors) == {"brought"}
    np.testing.assert_array_equal(data.sounds.vectors_of("brought"), vectors)
    assert choose_encoders(data, ("brought", "gaussian")) == ("brought", "gaussian")


def test_files_of_frames_in_the_folder_itself_are_not_vectors(frames_folder):
    for name in "abc":
        (frames_folder / "frames" / f"{name}.npy").rename(frames_folder / f"{name}.npy")
    text = (frames_folder / "songs.csv").read_text().replace("frames/", "")
    (frames_folder / "songs.csv").write_text(text)
    assert Dataset.open(frames_folder).sounds.vectors == {}


def test_other_frames_are_read_by_song_id(archive):
    folder, frames = archive
    data = Dataset.open(folder)
    features = OtherFeatures()
    data.sounds.check_archive(features)
    for song, name in enumerate("abc"):
        read = data.frames_of(song, features)
        assert read.dtype == np.float32
        np.testing.assert_array_equal(read, frames[name])
    both = data.sounds.frames_of(1, [DeltaMFCC(), features])
    np.testing.assert_array_equal(both[0], data.frames_of(1))
    np.testing.assert_array_equal(both[1], frames["b"])


def test_all_frames_of_a_sound_file_are_computed_from_it(folder):
    (folder / "vectors.npy").unlink()
    random = np.random.default_rng(0)
    soundfile.write(folder / "noise.wav", random.normal(scale=0.1, size=3 * 22_050), 22_050)
    (folder / "songs.csv").write_text("song_id,artist,title,audio\na,cream,x,noise.wav\n")
    data = Dataset.open(folder)
    kinds = [DeltaMFCC(), Chroma(), MelLevels()]
    for features, frames in zip(kinds, data.sounds.frames_of(0, kinds), strict=True):
        assert data.sounds.has_frames(features)
        assert frames.shape[1] == features.n_features
        np.testing.assert_array_equal(frames, load_frames(folder / "noise.wav", features))
    assert choose_encoders(data, ()) == RUN_ENCODERS


def test_frames_that_a_data_set_cannot_give_are_asked_for_by_name(frames_folder):
    with pytest.raises(DatasetError, match=r"no frames of the kind other_frames; add other_frames\.npz"):
        Dataset.open(frames_folder).frames_of(0, OtherFeatures())


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.ones((5, 3)), r"other_frames\.npz: song 'b' has float64 of shape \(5, 3\); give frames x 4"),
        (np.ones((0, 4)), r"song 'b' has float64 of shape \(0, 4\)"),
        (np.ones((5, 4), int), r"song 'b' has int64 of shape"),
        (np.full((5, 4), np.nan), r"song 'b' has a NaN or infinite value, first in frame 0; compute it again"),
    ],
)
def test_other_frames_that_do_not_fit_are_named_with_their_song(archive, frames, message):
    folder, good = archive
    np.savez(folder / "other_frames.npz", **(good | {"b": frames}))
    data = Dataset.open(folder)
    with pytest.raises(DatasetError, match=message):
        data.frames_of(1, OtherFeatures())


def test_songs_without_other_frames_are_counted(archive):
    folder, frames = archive
    np.savez(folder / "other_frames.npz", a=frames["a"])
    data = Dataset.open(folder)
    with pytest.raises(DatasetError, match=r"has no frames for 2 of 3 songs \(first: 'b'\); give an array"):
        data.sounds.check_archive(OtherFeatures())
    with pytest.raises(DatasetError, match=r"has no frames for song 'c'"):
        data.frames_of(2, OtherFeatures())
    (folder / "other_frames.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(DatasetError, match=r"other_frames\.npz cannot be read as an \.npz file"):
        data.sounds.check_archive(OtherFeatures())


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((2, 5)), r"brought\.npy has 2 rows, songs\.csv has 3 songs; give one row per song"),
        (np.full((3, 2), np.nan), r"brought\.npy .*NaN"),
        (np.ones(3), r"brought\.npy"),
    ],
)
def test_vectors_that_do_not_fit_are_refused_before_the_run(frames_folder, vectors, message):
    np.save(frames_folder / "brought.npy", vectors)
    with pytest.raises(DatasetError, match=message) as caught:
        choose_encoders(Dataset.open(frames_folder), ("brought",))
    assert "\n" not in str(caught.value)


def test_the_default_encoders_are_those_the_data_set_allows(frames_folder, folder):
    data = Dataset.open(frames_folder)
    expected = [name for name in RUN_ENCODERS if name in ENCODERS and
                ENCODERS[name].default_features().key == DeltaMFCC().key]  # fmt: skip
    assert list(choose_encoders(data, ())) == expected
    np.save(frames_folder / "spectral_pattern.npy", np.ones((3, 2)))
    assert is_available(Dataset.open(frames_folder), "spectral_pattern")
    assert "spectral_pattern" in choose_encoders(Dataset.open(frames_folder), ())


def test_vectors_instead_of_sound_are_the_encoder_vectors(folder):
    data = Dataset.open(folder)
    assert choose_encoders(data, ()) == ("vectors",)
    with pytest.raises(
        InvalidInputError, match=r"has no vectors of 'gaussian'; add gaussian\.npy, or choose from vec"
    ):
        choose_encoders(data, ("gaussian",))


def test_an_unknown_encoder_is_refused_with_what_there_is(frames_folder):
    np.save(frames_folder / "brought.npy", np.ones((3, 2)))
    with pytest.raises(InvalidInputError, match=r"no vectors of 'magic'; add magic\.npy, or choose from .*brought"):
        choose_encoders(Dataset.open(frames_folder), ("magic",))


def test_an_encoder_that_is_not_installed_is_asked_for_or_read_from_a_file(frames_folder, monkeypatch):
    def not_installed():
        raise EncoderNotInstalledError("The encoder onnx is not installed. Run: nearsong encoders install onnx")

    monkeypatch.setattr(encoder_class("onnx"), "default_features", not_installed)
    with pytest.raises(EncoderNotInstalledError, match="nearsong encoders install onnx"):
        choose_encoders(Dataset.open(frames_folder), ("onnx",))
    np.save(frames_folder / "onnx.npy", np.ones((3, 2)))
    assert choose_encoders(Dataset.open(frames_folder), ("onnx",)) == ("onnx",)


def test_a_change_in_a_file_of_an_encoder_changes_the_fingerprint(archive):
    folder, frames = archive
    np.save(folder / "brought.npy", np.ones((3, 2)))
    data = Dataset.open(folder)
    before = data.fingerprint()
    np.save(folder / "brought.npy", np.zeros((3, 2)))
    changed = data.fingerprint()
    assert changed != before
    np.savez(folder / "other_frames.npz", **(frames | {"a": frames["b"]}))
    assert data.fingerprint() != changed
