"""Nothing that a program submits is a failure of the service: it is stored, or refused in one line."""

import json
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearsong.library import Library
from nearsong.names import MAX_TEXT_LENGTH
from nearsong.web.http.rate_limits import RateLimit
from nearsong.web.settings import ServeSettings
from running_service import running

NOON = 1_700_000_000
METADATA = '"track_metadata": {"artist_name": "Ann", "track_name": "One"}'


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A client of an open service that any number of plays can be reported to, and its library."""
    folder = tmp_path_factory.mktemp("hostile")
    with Library.open(folder / "library.sqlite") as library:
        server = running(library, ServeSettings(port=0))
        with server as address, httpx.Client(base_url=address, timeout=30) as http:
            server.service.play_limit = RateLimit(10**9, per=1)
            yield http, library


def submitted(http, body):
    content = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    answer = http.post("/1/submit-listens", content=content)
    assert answer.status_code in (200, 400, 413), answer.text
    if answer.status_code != 200:
        words = answer.json()["error"]
        assert len(words.splitlines()) == 1
        assert len(words) < 300
    return answer.status_code


def single(item):
    return f'{{"listen_type": "single", "payload": [{item}]}}'


@pytest.mark.parametrize(
    "at",
    [
        "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" + "0" * 400, "1" + "0" * 5_000, "-1", "0", "5", "true",
        "null", "[]", "{}", '""', '"soon"', '"1e9"', '"٣"', "946684799", "4102444800", "1.7e300",
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_right_is_refused(hostile, at):
    assert submitted(hostile[0], single(f'{{"listened_at": {at}, {METADATA}}}')) == 400


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b"null", b"[]", b'"x"', b"7", b"{}", b"NaN",
        b'{"listen_type": ["single"], "payload": [1]}', b'{"listen_type": "single", "payload": {"0": 1}}',
        b'{"listen_type": "import", "payload": [[[[]]], null, 1e400]}', b'{"listen_type": "single"} trailing',
        single("{" + METADATA.replace('"Ann"', "7") + "}").encode(),
        single('{"listened_at": 1700000000, "track_metadata": [1]}').encode(),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(hostile, body):
    assert submitted(hostile[0], body) == 400


def test_of_a_key_that_is_there_twice_the_last_counts(hostile):
    http, library = hostile
    library.play_log.clear()
    body = f'{{"listened_at": 5, "listened_at": {NOON}, "track_metadata": 7, {METADATA}, "new": {{}}}}'
    assert submitted(http, single(body)) == 200
    assert [play.time for play in library.play_log.latest("me")] == [NOON]


names = [
    "a\x00b\x1b[31m\r\n",
    "\\ud800\\udfff x",
    "😀" * 400,
    "x" * 9_000,
    "\u202eevil",
    "'; DROP TABLE plays; --",
    "<b>&",
]


@pytest.mark.parametrize("name", names)
def test_any_name_is_stored_in_one_line_and_can_be_read_back(hostile, name):
    http, library = hostile
    library.play_log.clear()
    quoted = f'"{name}"' if "\\u" in name else json.dumps(name)
    body = f'{{"listened_at": {NOON}, "track_metadata": {{"artist_name": {quoted}, "track_name": {quoted}}}}}'
    status = submitted(http, single(body))
    assert status == 413 if len(name) > 5_000 else status == 200
    if status == 200:
        (read,) = http.get("/1/user/me/listens").json()["payload"]["listens"]
        track = read["track_metadata"]["track_name"]
        assert 0 < len(track) <= MAX_TEXT_LENGTH
        assert len(track.splitlines()) == 1
        assert not set(track) & {"\x00", "\x1b", "\ud800"}


def test_a_title_of_a_hundred_thousand_letters_is_cut_where_it_may_be_that_long(hostile):
    http, library = hostile
    library.play_log.clear()
    form = {"artist": "Ann", "track": "x" * 100_000, "timestamp": NOON, "method": "track.scrobble", "sk": "open-6d65"}
    assert http.post("/2.0/", data={**form, "format": "json"}).json()["scrobbles"]["@attr"]["accepted"] == 1
    assert [len(play.track.title) for play in library.play_log.latest("me")] == [MAX_TEXT_LENGTH]


def test_fields_of_any_type_that_are_not_needed_do_not_matter(hostile):
    http, library = hostile
    library.play_log.clear()
    wrong = {
        "recording_mbid": [1], "artist_mbids": {"a": 1}, "duration_ms": "long", "duration": -5, "tags": 7,
        "media_player": ["x"], "submission_client": None, "isrc": {"deep": [[[]]]},
    }  # fmt: skip
    track = {"artist_name": "Ann", "track_name": "One", "additional_info": wrong, "release_name": 7}
    for listen_type, at in (("single", {"listened_at": NOON}), ("playing_now", {})):
        body = json.dumps({"listen_type": listen_type, "payload": [{**at, "track_metadata": track}], "more": 1})
        assert submitted(http, body) == 200
    assert library.play_log.count() == 1
    assert len(http.get("/1/user/me/playing-now").json()["payload"]["listens"]) == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
tracks = st.fixed_dictionaries(
    {}, optional={"artist_name": values, "track_name": values, "additional_info": values, "release_name": values}
)
listens = st.fixed_dictionaries(
    {}, optional={"listened_at": values | st.just(NOON), "track_metadata": values | tracks}
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "listen_type": st.sampled_from(["single", "import", "playing_now"]) | values,
        "payload": st.lists(values | listens, max_size=3) | values,
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents)
def test_any_json_is_stored_or_refused(hostile, document):
    submitted(hostile[0], json.dumps(document))


parameters = st.sampled_from(
    ["artist", "track", "timestamp", "artist[0]", "track[0]", "timestamp[0]", "mbid", "duration"]
)
methods = st.sampled_from(["track.scrobble", "track.updateNowPlaying", "track.love", "auth.getMobileSession", "x"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(methods, st.dictionaries(parameters | st.text(max_size=5), st.text(max_size=20)), st.text(max_size=5))
def test_any_form_is_answered_in_both_formats(hostile, method, form, name):
    http, _ = hostile
    for format in ("json", "xml"):
        sent = {**form, "method": method, "sk": "open-6d65", "username": name, "format": format}
        body = urlencode(sent, errors="surrogatepass")
        head = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = http.post("/2.0/", content=body, headers=head)
        assert answer.status_code in (200, 400), answer.text
        assert answer.json() is not None if format == "json" else answer.text.startswith("<?xml")


@pytest.mark.parametrize(
    "body", [b"\xff\xfe%", b"method=track.scrobble&sk=%ED%A0%80&artist=%00", b"&" * 30_000, b"a=" * 9]
)
def test_forms_that_are_none_are_refused(hostile, body):
    head = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = hostile[0].post("/2.0/", content=body, headers=head)
    assert answer.status_code in (400, 403)
    assert answer.text.startswith("<?xml")
