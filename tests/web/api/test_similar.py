"""What is near: the same as the library says, with what listeners make of it, under both ways to compare."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import soundfile

import music_library
from nearsong.library import Filters
from nearsong.web.json.schemas import SongOut
from nearsong.web.json.similar import similar_json
from nearsong.web.service.service import Service

FIELDS = {"id", "artist", "title", "album", "genre", "year", "seconds", "plays"}  # of every version of the API


def ids(answer):
    return [one["song"]["id"] for one in answer.json()["songs"]]


@pytest.mark.parametrize("seed", [1, 20, 72])
def test_the_answer_is_the_librarys_own(client, trained, seed):
    answer = client.get(f"/api/v1/similar?seed={seed}&n=7")
    near = trained.similar(seed, n=7)
    assert ids(answer) == [one.song.id for one in near]
    answered = answer.json()["songs"]
    assert [one["distance"] for one in answered] == pytest.approx([one.distance for one in near])
    for name in ("similarity", "closeness"):
        assert [one[name] for one in answered] == pytest.approx([getattr(one, name) for one in near])
    assert [one["closeness_word"] for one in answered] == [one.closeness_word for one in near]
    assert set(answered[0]["song"]) == set(SongOut.model_fields) >= FIELDS
    assert answer.json()["seeds"][0]["id"] == seed
    assert answer.json()["model"] == {"id": trained.active_model, "kind": "learned"}


@pytest.mark.parametrize(
    "query", ["", "&one_per_artist=true", "&new_artists=true", "&exclude_artist=Band A3", "&n=72"]
)
@pytest.mark.parametrize("metric", ["active", "native"])
def test_many_who_ask_at_once_get_what_each_gets_alone(client, query, metric):
    snapshot = client.service.snapshot
    snapshot.warm()
    assert snapshot.is_ready(metric)
    with ThreadPoolExecutor(12) as pool:
        paths = [f"/api/v1/similar?seed={song}&metric={metric}{query}" for song in range(1, 25)]
        answers = list(pool.map(client.get, paths))
    asked = dict(one.split("=") for one in query.split("&") if one)
    filters = Filters(
        "one_per_artist" in asked, "new_artists" in asked, tuple(asked.get("exclude_artist", "").split(","))
    )
    for song, answer in enumerate(answers, start=1):
        seeds = [snapshot.seed(song, metric)]
        near = snapshot.similar(seeds, int(asked.get("n", 10)), filters, metric)
        assert near
        assert answer.content == similar_json(snapshot, metric, seeds, near)


def test_before_everything_is_made_the_answer_is_the_same(client, trained, monkeypatch):
    trained.remove_listens(*(source.id for source in trained.listens()))
    snapshot = trained.snapshot()
    assert not snapshot.is_ready()
    monkeypatch.setattr(Service, "snapshot", snapshot)
    monkeypatch.setattr(Service, "loaded", snapshot)  # not what the service had before, and may replace at any moment
    before = client.get("/api/v1/similar?seed=3")
    snapshot.warm()
    assert snapshot.is_ready()
    assert client.get("/api/v1/similar?seed=3").json() == before.json()


def test_by_sound_alone_is_the_native_model_of_the_same_encoder(client, trained):
    answer = client.get("/api/v1/similar?seed=1&n=5&metric=native")
    space = client.service.snapshot.native
    distances = np.linalg.norm(space.embeddings - space.embeddings[space.row_of[1]], axis=1)
    nearest = [int(space.ids[row]) for row in np.lexsort((space.ids, distances)) if space.ids[row] != 1][:5]
    assert ids(answer) == nearest
    assert answer.json()["metric"] == "native"


def test_several_seeds_and_filters_are_those_of_the_library(client, trained):
    answer = client.get(
        "/api/v1/similar?seed=1&seed=30&n=6&one_per_artist=true&new_artists=true&genre=hum&genre=hiss"
        "&exclude_artist=Band A3&year_from=1985&year_to=2005&fewer_plays=100000"
    )
    filters = Filters(True, True, ("Band A3",), ("hum", "hiss"), 1985, 2005, 100000.0)
    assert ids(answer) == [one.song.id for one in trained.similar(1, 30, n=6, filters=filters)]
    assert [one["id"] for one in answer.json()["seeds"]] == [1, 30]


def test_the_same_artist_and_what_listeners_say_are_shown(client):
    snapshot = client.service.snapshot
    answer = client.get("/api/v1/similar?seed=1&n=50").json()
    own = snapshot.song(1).artist_key
    for one in answer["songs"]:
        other = snapshot.song(one["song"]["id"]).artist_key
        assert one["same_artist"] == (other == own)
        assert one["listeners_agree"] is snapshot.listeners.agree(own, other)
    assert {one["listeners_agree"] for one in answer["songs"]} >= {True, False}


def test_plays_are_those_of_the_listens(client):
    plays = client.service.snapshot.plays
    answer = client.get("/api/v1/similar?seed=1&n=72").json()
    assert len(plays) > 30
    for one in answer["songs"]:
        assert one["song"]["plays"] == pytest.approx(plays.get(one["song"]["id"], 0.0), abs=0.01)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 422, "seed: Field required"),
        ("seed=1&n=0", 422, "n: Input should be greater than or equal to 1"),
        ("seed=1&n=201", 422, "n: Input should be less than or equal to 200"),
        ("seed=1&metric=cosine", 422, "metric: Input should be 'active' or 'native'"),
        ("seed=7777", 404, "song not found: 7777"),
        ("seed=1&year_from=2000&year_to=1990", 400, "year_from=2000 is above year_to=1990; swap them"),
        ("seed=1&min_seconds=300&max_seconds=60", 400, "min_seconds=300 is above max_seconds=60; swap them"),
        ("seed=1&fewer_plays=nan", 422, "fewer_plays:"),
        ("&".join(["seed=1"] * 101), 422, "seed: List should have at most 100 items"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(client, query, status, words):
    answer = client.get(f"/api/v1/similar?{query}")
    assert answer.status_code == status
    assert words in answer.json()["detail"]


def test_no_song_that_fits_is_an_empty_answer(client):
    assert ids(client.get("/api/v1/similar?seed=1&genre=polka")) == []


def test_why_says_what_two_songs_share(client, trained):
    answer = client.get("/api/v1/why?query=1&other=7").json()
    why = trained.why(1, 7)[0]
    assert answer["sentences"] == why.sentences()
    assert answer["lead"] == why.lead == answer["sentences"][0]
    assert (answer["closeness"], answer["closeness_word"]) == (why.closeness, why.closeness_word)
    assert answer["distance"] == pytest.approx(why.distance)
    assert [one["words"] for one in answer["similarities"]] == [one.words for one in why.sound.similarities]
    assert answer["listeners"]["shared"] == why.listeners.shared


def test_sounds_that_two_songs_share_come_with_other_songs_that_have_them(client):
    n_examples = 0
    for query in range(1, 73, 3):
        for other in ids(client.get(f"/api/v1/similar?seed={query}&n=3")):
            answer = client.get(f"/api/v1/why?query={query}&other={other}").json()
            examples = {song["id"] for one in answer["similarities"] for song in one["examples"]}
            assert not examples & {query, other}
            n_examples += len(examples)
    assert n_examples > 0


def test_where_two_songs_sound_most_alike_is_found_or_the_reason_said(client, tmp_path):
    space = client.service.snapshot.space
    whole = tmp_path / "long.wav"
    soundfile.write(whole, np.concatenate([music_library.sound(2, 5, 7.0), music_library.sound(0, 5, 6.0)]), 22_050)
    noise = tmp_path / "noise.wav"
    noise.write_bytes(b"no music" * 100)
    for row, path in ((7, whole), (8, noise), (9, tmp_path / "gone.wav")):
        space.songs[row] = replace(space.songs[row], path=str(path))
    hum, long, unreadable, missing = (space.songs[row].id for row in (0, 7, 8, 9))
    assert space.songs[0].genre == "low hum"
    found = client.get(f"/api/v1/why/moment?query={hum}&other={long}").json()
    assert (found["query_start"], found["reason"]) == (0, "")
    assert 5.0 <= found["other_start"] <= 8.5  # the hum comes after seven seconds of pulses
    turned = client.get(f"/api/v1/why/moment?query={long}&other={hum}").json()
    assert (turned["query_start"], turned["other_start"]) == (found["other_start"], 0)
    for other, words in ((missing, f"the file of song {missing} is missing"), (unreadable, "")):
        answer = client.get(f"/api/v1/why/moment?query={hum}&other={other}").json()
        assert (answer["query_start"], answer["other_start"]) == (None, None)
        assert answer["reason"]
        assert words in answer["reason"]
    assert client.get("/api/v1/why/moment?query=1&other=9999").status_code == 404


def test_why_of_a_song_and_itself_or_of_none(client):
    assert client.get("/api/v1/why?query=1&other=1").json()["same_artist"] is True
    assert client.get("/api/v1/why?query=1&other=9999").status_code == 404
    assert client.get("/api/v1/why?query=1").status_code == 422


def test_an_empty_library_is_problem_409(empty_client):
    for path in (
        "/similar?seed=1",
        "/why?query=1&other=2",
        "/songs",
        "/songs/1",
        "/songs/1/audio",
        "/genres",
        "/map",
    ):
        answer = empty_client.get(f"/api/v1{path}")
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:nearsong:empty-library"


def test_names_from_strangers_come_as_json_and_nothing_else(client, trained):
    song = client.service.snapshot.space.songs[1]
    hostile = '<img src=x onerror=alert(1)>"\r\nX-Evil: 1\u2028</script>\udce9'
    rows = client.service.snapshot.space.songs
    rows[1] = type(song)(
        **{name: getattr(song, name) for name in song.__slots__} | {"artist": hostile, "title": hostile}
    )
    for path in ("/similar?seed=1&n=72", f"/songs/{song.id}", f"/why?query=1&other={song.id}"):
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "x-evil" not in answer.headers
    assert client.get(f"/api/v1/songs/{song.id}").json()["artist"] == hostile[:-1] + "\ufffd"


def test_without_a_listener_space_or_words_one_line_says_what_is_needed(client):
    status = client.get("/api/v1/status").json()
    assert status["has_words"] is False
    dialled = client.get("/api/v1/similar?seed=1&adventurousness=0.5&metric=native")
    assert dialled.status_code == 400
    assert "needs a model that learned from listeners" in dialled.json()["detail"]
    assert client.get("/api/v1/similar?seed=1&adventurousness=2").status_code == 422
    found = client.get("/api/v1/find?words=mellow")
    assert found.status_code == 400
    assert "nearsong encoders install musicnn" in found.json()["detail"]
