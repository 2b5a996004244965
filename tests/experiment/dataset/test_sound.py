"""What the songs of a data-set folder sound like, and what may be wrong with it."""

import numpy as np
import pytest
import soundfile

from nearsong.audio import load_frames, with_derivatives
from nearsong.errors import DatasetError, InvalidInputError, UnreadableAudioError
from nearsong.experiment import Dataset


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# What a song sounds like


def test_frames_of_thirteen_numbers_get_their_derivatives(frames_folder):
    data = Dataset.open(frames_folder)
    mfcc = np.load(frames_folder / "frames" / "b.npy")
    assert (data.content, data.vectors) == ("frames", None)
    frames = data.frames_of(1)
    assert frames.dtype == np.float32
    np.testing.assert_array_equal(frames, with_derivatives(mfcc))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_frames_of_thirty_nine_numbers_stay_as_they_are(frames_folder, dtype):
    frames = np.random.default_rng(1).normal(size=(4, 39)).astype(dtype)
    np.save(frames_folder / "frames" / "a.npy", np.asfortranarray(frames))
    read = Dataset.open(frames_folder).frames_of(0)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, frames.astype(np.float32))


def test_audio_is_decoded_when_it_is_asked_for(folder):
    (folder / "vectors.npy").unlink()
    tone = np.sin(np.arange(22_050) / 10)
    soundfile.write(folder / "tone.wav", tone, 22_050)
    (folder / "noise.mp3").write_bytes(b"no audio" * 100)
    (folder / "songs.csv").write_text("song_id,artist,title,audio\na,cream,x,tone.wav\nb,abba,y,noise.mp3\n")
    data = Dataset.open(folder)
    assert data.content == "audio"
    np.testing.assert_array_equal(data.frames_of(0), load_frames(folder / "tone.wav"))
    with pytest.raises(UnreadableAudioError, match=r"noise\.mp3"):
        data.frames_of(1)


def test_vectors_go_before_frames_and_frames_before_audio(frames_folder):
    path = frames_folder / "songs.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",audio", *(line + ",nowhere.mp3" for line in lines[1:])]))
    assert Dataset.open(frames_folder).content == "frames"
    np.save(frames_folder / "vectors.npy", np.eye(3))
    data = Dataset.open(frames_folder)
    assert data.content == "vectors"
    assert data.notes[0] == "songs.csv: column 'frames' is ignored because vectors.npy exists."
    with pytest.raises(DatasetError, match="has vectors instead of frames; use `vectors`"):
        data.frames_of(0)


@pytest.mark.parametrize("song", [3, 100])
def test_a_song_beyond_the_last_is_refused(frames_folder, song):
    with pytest.raises(DatasetError, match=f"song={song} is not in .*songs 0 to 2"):
        Dataset.open(frames_folder).frames_of(song)
    with pytest.raises(InvalidInputError, match="song=-1 must be a whole number"):
        Dataset.open(frames_folder).frames_of(-1)


# What is wrong with the sound


def test_vectors_that_do_not_fit_are_refused(folder):
    for vectors, message in [
        (np.ones((4, 2)), r"vectors\.npy has 4 rows, songs\.csv has 3 songs; give one row per song"),
        (np.array([[1.0], [np.nan], [2.0]]), r"vectors\.npy has a NaN or infinite value, first in row 1"),
        (np.ones(3), r"vectors\.npy has shape \(3,\)"),
        (np.array([["a"], ["b"], ["c"]]), r"vectors\.npy cannot be read as an array of numbers"),
        (np.array([[{}], [{}], [{}]]), r"vectors\.npy cannot be read as a \.npy file"),
    ]:
        np.save(folder / "vectors.npy", vectors)
        with pytest.raises(DatasetError, match=message):
            Dataset.open(folder)
    (folder / "vectors.npy").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"vectors\.npy cannot be read as a \.npy file"):
        Dataset.open(folder)


def test_names_of_vector_columns_must_be_as_many_as_columns(folder):
    (folder / "vector_columns.txt").write_text("one\n")
    with pytest.raises(DatasetError, match=r"vector_columns\.txt has 1 names, vectors\.npy has 2 columns"):
        Dataset.open(folder)
    (folder / "vector_columns.txt").write_bytes(b"\xff\n")
    with pytest.raises(DatasetError, match=r"vector_columns\.txt cannot be read"):
        Dataset.open(folder)


@pytest.mark.parametrize("column", ["frames", "audio"])
def test_a_song_without_its_file_is_named(frames_folder, column):
    replace(frames_folder / "songs.csv", "title,frames", f"title,{column}")
    replace(frames_folder / "songs.csv", "frames/b.npy", "frames/missing.npy")
    with pytest.raises(DatasetError, match=r"songs\.csv, line 3: file not found: .*frames/missing\.npy"):
        Dataset.open(frames_folder)
    replace(frames_folder / "songs.csv", "frames/missing.npy", "")
    with pytest.raises(DatasetError, match=rf"songs\.csv, line 3: {column} is empty; give a file or drop the row"):
        Dataset.open(frames_folder)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.ones((20, 12)), r"b\.npy holds float64 of shape \(20, 12\); give frames x 13"),
        (np.ones(13), r"b\.npy holds float64 of shape \(13,\)"),
        (np.ones((20, 13), int), r"b\.npy holds int64 of shape"),
        (np.ones((8, 13)), r"b\.npy has 8 frame\(s\); at least 9 are needed"),
        (np.ones((0, 39)), r"b\.npy has 0 frame\(s\); at least 1 are needed"),
    ],
)
def test_frames_of_the_wrong_shape_are_found_when_the_folder_is_opened(frames_folder, frames, message):
    np.save(frames_folder / "frames" / "b.npy", frames)
    with pytest.raises(DatasetError, match=r"songs\.csv, line 3: frames/" + message):
        Dataset.open(frames_folder)


def test_a_file_of_frames_that_is_none_or_breaks_off_is_found_when_the_folder_is_opened(frames_folder):
    path = frames_folder / "frames" / "b.npy"
    complete = path.read_bytes()
    path.write_bytes(complete[:-1])
    with pytest.raises(DatasetError, match=rf"b\.npy is truncated: {len(complete) - 1} of {len(complete)} bytes"):
        Dataset.open(frames_folder)
    for wrong in (b"", b"nothing of the kind", complete[:20]):
        path.write_bytes(wrong)
        with pytest.raises(DatasetError, match=r"line 3: frames/b\.npy cannot be read as a \.npy file"):
            Dataset.open(frames_folder)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_frames_that_are_no_numbers_are_found_when_they_are_read(frames_folder, value):
    frames = np.ones((20, 13))
    frames[7, 3] = value
    np.save(frames_folder / "frames" / "b.npy", frames)
    data = Dataset.open(frames_folder)
    assert len(data.frames_of(0)) == 20
    with pytest.raises(DatasetError, match=r"b\.npy has a NaN or infinite value, first in frame 7"):
        data.frames_of(1)


def test_frames_that_are_missing_are_named(frames_folder):
    data = Dataset.open(frames_folder)
    (frames_folder / "frames" / "a.npy").unlink()
    with pytest.raises(DatasetError, match=r"File not found: .*a\.npy"):
        data.frames_of(0)
