"""Graphs that services build by themselves: searches stay exact meanwhile, and one process of a machine builds."""

import fcntl
import signal

import pytest

from nearsong.library.neighbours import graph_builder
from nearsong.library.neighbours import space as space_module
from nearsong.library.neighbours.graph import LOCK_FILE
from nearsong.library.neighbours.graph_builder import GraphBuilder
from nearsong.library.neighbours.index import NeighbourIndex
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from neighbour_songs import assert_same, recall, songs
from waiting import wait_for

N_SONGS = 3_000


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    monkeypatch.setattr(space_module, "APPROXIMATE_ABOVE", 2_000)
    monkeypatch.setattr(space_module, "MAX_TAIL", 50)


@pytest.fixture(scope="module")
def drawn():
    return songs(N_SONGS)


@pytest.fixture
def builders():
    """Two services of one machine; their processes are ended."""
    made = [GraphBuilder(), GraphBuilder()]
    yield made
    for builder in made:
        builder.close()


def space_of(drawn, cache, n=N_SONGS):
    named = [Song(id=3 * i + 1, path=f"/{i}", title=f"{i}", artist="", album="", genre="") for i in range(n)]
    return Space(1, None, named, drawn[0][:n], cache)


def exact(space):
    return NeighbourIndex.build(space.embeddings, space.ids, approximate_above=10**9)


def look_until_done(builder, space):
    def is_done():
        builder.look_after(space)
        return not space.needs_graph

    wait_for(is_done)


def test_a_machine_with_an_empty_cache_gets_its_graph_while_searches_stay_exact(drawn, tmp_path, builders):
    elsewhere = space_of(drawn, tmp_path / "where it was trained")
    elsewhere.build_graph(lambda *_: None)
    assert not elsewhere.index.is_exact
    here = space_of(drawn, tmp_path / "another machine")
    (tmp_path / "another machine" / LOCK_FILE).touch()
    with open(tmp_path / "another machine" / LOCK_FILE, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # the process has to wait: it is there as long as it takes
        for _ in range(3):
            builders[0].look_after(here)
        assert_same(here.index.nearest(drawn[1], 10), exact(here).nearest(drawn[1], 10))
        assert here.index.is_exact
    look_until_done(builders[0], here)
    assert (here.index.is_exact, here.index.n_outside_graph) == (False, 0)
    assert recall(here.index.nearest(drawn[1], 10)[0], exact(here).nearest(drawn[1], 10)[0]) > 0.98
    assert builders[0].n_added == N_SONGS


def test_two_services_of_a_machine_build_once(drawn, tmp_path, builders):
    cache = tmp_path / "cache"
    spaces = [space_of(drawn, cache) for _ in builders]
    with open(cache / LOCK_FILE, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # until both have begun
        for builder, space in zip(builders, spaces, strict=True):
            builder.look_after(space)
    for builder, space in zip(builders, spaces, strict=True):
        look_until_done(builder, space)
    assert sorted(builder.n_added for builder in builders) == [0, N_SONGS]
    assert len(list(cache.glob("*.graph"))) == 1


def test_many_songs_outside_a_graph_are_added_and_few_are_not(drawn, tmp_path, builders):
    space_of(drawn, tmp_path, 2_900).build_graph(lambda *_: None)
    few, many = space_of(drawn, tmp_path, 2_940), space_of(drawn, tmp_path)
    assert (few.needs_graph, few.index.n_outside_graph) == (False, 40)
    assert (many.needs_graph, many.index.n_outside_graph) == (True, 100)
    look_until_done(builders[0], many)
    assert (many.index.n_outside_graph, builders[0].n_added) == (0, 100)


def test_songs_that_came_while_the_graph_was_built_are_in_the_next_one(drawn, tmp_path, builders):
    (builder, _), before, after = builders, space_of(drawn, tmp_path, 2_900), space_of(drawn, tmp_path)
    builder.look_after(before)
    assert after.index.is_exact  # there was none yet
    look_until_done(builder, after)
    assert (after.index.n_outside_graph, builder.n_added) == (0, N_SONGS)


def test_a_killed_process_holds_up_nobody_and_is_not_started_again_at_once(drawn, tmp_path, builders, caplog):
    first, second = builders
    space = space_of(drawn, tmp_path)
    first.look_after(space)
    first._process.send_signal(signal.SIGKILL)
    wait_for(lambda: first.look_after(space) or first._process is None)
    assert "searches stay exact: the process ended with -9" in caplog.text
    first.look_after(space)
    assert first._process is None
    look_until_done(second, space)
    assert second.n_added == N_SONGS


def test_a_cache_that_cannot_be_written_costs_one_attempt(drawn, tmp_path, builders, caplog):
    (tmp_path / "cache").write_text("no folder")
    space = space_of(drawn, tmp_path / "cache")
    wait_for(lambda: builders[0].look_after(space) or caplog.text)
    assert "No such file" in caplog.text or "Not a directory" in caplog.text
    assert space.index.is_exact
    assert builders[0]._process is None


def test_the_process_ends_with_its_service(drawn, tmp_path, builders):
    space = space_of(drawn, tmp_path)
    with open(tmp_path / LOCK_FILE, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        builders[0].look_after(space)
        process = builders[0]._process
        process.stdin.close()  # as when the service is killed
        wait_for(lambda: process.poll() is not None)
    assert process.returncode == 1
    process.stdout.close()
    builders[0]._process = None


def test_nothing_is_built_without_usearch_or_for_few_songs(drawn, tmp_path, builders, monkeypatch):
    few = space_of(drawn, tmp_path, 2_000)
    monkeypatch.setattr("nearsong.library.neighbours.index.find_spec", lambda _name: None)
    without = space_of(drawn, tmp_path)
    monkeypatch.setattr(graph_builder, "COMMAND", ["/nothing is started"])
    for space in (few, without):
        builders[0].look_after(space)
        assert space.index.is_exact
        assert builders[0]._not_before == 0.0
