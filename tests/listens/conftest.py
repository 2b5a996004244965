"""What the tests of listening histories share: files made on the fly, and all they say as plain tuples."""

import pytest

from nearsong.listens import open_listens
from nearsong.listens.records import Action


@pytest.fixture
def write(tmp_path):
    """Write a file below the test's folder and return its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder that all examples of a property share."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def listens():
    """Return all listens of a file, or rows of another action, as a list of (user, artist, title, plays, time)."""
    return all_rows


def all_rows(path, format=None, user=None, on_bad_row=None, action=Action.LISTEN, counts=None):
    found = []
    for block in open_listens(path, format).blocks(on_bad_row=on_bad_row, user=user, counts=counts):
        actions = block.action if block.action is not None else [Action.LISTEN] * len(block)
        columns = (block.user, block.item, block.plays, block.time, actions)
        for who, what, plays, time, told in zip(*columns, strict=True):
            track = block.tracks[what]
            if told == action:
                found.append((block.users[who], track.artist, track.title, float(plays), int(time)))
    return found
