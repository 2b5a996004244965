"""Weights of musicnn: the real ones where they were installed for tests, and random ones everywhere."""

import sys
from pathlib import Path

import pytest

from nearsong.model.encoders.pretrained.installed import ENVIRONMENT
from nearsong.model.encoders.pretrained.musicnn_weights import FILE_NAME, load_weights, store_weights
from random_weights import random_weights


@pytest.fixture(scope="session")
def musicnn_weights():
    """The weights that `make test` installs into the environment of the tests; they need PyPI once."""
    path = Path(sys.prefix) / "encoders" / FILE_NAME
    if not path.is_file():
        pytest.skip("the weights of musicnn could not be downloaded; `make weights` installs them")
    return load_weights(path)[1]


@pytest.fixture(scope="session")
def random_folder(tmp_path_factory) -> Path:
    """A folder of installed encoders with random weights of musicnn; read only."""
    folder = tmp_path_factory.mktemp("encoders")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(folder))
        store_weights(random_weights())
    return folder


@pytest.fixture
def installed(random_folder, monkeypatch) -> Path:
    """Random weights of musicnn are installed."""
    monkeypatch.setenv(ENVIRONMENT, str(random_folder))
    return random_folder


@pytest.fixture
def nothing_installed(tmp_path, monkeypatch) -> Path:
    """No encoder is installed."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "encoders"))
    return tmp_path / "encoders"
