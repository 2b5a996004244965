"""``nearsong automation``: what the service does by itself."""

import json

import pytest

from nearsong.library import Library


@pytest.fixture
def library(tmp_path):
    Library.open(tmp_path / "library.sqlite").close()
    return tmp_path / "library.sqlite"


def test_it_says_what_is_next_and_takes_changes(nearsong, library):
    shown = nearsong("automation", library=library)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("Not trained yet; 0 plays so far.")
    assert (
        "Trains after 300 new listens or 100 new songs, at most every 72 hours, between 02:00 and 06:00."
        in shown.stdout
    )
    nearsong("automation", "set", "--quiet", "01:00-07:30", "--new-listens", 500, library=library)
    nearsong("automation", "add-pull", "listenbrainz", "anna", library=library)
    facts = json.loads(nearsong("automation", "--json", library=library).stdout)
    assert (facts["quiet_from"], facts["quiet_to"], facts["new_listens"]) == ("01:00", "07:30", 500)
    assert facts["pulls"] == [{"service": "listenbrainz", "name": "anna", "url": "", "user": ""}]
    assert "Pull 1: listenbrainz anna, every 6 hours." in nearsong("automation", library=library).stdout
    nearsong("automation", "remove-pull", 1, library=library)
    assert "Off: " in nearsong("automation", "off", library=library).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "--quiet", "noon"), "give two local times"),
        (("set", "--quiet", "1-2"), "is no time"),
        (("add-pull", "radio", "anna"), "'radio' is not a service"),
        (("remove-pull", 1), "there is no pull 1"),
    ],
)
def test_what_cannot_work_says_why(nearsong, library, arguments, words):
    result = nearsong("automation", *arguments, library=library)
    assert result.returncode == 2
    assert words in result.stderr
