"""Similar songs by the short way: the same answers as by the route, and only for requests in the usual form."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library import Filters
from nearsong.web.api import quick_similar
from nearsong.web.api.quick_similar import usual_query
from nearsong.web.json.answers import json_bytes, model_json, neighbours_json, song_json
from nearsong.web.json.similar import SongTexts, similar_json

USUAL = [
    ("seed", ["1", "30", "72"]),
    ("n", ["1", "10", "200"]),
    ("metric", ["active", "native"]),
    ("one_per_artist", ["true", "false"]),
    ("new_artists", ["true", "false"]),
]
STRANGE = [
    "",
    "0",
    "01",
    "+5",
    " 5",
    "5 ",
    "%35",
    "5.0",
    "-1",
    "201",
    "9" * 17,
    "9" * 30,
    "yes",
    "1",
    "True",
    "Native",
    "x",
]
NAMES = [*(name for name, _ in USUAL), "without", "genre", "year_from", "adventurousness", "Seed", "unknown", ""]

usual_parts = st.lists(st.sampled_from([f"{name}={value}" for name, values in USUAL for value in values]), max_size=6)
strange_parts = st.lists(st.builds("{}={}".format, st.sampled_from(NAMES), st.sampled_from(STRANGE)), max_size=2)
queries = st.tuples(usual_parts, strange_parts, st.sampled_from(["", "&", "seed", "&&"])).map(
    lambda parts: "&".join([*parts[0], *parts[1]]) + parts[2]
)


@pytest.fixture(scope="module")
def ask_both(shared_client):
    """A function that returns the answers to a query with and without the short way, and whether it was taken."""
    client = shared_client()
    client.service.snapshot.warm()
    taken = []

    def recognise(query: bytes):
        taken.append(usual_query(query))
        return taken[-1]

    def ask(query: str, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(quick_similar, "usual_query", recognise)
            short = client.get(f"/api/v1/similar?{query}", **options)
            patch.setattr(quick_similar, "usual_query", lambda _query: None)
            return short, client.get(f"/api/v1/similar?{query}", **options), taken.pop() is not None

    return ask


@given(queries)
@settings(max_examples=60, deadline=None)
@example("seed=1&n=200&metric=native&one_per_artist=true&new_artists=true")
@example("seed=7777")  # no such song
@example("seed=1&seed=2")
@example("n=5&seed=1")
@example("seed=%31")
def test_both_ways_give_the_same_answer(ask_both, query):
    short, routed, _ = ask_both(query)
    assert (short.status_code, short.headers, short.content) == (routed.status_code, routed.headers, routed.content)


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("query", ["seed=1", "seed=1&n=50&metric=active", "new_artists=true&n=3&seed=30"])
def test_usual_requests_take_the_short_way_compressed_or_not(ask_both, query, encoding):
    short, routed, taken = ask_both(query, headers={"Accept-Encoding": encoding})
    assert taken
    assert (short.headers, short.json()) == (routed.headers, routed.json())


@pytest.mark.parametrize(
    "query", ["", "seed=", "seed=1&n=0", "seed=1&n=201", "seed=1&seed=2", "seed=1&genre=hum", "seed=01", "seed=1&"]
)
def test_unusual_requests_go_on_to_the_route(query):
    assert usual_query(query.encode()) is None


def test_other_methods_and_addresses_go_on_to_the_router(client):
    client.service.snapshot.warm()
    assert client.post("/api/v1/similar?seed=1").status_code == 405
    assert client.get("/api/v1/similar/?seed=1", follow_redirects=False).status_code == 307


def test_both_ways_count_as_the_same_route(client, monkeypatch):
    client.service.snapshot.warm()
    client.get("/api/v1/similar?seed=1")
    monkeypatch.setattr(quick_similar, "usual_query", lambda _query: None)
    client.get("/api/v1/similar?seed=1")
    line = 'nearsong_requests_total{method="GET",route="/api/v1/similar",status="200"} 2.0'
    assert line in client.get("/metrics").text.splitlines()


def test_an_error_of_the_search_is_a_problem_by_both_ways(client, monkeypatch):
    client.service.snapshot.warm()

    async def fail(_topic, _query):
        raise InvalidInputError("nothing works.")

    monkeypatch.setattr(client.service.similar_batcher, "submit", fail)
    short = client.get("/api/v1/similar?seed=1")
    monkeypatch.setattr(quick_similar, "usual_query", lambda _query: None)
    routed = client.get("/api/v1/similar?seed=1")
    assert (short.status_code, short.headers, short.content) == (400, routed.headers, routed.content)


@pytest.mark.parametrize("metric", ["active", "native"])
def test_joined_texts_are_the_json_of_the_plain_values(client, metric):
    snapshot = client.service.snapshot
    songs, hostile = snapshot.space.songs, '"\\\r\n\u2028</script>\udce9'
    songs[3] = replace(songs[3], artist=hostile, title=hostile)
    for ids in ([1], [1, 30], [4]):
        seeds = [snapshot.seed(song, metric) for song in ids]
        near = snapshot.similar(seeds, 72, Filters(), metric)
        plain = {
            "metric": metric,
            "model": model_json(snapshot),
            "seeds": [song_json(seed.song, snapshot.plays) for seed in seeds],
            "songs": neighbours_json(snapshot, seeds, near),
        }
        for _ in range(2):  # the second time from texts that are there
            assert similar_json(snapshot, metric, seeds, near) == json_bytes(plain)


def test_few_texts_are_held_and_a_changed_song_is_encoded_again(client, monkeypatch):
    monkeypatch.setattr("nearsong.web.json.similar.MAX_SONG_TEXTS", 5)
    songs = client.service.snapshot.space.songs[:20]
    texts = SongTexts({})
    for song in [*songs, *songs]:
        assert texts.of(song).encode() == json_bytes(song_json(song, {}))
        assert len(texts._texts) <= 5
    changed = replace(songs[-1], title="another")
    assert '"another"' in texts.of(changed)
