"""A graph of a library that changes: songs enter at once, removed ones are gone; one file serves all processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.library.neighbours import index as index_module
from nearsong.library.neighbours.graph import fingerprints_of
from nearsong.library.neighbours.index import NeighbourIndex
from nearsong.library.neighbours.shared_rows import shared_rows
from neighbour_songs import assert_same, recall, songs

N_OLD, N_NEW = 1_000, 400


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """All songs there will be, queries, and the cache with a graph of the first of them, under odd ids."""
    embeddings, queries = songs(N_OLD + N_NEW)
    cache = tmp_path_factory.mktemp("cache")
    NeighbourIndex.build(embeddings[:N_OLD], 2 * np.arange(N_OLD) + 1, approximate_above=0, cache=cache)
    return embeddings, queries, cache


def ids_of(rows):
    """Songs of the graph have odd ids, later ones even ones: they are not in the graph's order."""
    return np.where(rows < N_OLD, 2 * rows + 1, 2 * (rows - N_OLD))


def both(embeddings, ids, cache, **options):
    """Return the index with the graph of a cache, and one that is exact."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "SAMPLE_SONGS", 4)  # so few that the graph is on its own
        grown = NeighbourIndex.build(embeddings, ids, approximate_above=0, cache=cache, only_cached=True, **options)
    return grown, NeighbourIndex.build(embeddings, ids)


changes = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "move"]), st.integers(0, 2**31), st.integers(1, 120)), max_size=6
)


@given(changes)
@settings(max_examples=25, deadline=None)
def test_after_any_additions_and_removals_all_songs_are_found_and_no_others(stored, changes):
    embeddings, queries, cache = stored
    embeddings, present = embeddings.copy(), np.arange(len(embeddings)) < N_OLD
    for what, seed, count in changes:
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(len(present))[:count]
        if what == "move":  # as after another model or another analysis of the file
            embeddings[chosen] = embeddings[rng.permutation(len(present))[:count]] + np.float32(0.1)
        else:
            present[chosen] = what == "add"
    rows = np.flatnonzero(present)
    grown, exact = both(embeddings[rows], ids_of(rows), cache)
    if grown.is_exact:  # so many have changed that the graph is of no use
        assert_same(grown.nearest(queries, 10), exact.nearest(queries, 10))
        return
    true, distances = exact.nearest(queries, 10)
    found, own = grown.nearest(queries, 10)
    assert set(found.ravel().tolist()) <= set(ids_of(rows).tolist())
    assert recall(found, true) > 0.98
    same = (found == true).all(axis=1)
    np.testing.assert_array_equal(own[same], distances[same])
    allowed = np.random.default_rng(1).random(len(rows)) < 0.5
    filtered, _ = grown.nearest(queries, 5, allowed=allowed)
    assert set(filtered.ravel().tolist()) <= set(ids_of(rows)[allowed].tolist())
    assert recall(filtered, exact.nearest(queries, 5, allowed=allowed)[0]) > 0.98


def test_new_songs_are_found_at_once_exactly_as_by_a_search_of_all(stored):
    embeddings, _, cache = stored
    grown, exact = both(embeddings, ids_of(np.arange(len(embeddings))), cache)
    assert grown.n_outside_graph == N_NEW
    new = embeddings[N_OLD:]
    found, distances = grown.nearest(new, 1)
    assert_same((found, distances), exact.nearest(new, 1))
    assert distances.max() == 0
    only_new = np.arange(len(embeddings)) >= N_OLD
    assert_same(grown.nearest(new[:50], 7, allowed=only_new), exact.nearest(new[:50], 7, allowed=only_new))


def test_a_graph_of_too_few_of_the_songs_is_not_used(stored):
    embeddings, _, cache = stored
    rows = np.arange(N_OLD - 450, len(embeddings))
    assert NeighbourIndex.build(
        embeddings[rows], ids_of(rows), approximate_above=0, cache=cache, only_cached=True
    ).is_exact


def test_the_same_rows_under_other_ids_are_other_songs(stored):
    embeddings, queries, cache = stored
    grown, exact = both(embeddings[:N_OLD], 2 * np.arange(N_OLD), cache)
    assert grown.is_exact
    assert_same(grown.nearest(queries, 5), exact.nearest(queries, 5))


def test_building_again_adds_what_is_missing_and_the_longer_graph_serves_everybody(tmp_path):
    embeddings, queries = songs(700)
    ids, added = np.arange(700), []

    def build(rows, **options):
        return NeighbourIndex.build(
            embeddings[rows],
            ids[rows],
            approximate_above=0,
            cache=tmp_path,
            progress=lambda _stage, done, total: added.append((done, total)),
            **options,
        )

    build(slice(500))
    added.clear()
    grown = build(slice(100, 700))  # a hundred are gone, two hundred are new
    assert added[0] == (400, 600)
    assert grown.n_outside_graph == 0
    exact = NeighbourIndex.build(embeddings[100:], ids[100:])
    assert recall(grown.nearest(queries, 10)[0], exact.nearest(queries, 10)[0]) > 0.99
    again = build(slice(100, 700), only_cached=True)
    assert again.n_outside_graph == 0
    assert_same(again.nearest(queries, 10), grown.nearest(queries, 10))
    added.clear()
    build(slice(700))  # and the hundred are back
    assert added == []


@pytest.mark.parametrize("place", [0.1, 0.98, 1.0])
def test_a_graph_damaged_anywhere_is_not_used(tmp_path, place):
    embeddings, queries = songs(300)
    NeighbourIndex.build(embeddings, np.arange(300), approximate_above=0, cache=tmp_path)
    (file,) = tmp_path.glob("*.graph")
    content = bytearray(file.read_bytes())
    content[min(int(place * len(content)), len(content) - 1)] ^= 1
    file.write_bytes(content)
    index, exact = both(embeddings, np.arange(300), tmp_path)
    assert_same(index.nearest(queries, 5), exact.nearest(queries, 5))
    again = NeighbourIndex.build(embeddings, np.arange(300), approximate_above=0, cache=tmp_path)
    assert not again.is_exact


def test_a_fingerprint_depends_on_every_number_of_a_row_and_on_no_other_row():
    embeddings, _ = songs(50, r=7)
    before = fingerprints_of(embeddings)
    assert len(set(before.tolist())) == 50
    for column in range(7):
        changed = embeddings.copy()
        changed[20, column] = np.nextafter(changed[20, column], np.float32(9))
        assert (fingerprints_of(changed) != before).nonzero()[0].tolist() == [20]
    assert fingerprints_of(embeddings[:, ::-1])[0] != before[0]


# ---- one copy for all processes


def test_shared_rows_are_the_rows_from_one_file(tmp_path):
    rows, _ = songs(100)
    for _ in range(2):
        shared = shared_rows(rows, tmp_path / "cache")
        np.testing.assert_array_equal(shared, rows)
        assert not shared.flags.writeable
        assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_damaged_shared_rows_are_written_again(tmp_path, damage):
    rows, _ = songs(100)
    shared_rows(rows, tmp_path)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "changed":
        content[77] ^= 1
        file.write_bytes(content)
    else:
        os.truncate(file, 0 if damage == "empty" else len(content) // 2)
    np.testing.assert_array_equal(shared_rows(rows, tmp_path), rows)
    assert file.read_bytes() == rows.tobytes()


def test_a_cache_that_cannot_be_written_and_old_files_do_not_matter(tmp_path):
    rows, _ = songs(60)
    (tmp_path / "file").write_text("")
    assert shared_rows(rows, tmp_path / "file") is rows
    shared = [shared_rows(rows + np.float32(i), tmp_path / "cache") for i in range(5)]
    assert len(list((tmp_path / "cache").iterdir())) == 3
    np.testing.assert_array_equal(shared[0], rows)  # still mapped


MAPPINGS = """
import re, sys
from pathlib import Path
import numpy as np
from nearsong.library.neighbours.index import NeighbourIndex
from nearsong.library.neighbours.shared_rows import shared_rows
cache = Path(sys.argv[1])
drawn = np.random.default_rng(0).standard_normal((2_000, 64)).astype(np.float32)
rows = shared_rows(drawn, cache)
index = NeighbourIndex.build(rows, np.arange(2_000), approximate_above=0, cache=cache, only_cached=True)
assert not index.is_exact
for row in range(2_000):
    index.nearest(rows[row], 5)
print("ready", flush=True)
sys.stdin.readline()
for block in re.split(r"\\n(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text()):
    if str(cache) in block.splitlines()[0]:
        sizes = dict(re.findall(r"(\\w+): +(\\d+) kB", block))
        print(block.split()[5], *(sizes[name] for name in ("Rss", "Pss", "Anonymous")), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which memory is shared")
def test_two_processes_share_graph_and_embeddings(tmp_path):
    drawn = np.random.default_rng(0).standard_normal((2_000, 64)).astype(np.float32)
    NeighbourIndex.build(drawn, np.arange(2_000), approximate_above=0, cache=tmp_path)
    command = [sys.executable, "-c", MAPPINGS, str(tmp_path)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        told, _ = processes[0].communicate("\n", timeout=300)  # while the other still has them
        processes[1].communicate("\n", timeout=300)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    mapped = {Path(name).suffix: sizes for name, *sizes in (line.split() for line in told.splitlines())}
    assert set(mapped) == {".graph", ".embeddings"}
    for suffix, (resident, proportional, own) in ((suffix, map(int, sizes)) for suffix, sizes in mapped.items()):
        assert own == 0, suffix
        assert resident > 200
        assert proportional < 0.75 * resident, suffix  # half, but for pages that one has not touched
