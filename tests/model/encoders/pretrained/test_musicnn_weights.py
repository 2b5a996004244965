"""Installing musicnn: the checkpoint of a wheel, and what is refused."""

import contextlib
import subprocess

import numpy as np
import pytest

from checkpoint_file import checkpoint_bytes, musicnn_wheel
from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model.encoders.pretrained import musicnn_weights
from nearsong.model.encoders.pretrained.checkpoint import read_checkpoint
from nearsong.model.encoders.pretrained.musicnn_weights import (
    install_musicnn,
    load_weights,
    weights_of_wheel,
)
from random_weights import random_weights

ARRAYS = {
    "conv/bias": np.arange(4.0),
    "conv/kernel": np.arange(24.0).reshape(2, 3, 4),
    "dense/kernel": np.arange(300.0).reshape(150, 2),
    "step": np.array(7.0),
}


def test_a_checkpoint_is_read_as_it_was_checkpoint_bytes():
    found = read_checkpoint(*checkpoint_bytes(ARRAYS))
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array)
    assert read_checkpoint(*checkpoint_bytes(ARRAYS, kind=9)) == {}  # other types are left out


def test_anything_else_is_refused_in_one_line():
    index, data = checkpoint_bytes(ARRAYS)
    with pytest.raises(InvalidInputError, match="its index is truncated"):
        read_checkpoint(index[:-1], data)
    with pytest.raises(InvalidInputError, match="dense/kernel are truncated"):
        read_checkpoint(index, data[:-5])
    random = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(index)
        broken[random.integers(len(index) - 8)] = random.integers(256)
        with contextlib.suppress(InvalidInputError):
            read_checkpoint(bytes(broken), data)


# ---- wheels


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel with random weights, whose hashes are known."""
    return musicnn_wheel(tmp_path, monkeypatch)


def test_weights_come_from_the_wheel_into_the_users_folder(wheel, nothing_installed):
    path = install_musicnn(wheel)
    assert path == nothing_installed / "musicnn.npz"
    for name, array in load_weights(path)[1].items():
        np.testing.assert_array_equal(array, random_weights()[name])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        EncoderNotInstalledError, match=r"is damaged\. Install it again: nearsong encoders install musi"
    ):
        load_weights(path)


def test_a_wheel_with_another_content_is_refused(wheel, nothing_installed, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(EncoderNotInstalledError, match=r"not the wheel of musicnn==0.1.0 \(.* has another content\)"):
        weights_of_wheel(wheel)
    wheel.write_bytes(b"no wheel")
    with pytest.raises(EncoderNotInstalledError, match=r"File is not a zip file"):
        weights_of_wheel(wheel)
    with pytest.raises(EncoderNotInstalledError, match=r"No such file"):
        weights_of_wheel(wheel.parent / "nothing.whl")


def test_pip_downloads_it_and_its_failure_is_one_line(wheel, nothing_installed, monkeypatch):
    def pip(command, **options):
        folder = command[command.index("--dest") + 1]
        assert command[-1] == "musicnn==0.1.0"
        assert "--no-deps" in command
        (musicnn_weights.Path(folder) / "musicnn-0.1.0.whl").write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    def offline(command, **options):
        error = "WARNING: retrying\nERROR: Could not find a version\nERROR: No matching distribution found\n"
        return subprocess.CompletedProcess(command, 1, "", error)

    monkeypatch.setattr(musicnn_weights.subprocess, "run", pip)
    assert install_musicnn().is_file()
    monkeypatch.setattr(musicnn_weights.subprocess, "run", offline)
    with pytest.raises(EncoderNotInstalledError, match=r"\(No matching distribution found\); .*--from musicnn-0.1.0"):
        install_musicnn()


def test_a_folder_that_cannot_be_made_is_named(wheel, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NEARSONG_ENCODERS", str(tmp_path / "file" / "below"))
    with pytest.raises(EncoderNotInstalledError, match=r"cannot be created .* set NEARSONG_ENCODERS"):
        install_musicnn(wheel)
