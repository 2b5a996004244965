"""What is no number is not taken for one: JSON bodies have the types that the schema states."""

import pytest

LAX = [
    ("POST", "/plays", {"song_id": True}, "song_id"),
    ("POST", "/plays", {"song_id": "1"}, "song_id"),
    ("POST", "/plays", {"song_id": 1, "seconds": True}, "seconds"),
    ("POST", "/plays", {"song_id": 1, "seconds": "5"}, "seconds"),
    ("POST", "/plays", {"song_id": 1, "listener": 5}, "listener"),
    ("PUT", "/model", {"id": True}, "id"),
    ("POST", "/playlists", {"name": "x", "songs": [True]}, "songs.0"),
    ("POST", "/playlists", {"name": "x", "songs": ["1"]}, "songs.0"),
    ("POST", "/playlists/export", {"songs": [1.0]}, "songs.0"),
    ("POST", "/playlists/draft", {"seeds": [True]}, "seeds.0"),
    ("POST", "/playlists/draft", {"seeds": [1], "to": True}, "to"),
    ("POST", "/playlists/draft", {"seeds": [1], "length": "7"}, "length"),
    ("POST", "/playlists/draft", {"seeds": [1], "drift": True}, "drift"),
    ("POST", "/playlists/draft", {"seeds": [1], "shuffle": True}, "shuffle"),
    ("POST", "/playlists/draft", {"upload_seeds": [{"model": True, "embedding": ""}]}, "upload_seeds.0.model"),
    ("POST", "/playlists/draft", {"seeds": [1], "filters": {"min_seconds": True}}, "filters.min_seconds"),
    ("POST", "/playlists/draft", {"seeds": [1], "filters": {"year_from": "1990"}}, "filters.year_from"),
    ("POST", "/playlists/draft", {"seeds": [1], "filters": {"one_per_artist": 1}}, "filters.one_per_artist"),
    ("POST", "/playlists/draft", {"seeds": [1], "filters": {"one_per_artist": "yes"}}, "filters.one_per_artist"),
    ("POST", "/playlists/draft", {"seeds": [1], "filters": {"genres": [5]}}, "filters.genres.0"),
    ("POST", "/jobs", {"kind": "scan", "folders": [True]}, "folders.0"),
]


@pytest.mark.parametrize(("method", "path", "body", "field"), LAX)
def test_a_value_of_another_type_is_refused_with_its_name(client, method, path, body, field):
    answer = client.request(method, f"/api/v1{path}", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert f"{field}: " in answer.json()["detail"]


def test_values_of_the_right_types_are_taken_also_whole_numbers_for_fractions(client):
    filters = {
        "one_per_artist": True,
        "exclude_artists": ["x"],
        "year_from": None,
        "min_seconds": 0,
        "max_seconds": 9e5,
    }
    body = {"seeds": [1], "length": 3, "drift": 0, "diversity": 1, "adventurousness": 0.0, "filters": filters}
    assert client.post("/api/v1/playlists/draft", json=body).status_code == 200
    assert client.post("/api/v1/plays", json={"song_id": 1, "seconds": 5}).status_code == 204
