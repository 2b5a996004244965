"""A lack skips tests, but not where what is lacking was installed."""

import pytest

from required import VARIABLE, require


def test_what_is_here_is_used(monkeypatch):
    monkeypatch.setenv(VARIABLE, "postgres")
    require("postgres", True, "there is none")


@pytest.mark.parametrize("names", ["", "dask browser", "postgresql"])
def test_a_lack_skips(monkeypatch, names):
    monkeypatch.setenv(VARIABLE, names)
    with pytest.raises(pytest.skip.Exception, match=r"^there is none$"):
        require("postgres", False, "there is none")


def test_a_lack_of_what_was_installed_fails(monkeypatch):
    monkeypatch.setenv(VARIABLE, "dask postgres browser")
    with pytest.raises(pytest.fail.Exception, match="NEARSONG_REQUIRED names postgres, but there is none"):
        require("postgres", False, "there is none")
