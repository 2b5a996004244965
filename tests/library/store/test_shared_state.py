"""What several services on one PostgreSQL tell each other: leases, sessions, what plays; of two that have it open."""

import contextlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from nearsong.library import Library, restore
from nearsong.library.store import SharedState, Store
from nearsong.library.store.shared import leases as lease_module
from nearsong.library.store.shared import tables
from nearsong.web.service.now_playing import NowPlayingBoard, SharedPlaying, TrackName

DAY = 86_400.0


@pytest.fixture(scope="module")
def address(postgres) -> str:
    return str(postgres.new_schema())


@pytest.fixture
def services(address) -> Iterator[list[SharedState]]:
    """What two services share."""
    with contextlib.ExitStack() as open_ones:
        stores = [open_ones.enter_context(contextlib.closing(Store(address))) for _ in range(2)]
        states = [store.shared_state() for store in stores]
        yield [state for state in states if state is not None]
        for state in states:
            change(state, *(table.delete() for table in tables.shared.sorted_tables))


def change(state: SharedState, *statements: sa.Executable) -> None:
    """Change rows, as time or another program does."""
    with state._database.sharing() as connection:
        for statement in statements:
            connection.execute(statement)


def test_sqlite_has_one_service_that_shares_nothing(tmp_path):
    with Library.open(tmp_path / "library.sqlite") as library:
        assert library.shared_state() is None


def test_one_service_at_a_time_has_a_lease_until_it_leaves_or_no_longer_renews_it(services, monkeypatch):
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.0)
    here, there = services
    mine, others = here.lease("automation"), there.lease("automation")
    assert [mine.hold(), others.hold(), mine.hold(), others.hold()] == [True, False, True, False]
    assert there.lease("another thing").hold()
    here.leave()
    assert [others.hold(), mine.hold()] == [True, False]
    change(here, tables.leases.update().values(until=tables.NOW - 1))  # as if the other had been killed
    assert [mine.hold(), others.hold()] == [True, False]


def test_a_lease_is_asked_for_only_every_two_seconds(services, monkeypatch):
    lease = services[0].lease("automation")
    assert lease.hold()
    monkeypatch.setattr(lease, "_take", lambda: pytest.fail("it was asked for again"))
    assert lease.hold()


def test_a_session_counts_on_all_services_until_it_ends_or_has_lasted_too_long(services):
    here, there = (state.sessions(idle_seconds=DAY, max_seconds=7 * DAY, max_sessions=3) for state in services)
    here.add("a", "of anna")
    assert (there.use("a"), there.use("b")) == ("of anna", None)
    there.remove("a")
    assert here.use("a") is None
    rows = tables.sessions
    for started, used in ((0.0, -DAY - 60), (-7 * DAY - 60, 0.0), (DAY, DAY)):  # the last: a clock that was wrong
        here.add("a", "of anna")
        moved = rows.update().values(started=rows.c.started + started, used=rows.c.used + used)
        change(services[0], moved)
        assert there.use("a") is None, (started, used)
        here.remove("a")
    here.add("a", "of anna")
    change(services[0], rows.update().values(used=rows.c.used - DAY / 2))
    assert there.use("a") == "of anna"  # which counts as a use
    change(services[0], rows.update().values(used=rows.c.used - DAY / 2 - 60))
    assert there.use("a") == "of anna"


def test_of_too_many_sessions_those_used_last_stay(services):
    sessions = services[0].sessions(idle_seconds=DAY, max_seconds=7 * DAY, max_sessions=3)
    for key in "abcde":
        sessions.add(key, "of anna")
    sessions.add("f", "of anna")
    assert [key for key in "abcdef" if sessions.use(key)] == ["d", "e", "f"]


def test_what_a_listener_left_on_one_service_for_a_song_on_the_other_is_known(services):
    now = [1000.0]
    here, there = (NowPlayingBoard(lambda: now[0], SharedPlaying(state.now_playing)) for state in services)
    first, second = TrackName("Björk", "Jóga"), TrackName("Blur", "Tender", "mbid")
    assert here.put("anna", first, seconds=200, song_id=1, player="p") is None
    assert (there.of("anna").track, there.of("ben")) == (first, None)
    now[0] += 10
    assert there.put("anna", first, seconds=200, song_id=1, player="p") is None  # players repeat what plays
    left = there.put("anna", second, seconds=200, song_id=2, player="p")
    assert (left.song_id, left.since, left.is_skipped_at(now[0])) == (1, 1000.0, True)
    assert [here.note_play("anna", {2}), there.note_play("anna", {2}), here.note_play("anna", {1})] == [
        False,
        True,
        False,
    ]
    there.put("ben", first, seconds=50)
    assert [one.listener for one in here.all()] == ["anna", "ben"]
    now[0] += 60
    assert [one.listener for one in here.all()] == ["anna"]
    here.forget("anna")
    assert there.all() == []


def test_what_services_share_is_in_no_backup_and_a_database_of_another_version_is_no_obstacle(services, tmp_path):
    services[0].sessions(idle_seconds=DAY, max_seconds=DAY, max_sessions=9).add("a", "of anna")
    services[0].now_playing.change("anna", lambda _playing, _until: ({}, 1e12))
    change(services[0], sa.text("ALTER TABLE service_now_playing ADD COLUMN mood TEXT"))
    tables.make_tables(services[1]._database)
    assert services[1].now_playing.all(0.0) == []  # anew
    assert services[1].sessions(idle_seconds=DAY, max_seconds=DAY, max_sessions=9).use("a") == "of anna"  # untouched
    with Library.open(services[0]._database.address) as library:
        file = library.backup(tmp_path / "backup.sqlite")
    restore(file, str(tmp_path / "restored.sqlite"))
    with contextlib.closing(Store(tmp_path / "restored.sqlite")) as store, store._database.reading() as connection:
        assert not [name for name in sa.inspect(connection).get_table_names() if name.startswith("service_")]
