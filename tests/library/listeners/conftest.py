"""What was played in a library."""

import pytest

from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.store import Store


@pytest.fixture
def play_log(store: Store) -> PlayLog:
    return PlayLog(store)
