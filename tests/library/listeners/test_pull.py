"""A pull stores each listen once, asks only for what is new, and goes on after any interruption."""

import time
from contextlib import closing, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.pull import from_lastfm, from_listenbrainz, http_json
from nearsong.library.listeners.pull.position import MAX_GAPS, OVERLAP_SECONDS, Gap, PullPosition
from nearsong.library.listeners.pull.pulling import pull_listens
from nearsong.library.store import Store
from nearsong.listens.records import Action
from pull_servers import FakeLastfm, FakeListenBrainz, serving, some_listens
from pulled_rows import check_history, rows_of

SERVICES = {"listenbrainz": (FakeListenBrainz, ""), "lastfm": (FakeLastfm, "/2.0")}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(from_lastfm.KEY_VARIABLE, FakeLastfm.key)
    monkeypatch.delenv(from_listenbrainz.TOKEN_VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "library.sqlite")) as opened:
        yield opened


class Pauses(list):
    """Writes down pauses instead of waiting."""

    def __call__(self, seconds):
        self.append(seconds)


def pull(store, service, kind, **options):
    return pull_listens(store, kind, "ann", url=service.url + SERVICES[kind][1], pause=Pauses(), **options)


@pytest.mark.parametrize("kind", SERVICES)
def test_all_listens_and_hearts_are_stored_and_the_next_pull_asks_for_the_last_day_only(store, kind):
    listens = some_listens(1_230)
    service = SERVICES[kind][0](listens, hearts=listens[:150])
    with serving(service):
        report = pull(store, service, kind)
        assert (report.new_rows, report.rows, report.hearts, report.listener) == (1_230, 1_380, 150, "ann")
        assert rows_of(store, report.source) == sorted(listens)
        assert rows_of(store, report.source, Action.HEART) == sorted(listens[:150])
        check_history(store, report.source)
        digest, n_requests = store.listens.digest(), len(service.requests)
        again = pull(store, service, kind)
        assert (again.new_rows, again.source) == (0, report.source)
        assert store.listens.digest() == digest
        assert len(service.requests) - n_requests < 10
        service.listens += some_listens(40, start=1_600_000_000 + 2_000 * 240)
        assert pull(store, service, kind).new_rows == 40
    assert rows_of(store, report.source) == sorted(service.listens)
    (history,) = store.listens.histories()
    assert history.kind == "events"
    assert history.name == f"{kind}: ann at {service.url.removeprefix('http://')}"
    assert history.format == ("lastfm-api" if kind == "lastfm" else kind)


@pytest.mark.parametrize("kind", SERVICES)
def test_a_listen_that_is_handed_in_late_is_found(store, kind):
    listens = some_listens(100)
    service = SERVICES[kind][0](listens)
    with serving(service):
        pull(store, service, kind)
        late = (listens[-1][0] - OVERLAP_SECONDS + 10, "Late", "Song")
        service.listens.append(late)
        report = pull(store, service, kind)
    assert report.new_rows == 1
    assert late in rows_of(store, report.source)


@pytest.mark.parametrize("kind", SERVICES)
def test_a_heart_that_is_taken_back_is_gone(store, kind):
    service = SERVICES[kind][0](some_listens(10), hearts=some_listens(3))
    with serving(service):
        pull(store, service, kind)
        service.hearts = service.hearts[1:]
        report = pull(store, service, kind)
    assert rows_of(store, report.source, Action.HEART) == sorted(service.hearts)
    check_history(store, report.source)


@pytest.mark.parametrize("kind", SERVICES)
def test_someone_with_hearts_and_no_listens_has_a_history_and_someone_with_nothing_has_none(store, kind):
    service = SERVICES[kind][0]([])
    with serving(service):
        assert pull(store, service, kind).source is None
        assert store.listens.histories() == []
        service.hearts = some_listens(3)
        assert pull(store, service, kind, user="me").rows == 3
        service.listens = some_listens(3)
        report = pull(store, service, kind)
        assert (report.rows, report.listener) == (6, "me")
    check_history(store, report.source)


