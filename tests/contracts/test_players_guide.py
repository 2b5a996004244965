"""Calls that the guide to players marks as run are named in the programs that run them."""

import re
from pathlib import Path

import pytest

from players_guide import calls_run

TESTS = Path(__file__).parents[1]
PROGRAMS = {
    "py-opensonic": TESTS / "web" / "subsonic" / "test_client.py",
    "py-sonic": TESTS / "clients" / "programs" / "use_py_sonic.py",
    "subsonic-api": TESTS / "clients" / "programs" / "use_subsonic_api.mjs",
}
"""Adapters and players call under other names: what they run is in `tests/clients`, seen by the service."""


@pytest.mark.parametrize("client", PROGRAMS)
def test_each_call_that_is_marked_as_run_is_in_the_program(client):
    named = set(re.findall(r"(?:connection|api)\.(\w+)\(", PROGRAMS[client].read_text()))
    calls = calls_run(client)
    assert len(calls) > 10
    assert {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", call) for call in calls} <= named or calls <= named
