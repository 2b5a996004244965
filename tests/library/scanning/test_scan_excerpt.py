"""A library of excerpts: all songs by the same part, whatever came first, and files from outside like them."""

import shutil

import numpy as np
import pytest

from nearsong.audio import load_audio
from nearsong.errors import InvalidInputError
from nearsong.library import Library
from nearsong.library.models.encoder_list import add_encoder
from nearsong.library.models.excerpt import NO_FRAMES, library_excerpt
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.models.lifecycle import import_model, use_model
from nearsong.library.scanning.analyse_file import analyse_upload
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.library.status import status_of
from nearsong.model import SimilarityModel
from nearsong.model.encoders.pretrained.vectors import NoFrames

RATE = 22_050
SECONDS = 12.0
NAMES = ("gaussian", "texture")

pytestmark = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


@pytest.fixture
def music(tmp_path, make_song):
    """Return a folder with four songs of twelve seconds, and one that is shorter than an excerpt."""
    for i in range(4):
        make_song(tmp_path / "music" / f"Artist {i % 2}" / f"Song {i}.wav", seed=i, seconds=SECONDS)
    make_song(tmp_path / "music" / "short.wav", seed=4, seconds=3.0)
    return tmp_path / "music"


def excerpts(seconds: float | None = 10, **options) -> ScanOptions:
    return ScanOptions(encoders=NAMES, excerpt=seconds, **options)


def check_vectors(store, seconds: float) -> None:
    """Check the vectors of all songs against those of samples that are cut by hand."""
    songs = {song.id: song for song in store.songs.all()}
    assert store.songs.not_analysed(store.models.scanned_encoders().values()) == 0
    for encoder_id in store.models.scanned_encoders().values():
        encoder = stored_encoder(store, [encoder_id])
        assert encoder.excerpt == seconds
        (batch,) = store.songs.vectors([encoder_id])
        for song, vector in zip(batch[0].tolist(), batch[1], strict=True):
            samples = load_audio(songs[song].path)
            n = round(seconds * RATE) or len(samples)
            start = max(0, len(samples) - n) // 2
            expected = encoder.encode(samples[start : start + n]).astype(encoder.storage_dtype)
            np.testing.assert_array_equal(vector.astype(encoder.storage_dtype), expected)
            assert songs[song].seconds == pytest.approx(len(samples) / RATE)


def test_a_song_is_described_by_its_middle_and_has_its_complete_length(store, music, analysed):
    assert scan(store, [music], excerpts()).added == 5
    check_vectors(store, 10.0)
    assert status_of(store).excerpt == library_excerpt(store) == 10.0
    assert NoFrames.name == NO_FRAMES, "it is written out, as the encoders take long to load"
    assert status_of(store).damaged == 0


def test_a_new_library_is_of_complete_songs(store, music, analysed):
    scan(store, [music], excerpts(None))
    check_vectors(store, 0.0)
    assert status_of(store).excerpt == 0


def test_later_scans_and_encoders_keep_the_excerpt(store, music, analysed, make_song):
    scan(store, [music], excerpts())
    make_song(music / "new.wav", seed=9, seconds=SECONDS)
    notes = []
    assert scan(store, [music], note=notes.append).added == 1
    add_encoder(store, "fisher")
    assert scan(store, note=notes.append).reanalysed == 6
    assert sorted(store.models.scanned_encoders()) == ["fisher", *NAMES]
    check_vectors(store, 10.0)
    analysed.take()
    assert scan(store, options=ScanOptions(excerpt=10), note=notes.append).unchanged == 6
    assert (analysed.take(), notes) == ([], [])


def test_another_excerpt_analyses_all_songs_again_also_those_of_other_folders(store, music, analysed):
    scan(store, [music], excerpts(None))
    native = store.models.active
    analysed.take()
    notes = []
    report = scan(store, [music / "Artist 0"], ScanOptions(excerpt=11), note=notes.append)
    assert (report.found, report.reanalysed, len(analysed.take())) == (2, 5, 5)
    assert notes == [
        "All songs are analysed again, now the middle 11 seconds, to stay comparable; an interrupted scan continues."
    ]
    check_vectors(store, 11.0)
    assert store.models.active != native
    assert len(store.songs.embeddings(store.models.active)[0]) == 5
    report = scan(store, options=ScanOptions(excerpt=0), note=notes.append)  # the vectors of before are stored
    assert (report.unchanged, analysed.take()) == (5, [])
    check_vectors(store, 0.0)


def test_an_interrupted_change_of_the_excerpt_continues_and_mixes_nothing(store, music, analysed):
    scan(store, [music], excerpts(None))
    native, complete = store.models.active, store.models.scanned_encoders()

    def stop(stage, done, total):
        if stage == "analysing songs" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan(store, options=ScanOptions(excerpt=10), progress=stop)
    assert store.models.active == native  # of complete songs, which all have vectors of
    assert store.models.row(native).encoder_ids == tuple(complete[name] for name in NAMES)
    assert status_of(store).not_analysed > 0
    analysed.take()
    assert 3 <= scan(store).reanalysed < 5
    assert len(analysed.take()) < 5
    check_vectors(store, 10.0)
    assert store.models.active != native


def test_going_back_to_a_model_goes_back_to_its_excerpt(store, music, analysed):
    scan(store, [music], excerpts(None))
    model = SimilarityModel.from_bytes(store.models.data(store.models.active))
    imported, _ = import_model(store, model, {})
    scan(store, options=ScanOptions(excerpt=10))
    assert library_excerpt(store) == 10.0
    assert use_model(store, imported) == 0
    assert library_excerpt(store) == 0.0


def test_files_from_outside_are_compared_by_the_same_excerpt(address, music, analysed, tmp_path):
    song = sorted(music.rglob("*.wav"))[0]
    outside = shutil.copy(song, tmp_path / "outside.wav")
    with Library.open(address) as library:
        library.scan(music, encoders=NAMES, excerpt=10)
        (nearest,) = library.similar(outside, n=1)
        assert nearest.song.path == str(song)
        assert nearest.distance == pytest.approx(0, abs=1e-2)  # stored in half precision
        encoder = library.load_model().encoder
        assert {member.excerpt for member in encoder.encoders} == {10.0}
        library.export_model(tmp_path / "model.npz")
    analysed_upload = analyse_upload(encoder, outside, "song.wav", 60.0)
    samples = load_audio(outside)[RATE : 11 * RATE]
    np.testing.assert_array_equal(analysed_upload.sound.vector, encoder.encode(samples))
    assert analysed_upload.sound.seconds == pytest.approx(SECONDS)
    assert analysed_upload.sound.damage is None
    stored = SimilarityModel.load(tmp_path / "model.npz").encoder
    assert stored.key == encoder.key
    np.testing.assert_array_equal(stored.encode(outside), encoder.encode(samples))


@pytest.mark.parametrize("seconds", [5, -10, float("nan"), "60"])
def test_a_length_that_cannot_be_is_refused_before_anything_is_read(store, music, seconds):
    with pytest.raises(InvalidInputError, match=r"excerpt=.* choose 10 or more, or 0 for complete songs"):
        scan(store, [music], ScanOptions(excerpt=seconds))