@pytest.mark.parametrize("kind", SERVICES)
def test_an_interrupted_first_pull_goes_on_back_in_time(store, kind):
    service = SERVICES[kind][0](some_listens(1_000, step=3_600), page_size=50)

    def stop(new_rows, seconds):
        if new_rows >= 300:
            raise KeyboardInterrupt

    with serving(service):
        with pytest.raises(KeyboardInterrupt):
            pull(store, service, kind, reached=stop)
        (history,) = store.listens.histories()
        assert history.rows >= 300
        before, n_requests = history.rows, len(service.requests)
        service.listens += some_listens(20, start=1_700_000_000)
        report = pull(store, service, kind)
    assert report.new_rows == 1_020 - before
    assert rows_of(store, report.source) == sorted(service.listens)
    assert len(service.requests) - n_requests < (1_000 - before) / 49 + 10


def test_one_name_makes_several_services_one_listener_and_stays(store):
    listenbrainz, lastfm = FakeListenBrainz(some_listens(50)), FakeLastfm(some_listens(50))
    with serving(listenbrainz), serving(lastfm):
        pull(store, listenbrainz, "listenbrainz", user="me")
        report = pull(store, lastfm, "lastfm", user="me")
        assert report.listener == "me"
        assert store.listens.n_users() == 1
        assert pull(store, lastfm, "lastfm").listener == "me"
        with pytest.raises(InvalidInputError, match=f"pulled for the listener 'me'.*remove {report.source}"):
            pull(store, lastfm, "lastfm", user="ben")
        store.listens.remove([report.source])
        assert pull(store, lastfm, "lastfm", user="ben").new_rows == 50


def test_many_listens_of_one_second_are_all_found(store):
    crowd = [(1_600_000_000, "Ann", f"Song {i}") for i in range(730)]
    listens = [*crowd, *some_listens(100, start=1_600_000_001, step=1), (1_500_000_000, "Old", "Song")]
    for kind in SERVICES:
        service = SERVICES[kind][0](listens)
        with serving(service):
            report = pull(store, service, kind)
        assert rows_of(store, report.source) == sorted(listens)


def test_a_listen_from_the_future_does_not_hide_those_that_follow(store):
    now = int(time.time())
    service = FakeListenBrainz([(4_000_000_000, "Ann", "Tomorrow"), (now - 200, "Ann", "Today")])
    with serving(service):
        pull(store, service, "listenbrainz")
        service.listens.append((now - 100, "Ann", "Song"))
        assert pull(store, service, "listenbrainz").new_rows == 1


def test_listens_before_1973_end_a_pull(store):
    service = FakeLastfm([*some_listens(30), (0, "Ann", "No clock"), (3_600, "Ann", "No clock")], page_size=10)
    with serving(service):
        report = pull(store, service, "lastfm")
        assert (report.new_rows, pull(store, service, "lastfm").new_rows) == (30, 0)
    assert report.left_out["with a time before 1973"] > 0
    assert report.left_out["now playing"] > 0


def test_hearts_that_cannot_be_read_are_noted_and_the_listens_stored(store):
    service = FakeListenBrainz(some_listens(10))
    service.has_feedback = False
    notes = []
    with serving(service):
        assert pull(store, service, "listenbrainz", note=notes.append).new_rows == 10
    assert len(notes) == 1
    assert notes[0].startswith("hearts could not be read: 127.0.0.1")


def test_more_interruptions_than_are_remembered_lose_nothing():
    position = PullPosition("ann", 2_000_000_000)
    for n in range(3 * MAX_GAPS):
        newest = 2_000_000_000 + n * 10 * OVERLAP_SECONDS
        position = position.with_news().reached(newest, newest - OVERLAP_SECONDS)
    assert len(position.gaps) == MAX_GAPS
    assert position.gaps[-1] == Gap(2_000_000_000 - OVERLAP_SECONDS, position.gaps[-1].before)
    assert PullPosition.from_text(position.text) == position


