"""The command line in this process."""

from collections.abc import Callable

import pytest

from command_line import Result, run_nearsong


@pytest.fixture
def nearsong() -> Callable[..., Result]:
    """Return a function that runs a command as `nearsong --library ADDRESS ...` would."""
    return run_nearsong
