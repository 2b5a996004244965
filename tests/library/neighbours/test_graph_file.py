"""The file of a graph: used again while it fits, made again when it is damaged."""

import os
import sys

import numpy as np
import pytest

from nearsong.atomic_write import UNFINISHED_SUFFIX
from nearsong.library.neighbours.graph import LOCK_FILE
from nearsong.library.neighbours.index import NO_GRAPH, NeighbourIndex
from neighbour_songs import assert_same, recall, songs


@pytest.fixture
def build():
    """A function that builds an index; ``build.made`` has how many songs each of the graphs made was given."""

    def build(embeddings, cache, ids=None, **options):
        begun = []

        def progress(_stage, done, total):
            if not begun:
                begun.append(build.made.append(total - done))

        ids = np.arange(len(embeddings)) if ids is None else ids
        return NeighbourIndex.build(embeddings, ids, approximate_above=0, cache=cache, progress=progress, **options)

    build.made = []
    return build


def files_of(cache):
    """Return the files of a cache, but for the empty one that whoever builds has locked."""
    return [file for file in cache.iterdir() if file.name != LOCK_FILE]


def test_a_cached_graph_is_used_again_and_answers_the_same(tmp_path, build):
    embeddings, queries = songs(800)
    first = build(embeddings, tmp_path / "new" / "folder")
    again = build(embeddings, tmp_path / "new" / "folder")
    assert build.made == [800]
    assert_same(again.nearest(queries, 10), first.nearest(queries, 10))
    assert [file.suffix for file in files_of(tmp_path / "new" / "folder")] == [".graph"]


def test_a_small_graph_made_again_answers_the_same(build):
    embeddings, queries = songs(2_000)
    first, again = (build(embeddings, None).nearest(queries, 10) for _ in range(2))
    assert_same(first, again)


def test_a_changed_embedding_is_added_to_the_graph_and_other_embeddings_have_one_of_their_own(tmp_path, build):
    embeddings, _ = songs(300)
    build(embeddings, tmp_path)
    changed = embeddings.copy()
    changed[17, 3] = np.nextafter(changed[17, 3], np.float32(np.inf))
    build(changed, tmp_path)
    assert build.made == [300, 1]
    build(embeddings, tmp_path)  # the graph with both still has all of these
    build(2 * embeddings, tmp_path)
    assert build.made == [300, 1, 300]
    assert len(files_of(tmp_path)) == 3


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "folder", "trailer", "another"])
def test_a_damaged_graph_is_made_again(tmp_path, build, damage):
    embeddings, queries = songs(400)
    answer = build(embeddings, tmp_path).nearest(queries, 5)
    (file,) = files_of(tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    if damage == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif damage == "changed":
        file.write_bytes(content)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "folder":
        file.unlink()
        file.mkdir()
    elif damage == "trailer":
        os.truncate(file, 20)
    else:
        build(embeddings[:100], tmp_path / "other")
        (other,) = files_of(tmp_path / "other")
        os.replace(other, file)
        build.made.pop()
    assert_same(build(embeddings, tmp_path).nearest(queries, 5), answer)
    assert build.made == [400, 400]
    if damage != "folder":
        build(embeddings, tmp_path)
        assert build.made == [400, 400]


def test_a_cache_that_cannot_be_written_is_passed_over(tmp_path, build):
    (tmp_path / "file").write_text("not a folder")
    assert not build(songs(200)[0], tmp_path / "file").is_exact
    assert build.made == [200]


def test_only_a_cached_graph_is_used_when_asked(tmp_path, build):
    embeddings, queries = songs(300)
    exact = build(embeddings, tmp_path, only_cached=True)
    assert exact.is_exact
    assert build.made == []
    assert build(embeddings, None, only_cached=True).is_exact
    build(embeddings, tmp_path)
    graph = build(embeddings, tmp_path, only_cached=True)
    assert not graph.is_exact
    assert recall(graph.nearest(queries, 5)[0], exact.nearest(queries, 5)[0]) > 0.99


def test_ctrl_c_while_a_graph_is_written_leaves_nothing_behind(tmp_path, build, monkeypatch):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(songs(200)[0], tmp_path)
    assert files_of(tmp_path) == []


def test_the_three_graphs_used_last_are_cached_and_old_unfinished_files_are_removed(tmp_path, build):
    old, fresh = (tmp_path / f".song.graph.{name}{UNFINISHED_SUFFIX}" for name in ("a" * 12, "b" * 12))
    for file in (old, fresh):
        file.write_bytes(b"")
    os.utime(old, (0, 0))
    embeddings, _ = songs(160)
    names = []
    for i in range(4):
        build((i + 1) * embeddings[:100], tmp_path)
        (name,) = {file.name for file in tmp_path.glob("*.graph")} - set(names)
        names.append(name)
        os.utime(tmp_path / name, (i + 1, i + 1))
        if i == 2:
            build(embeddings[:100], tmp_path)  # the first is used once more
    assert {file.name for file in files_of(tmp_path)} == {names[0], names[2], names[3], fresh.name}


def test_without_usearch_every_search_is_exact_and_the_extra_is_named(tmp_path, build, monkeypatch):
    embeddings, queries = songs(300)
    build(embeddings, tmp_path)
    exact = NeighbourIndex.build(embeddings, np.arange(300)).nearest(queries, 5)
    monkeypatch.setitem(sys.modules, "usearch", None)
    index = build(embeddings, tmp_path)
    assert index.is_exact
    assert index.lacks_usearch
    np.testing.assert_array_equal(index.nearest(queries, 5)[0], exact[0])
    assert not NeighbourIndex.build(embeddings, np.arange(300)).lacks_usearch  # too few songs for a graph
    assert "pip install 'nearsong[large]'" in NO_GRAPH
