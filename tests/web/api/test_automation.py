"""What the service does by itself, through the API."""

import pytest


def test_settings_can_be_read_and_changed_one_by_one(client):
    before = client.get("/api/v1/automation").json()
    assert (before["is_on"], before["is_running"], before["quiet_from"]) == (True, False, "02:00")
    assert before["words"].startswith("Last trained ")
    changed = client.put("/api/v1/automation", json={"is_on": False, "new_listens": 7}).json()
    assert changed == before | {"is_on": False, "new_listens": 7, "next": [], "words": changed["words"]}
    assert client.get("/api/v1/automation").json()["new_listens"] == 7


@pytest.mark.parametrize("body", [{"quiet_from": "24:00"}, {"scan_hours": -1}, {"new_songs": 0}, {"pulls": []}])
def test_what_cannot_be_set_is_a_problem(client, body):
    assert client.put("/api/v1/automation", json=body).status_code == 422