FAULTS = st.sampled_from([None, None, None, 500, 429, "cut", "close"])


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    kind=st.sampled_from(list(SERVICES)),
    seconds=st.lists(st.lists(st.integers(0, 40), max_size=25), min_size=1, max_size=4),
    page_size=st.integers(2, 9),
    faults=st.lists(FAULTS, max_size=30),
    stops=st.lists(st.integers(1, 6), max_size=4),
)
def test_whatever_interrupts_a_pull_in_the_end_each_listen_is_stored_once(
    tmp_path_factory, kind, seconds, page_size, faults, stops
):
    """Each part is listened to after a pull of the one before was stopped, however often."""
    service = SERVICES[kind][0]([], page_size=page_size)
    path = tmp_path_factory.mktemp("pulls") / "library.sqlite"
    with serving(service), closing(Store(path)) as store:
        service.faults = list(faults)
        for number, part in enumerate(seconds):
            start = 1_600_000_000 + number * OVERLAP_SECONDS
            service.listens += [(start + second, "Ann", f"Song {i % 5}") for i, second in enumerate(part)]
            pages = iter(range(stops.pop() if stops else 10**9, 0, -1))

            def stop(new_rows, seconds, pages=pages):
                if next(pages, 0) == 1:
                    raise KeyboardInterrupt

            with suppress(KeyboardInterrupt, ListensError):
                pull(store, service, kind, reached=stop)
        service.faults = []
        report = pull(store, service, kind)
        expected = sorted(set(service.listens))
        assert (rows_of(store, report.source) if report.source else []) == expected
        if report.source:
            check_history(store, report.source)


def test_the_pauses_that_a_service_asks_for_are_made(store):
    service = FakeListenBrainz(some_listens(250))
    pauses = Pauses()
    with serving(service):
        service.headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-In": "7"}
        service.faults = [
            {"status": 429, "headers": {"Retry-After": "11"}, "body": {}},
            {"status": 503, "headers": {"X-RateLimit-Remaining": "5"}, "body": {}},
        ]
        pull_listens(store, "listenbrainz", "ann", url=service.url, pause=pauses)
    assert 10.5 < pauses[0] <= 11
    assert sum(6 < seconds <= 7.1 or seconds > 10 for seconds in pauses) >= 4
    assert {request["headers"]["User-Agent"] for request in service.requests} == {http_json.USER_AGENT}


def test_last_fm_is_asked_again_after_too_many_requests(store):
    service = FakeLastfm(some_listens(20))
    with serving(service):
        service.faults = [
            {"status": 200, "body": {"error": 29, "message": "Rate limit exceeded"}},
            {"status": 500, "body": {"error": 8, "message": "Operation failed"}},
        ]
        assert pull(store, service, "lastfm").new_rows == 20


def test_the_same_listen_on_two_services_of_one_listener_counts_once(store):
    song = put_file(store, "/music/a.flac", tags=Tags("Ann 0", "Song 0"))
    listens = some_listens(7 * 31 * 3)
    listenbrainz = FakeListenBrainz(listens)
    lastfm = FakeLastfm([(when + 20, artist, title) for when, artist, title in listens])
    with serving(listenbrainz), serving(lastfm):
        pull(store, listenbrainz, "listenbrainz", user="me")
        pull(store, lastfm, "lastfm", user="me")
    assert Histories(store).song_plays() == {song: 3.0}


def test_rows_that_a_pull_adds_while_listens_are_counted_wait_for_the_next_time(store):
    song = put_file(store, "/music/a.flac", tags=Tags("Ann 0", "Song 0"))
    service = FakeListenBrainz(some_listens(1))
    with serving(service):
        pull(store, service, "listenbrainz")
        histories = Histories(store)
        service.listens += some_listens(50, start=1_700_000_000, artist="New")
        pull(store, service, "listenbrainz")
    assert histories.song_plays() == {song: 1.0}
