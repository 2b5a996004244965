import json
import os
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearsong.errors import EncoderNotInstalledError, InvalidInputError, ModelFileError
from nearsong.model import SimilarityModel, file_format


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.nearsong"
    model.save(path)
    return path


def rewrite(path, change):
    """Save a model file again with a changed header and a right checksum."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    header.pop("checksum")
    header, arrays = change(header, arrays)
    header["checksum"] = file_format.checksum(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, header=text, **arrays)


def with_projections(header, projections):
    return {**header, "projector": {**header["projector"], "parameters": {"projections": projections}}}


def with_encoder(header, **changes):
    """Return a header that describes the encoder otherwise."""
    return {**header, "encoder": {**header["encoder"], **changes}}


def test_a_loaded_model_is_the_model_that_was_saved(model, saved, songs):
    loaded = SimilarityModel.load(saved)
    assert loaded.trained_on == model.trained_on
    assert loaded.encoder.key == model.encoder.key
    encoded = model.encode_all(songs)
    assert loaded.encode_all(songs).tobytes() == encoded.tobytes()
    assert loaded.project(encoded).tobytes() == model.project(encoded).tobytes()
    np.testing.assert_array_equal(loaded.encoder.quantizer.codebook.counts_, model.encoder.quantizer.codebook.counts_)


def test_saving_the_same_model_gives_the_same_bytes(model, saved, tmp_path):
    model.save(tmp_path / "again")
    SimilarityModel.load(saved).save(tmp_path / "third")
    assert saved.read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "third").read_bytes()


def test_several_projections_survive(model, songs, tmp_path):
    both = SimilarityModel.combined([model, model], weights=[1, 2])
    both.save(tmp_path / "both")
    encoded = both.encode_all(songs)
    assert SimilarityModel.load(tmp_path / "both").project(encoded).tobytes() == both.project(encoded).tobytes()


def test_the_file_is_plain_arrays_and_a_json_header(saved):
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert set(archive.files) >= {
            "codewords",
            "mean",
            "scale",
            "projector_projection0_factor",
        }
    assert header["format"] == "nearsong model"
    assert header["version"] == 4
    assert len(header["checksum"]) == 64
    assert header["encoder"]["name"] == "codewords"
    assert header["encoder"]["parameters"] == {"tau": 2}
    assert header["trained_on"]["artists"] == 10


def test_others_may_read_the_file_as_the_umask_says(saved):
    plain = saved.with_name("plain")
    plain.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_saving_again_keeps_a_file_private_and_follows_a_link(model, saved):
    saved.chmod(0o600)
    link = saved.with_name("link")
    link.symlink_to(saved)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert SimilarityModel.load(link).rank == model.rank


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match=r"model\.nearsong: is not a nearsong model, or is truncated"):
        SimilarityModel.load(saved)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0, 1, exclude_max=True), value=st.integers(1, 255))
def test_a_file_with_one_byte_changed_is_refused_or_the_same(model, saved, songs, position, value):
    model.save(saved)
    content = bytearray(saved.read_bytes())
    content[int(position * len(content))] ^= value
    saved.write_bytes(content)
    try:
        loaded = SimilarityModel.load(saved)
    except ModelFileError:
        return
    # a byte that means nothing, such as a time stamp in the archive
    encoded = model.encode(songs[0])
    assert loaded.encode(songs[0]).tobytes() == encoded.tobytes()
    assert loaded.project(encoded).tobytes() == model.project(encoded).tobytes()


def test_an_altered_number_is_refused(saved):
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["projector_projection0_factor"] = arrays["projector_projection0_factor"] * 1.001
    with open(saved, "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ModelFileError, match="was changed or damaged after it was written"):
        SimilarityModel.load(saved)


def test_an_altered_header_is_refused(saved):
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = arrays["header"].tobytes().replace(b'"tau":2', b'"tau":3')
    arrays["header"] = np.frombuffer(text, dtype=np.uint8)
    with open(saved, "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ModelFileError, match="was changed or damaged"):
        SimilarityModel.load(saved)


def test_a_newer_file_says_to_upgrade(saved):
    rewrite(saved, lambda header, arrays: ({**header, "version": 5}, arrays))
    with pytest.raises(
        ModelFileError, match="has format 5, written by a newer nearsong; this one reads 4, so upgrade"
    ):
        SimilarityModel.load(saved)


@pytest.mark.parametrize("version", [0, 3, None, "4", 1.5])
def test_a_file_of_no_known_version_is_refused(saved, version):
    rewrite(saved, lambda header, arrays: ({**header, "version": version}, arrays))
    with pytest.raises(ModelFileError, match="does not read"):
        SimilarityModel.load(saved)


FOREIGN = {"text": b"this is a letter", "empty": b"", "zeros": bytes(5_000)}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(FOREIGN[name])
    with pytest.raises(ModelFileError, match=f"{name}: is not a nearsong model"):
        SimilarityModel.load(tmp_path / name)


def test_foreign_archives_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    np.savez(tmp_path / "header.npz", header=np.frombuffer(b'{"format": "other"}', dtype=np.uint8))
    np.savez(tmp_path / "list.npz", header=np.frombuffer(b"[1, 2]", dtype=np.uint8))
    np.savez_compressed(tmp_path / "packed.npz", header=np.zeros(10_000_000, dtype=np.uint8))
    np.savez(tmp_path / "object.npz", header=np.array([{"a": 1}], dtype=object))
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.writestr("header.npy", "not an array")
    for path in tmp_path.iterdir():
        with pytest.raises(ModelFileError, match=path.name):
            SimilarityModel.load(path)


def test_a_missing_file_and_a_folder_say_so(tmp_path):
    with pytest.raises(ModelFileError, match=r"gone: cannot be opened \(No such file"):
        SimilarityModel.load(tmp_path / "gone")
    with pytest.raises(ModelFileError, match=r"cannot be opened \(Is a directory"):
        SimilarityModel.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"cannot be opened \(embedded null"):
        SimilarityModel.load("a\0b")


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: (with_encoder(header, parameters={}), arrays),
        lambda header, arrays: (with_projections(header, []), arrays),
        lambda header, arrays: (with_projections(header, [{"colour": 3}]), arrays),
        lambda header, arrays: (with_encoder(header, parameters={"tau": 999}), arrays),
        lambda header, arrays: (
            with_encoder(header, features={"name": "delta_mfcc", "parameters": {"sample_rate": -1}}),
            arrays,
        ),
        lambda header, arrays: (header, {**arrays, "projector_projection0_factor": np.zeros((2, 3))}),
        lambda header, arrays: (header, {**arrays, "projector_projection0_mean": np.zeros((2, 3, 4))}),
        lambda header, arrays: (
            header,
            {name: a for name, a in arrays.items() if name != "projector_projection0_basis"},
        ),
        lambda header, arrays: (header, {**arrays, "codewords": np.full((24, 39), np.nan, np.float32)}),
        lambda header, arrays: (
            header,
            {**arrays, "projector_projection0_basis": arrays["projector_projection0_basis"][0]},
        ),
        lambda header, arrays: (header, {**arrays, "scale": np.array(["a"] * 39)}),
        lambda header, arrays: (
            header,
            {**arrays, "projector_projection0_factor": arrays["projector_projection0_factor"] * 1j},
        ),
        lambda header, arrays: (
            header,
            {**arrays, "projector_projection0_factor": arrays["projector_projection0_factor"] * 1e307},
        ),
        lambda header, arrays: (
            with_projections(header, [{**header["projector"]["parameters"]["projections"][0], "weight": 10**400}]),
            arrays,
        ),
        lambda header, arrays: (
            with_projections(header, [{**header["projector"]["parameters"]["projections"][0], "applies_phi": "no"}]),
            arrays,
        ),
        lambda header, arrays: (
            with_projections(
                header, [{**header["projector"]["parameters"]["projections"][0], "encoder_index": False}]
            ),
            arrays,
        ),
        lambda header, arrays: (
            with_encoder(header, features={"name": "delta_mfcc", "parameters": {"n_mels": 10**12}}),
            arrays,
        ),
        lambda header, arrays: ({**header, "trained_on": [1]}, arrays),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(saved, change):
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match="its parts do not fit together"):
        SimilarityModel.load(saved)


def test_what_json_cannot_hold_is_refused_before_anything_is_written(model, codebook, songs, tmp_path):
    odd = SimilarityModel(model.encoder, model.projector, {"when": object()})
    with pytest.raises(InvalidInputError, match="trained_on cannot be written as JSON"):
        odd.save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_says_so(model, tmp_path):
    with pytest.raises(ModelFileError, match="cannot be written"):
        model.save(tmp_path / "nowhere" / "model")
    with pytest.raises(ModelFileError, match="cannot be written"):
        model.save("a\0b")


def test_learning_does_not_write_into_the_callers_relation(codebook, songs, relevant):
    mine = relevant.copy().astype(float)
    mine.data[:3] = 0.0  # explicit zeros, which a careless reader would remove in place
    before = [array.copy() for array in (mine.data, mine.indices, mine.indptr)]
    SimilarityModel.learn(codebook, songs, mine, tau=2)
    for array, copy in zip((mine.data, mine.indices, mine.indptr), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_folder_that_cannot_be_synced_does_not_spoil_a_save(model, tmp_path, monkeypatch):
    original = os.open

    def refuse_folders(path, *arguments, **named):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse_folders)
    model.save(tmp_path / "model")
    assert SimilarityModel.load(tmp_path / "model").rank == model.rank


def test_a_failed_save_leaves_the_old_file_and_nothing_else(model, saved, monkeypatch):
    before = saved.read_bytes()

    def full_disk(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(ModelFileError, match="No space left on device"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_save_that_is_killed_leaves_the_old_file_intact(saved):
    code = (
        "import os, sys, signal, numpy as np, nearsong\n"
        "model = nearsong.SimilarityModel.load(sys.argv[1])\n"
        "model.trained_on['note'] = 'second'\n"
        "write = os.fsync\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "model.save(sys.argv[1])"
    )
    before = saved.read_bytes()
    assert subprocess.run([sys.executable, "-c", code, saved]).returncode == -9
    assert saved.read_bytes() == before
    assert SimilarityModel.load(saved).trained_on["note"] == "kinds"


@pytest.mark.parametrize("facts", [{"name": "other"}, {"version": 99}])
def test_a_file_that_needs_another_encoder_says_which(saved, facts):
    rewrite(saved, lambda header, arrays: (with_encoder(header, **facts), arrays))
    with pytest.raises(
        EncoderNotInstalledError, match=r"needs version \d+ of the encoder '\w+', which this nearsong"
    ):
        SimilarityModel.load(saved)


def test_a_version_that_is_a_long_text_is_shown_shortened(saved):
    rewrite(saved, lambda header, arrays: ({**header, "version": "x" * 1_000}, arrays))
    with pytest.raises(ModelFileError, match="has format '" + "x" * 40 + "', which this nearsong does not read"):
        SimilarityModel.load(saved)


def test_a_long_text_in_a_header_does_not_make_a_long_message(saved):
    features = {"name": "delta_mfcc", "parameters": {"sample_rate": "x" * 100_000}}
    rewrite(saved, lambda header, arrays: (with_encoder(header, features=features), arrays))
    with pytest.raises(ModelFileError, match="do not fit together") as caught:
        SimilarityModel.load(saved)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("fact", ["name", "version"])
def test_an_encoder_of_a_long_name_is_shown_shortened(saved, fact):
    rewrite(saved, lambda header, arrays: ({**header, "encoder": {**header["encoder"], fact: "x" * 1_000}}, arrays))
    with pytest.raises(EncoderNotInstalledError, match=r"x{40}") as caught:
        SimilarityModel.load(saved)
    assert len(str(caught.value)) < 300


def test_a_version_of_thousands_of_digits_is_shown_shortened(saved):
    rewrite(saved, lambda header, arrays: ({**header, "version": 10**4_000}, arrays))
    with pytest.raises(ModelFileError, match="written by a newer nearsong") as caught:
        SimilarityModel.load(saved)
    assert len(str(caught.value)) < 300 + len(str(saved))
