"""Who listens to whom, against Python sets."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.library.listeners import listeners as module
from nearsong.library.listeners.artist_overlap import ArtistOverlap, Overlap
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.listeners import NEAREST_ARTISTS, Listeners
from nearsong.library.store import Store
from waiting import in_threads


def listeners_of(fans: dict[str, set[int]]) -> Listeners:
    """Return the listeners that some sets of fans make."""
    plays = np.zeros((1 + max((max(who, default=0) for who in fans.values()), default=0), len(fans)), bool)
    for column, who in enumerate(fans.values()):
        plays[list(who), column] = True
    return Listeners(sp.csr_array(plays), list(fans))


def ranked(fans: dict[str, set[int]], key: str) -> list[str]:
    """Return all artists that share a listener with one, the nearest first, in exact fractions."""
    near = {
        other: Fraction(len(fans[key] & who), len(fans[key] | who)) for other, who in fans.items() if fans[key] & who
    }
    return sorted((other for other in near if other != key), key=lambda other: (-near[other], other))


def planted(seed: int, n_artists: int = 15, n_listeners: int = 8) -> dict[str, set[int]]:
    """Return fans of which some artists have none; few listeners, so that there are many equals."""
    random = np.random.default_rng(seed)
    names = [f"artist {name}" for name in random.permutation(n_artists)]
    return {name: set(random.permutation(n_listeners)[: random.integers(0, 5)].tolist()) for name in names}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20))
def test_overlaps_and_ranks_are_those_of_sets(seed, k):
    fans = planted(seed)
    listeners = listeners_of(fans)
    for query, mine in fans.items():
        order = ranked(fans, query)
        assert listeners.nearest_artists(query, k) == order[:k]
        for other, theirs in fans.items():
            expected = None
            if query != other and mine and theirs:
                both = len(mine & theirs)
                rank = order.index(other) + 1 if both else None
                expected = Overlap(both, len(mine), len(theirs), both / len(mine | theirs), rank)
            assert listeners.overlap(query, other) == expected
            agrees = None if expected is None else other in order[:NEAREST_ARTISTS]
            assert listeners.agree(query, other) == agrees


def test_equals_come_by_name_and_only_ten_agree():
    fans = {f"band {letter}": {0} for letter in "qwertyuiopasdf"}
    listeners = listeners_of(fans)
    nearest = [f"band {letter}" for letter in sorted("wertyuiopasdf")]
    assert listeners.nearest_artists("band q") == nearest[:10]
    assert [listeners.agree("band q", name) for name in nearest] == [True] * 10 + [False] * 3


def test_who_is_unknown_or_has_no_listeners_is_near_to_nobody():
    listeners = listeners_of({"a": {0}, "b": set(), "c": {0}})
    for one, other in (("a", "b"), ("b", "a"), ("a", "x"), ("x", "a"), ("", "a"), ("a", ""), ("a", "a")):
        assert listeners.overlap(one, other) is None
        assert listeners.agree(one, other) is None
    assert listeners.nearest_artists("b") == listeners.nearest_artists("x") == listeners.nearest_artists("") == []
    assert listeners.nearest_artists("a", 0) == []
    with pytest.raises(InvalidInputError, match="k=-1"):
        listeners.nearest_artists("a", -1)


def test_only_the_artists_of_the_last_queries_are_cached(monkeypatch):
    monkeypatch.setattr(module, "MAX_CACHED_ARTISTS", 3)
    fans = planted(0)
    listeners = listeners_of(fans)
    counted = []
    count = ArtistOverlap.count
    monkeypatch.setattr(ArtistOverlap, "count", lambda self, column: counted.append(column) or count(self, column))
    known = [name for name, who in fans.items() if who][:4]
    for name in [*known[:3], *known[:3], known[0], known[3]]:
        assert listeners.nearest_artists(name, 99) == ranked(fans, name)
    assert len(counted) == 4
    listeners.nearest_artists(known[0])  # queried last but one, so it is still cached; the oldest is not
    assert len(counted) == 4
    listeners.nearest_artists(known[1])
    assert len(counted) == 5


def test_threads_may_share_it():
    fans = planted(1, n_artists=40, n_listeners=30)
    listeners = listeners_of(fans)

    def wrong(first):
        names = list(fans)[first:] + list(fans)[:first]
        return [name for name in names if fans[name] and listeners.nearest_artists(name, 99) != ranked(fans, name)]

    assert in_threads(wrong, range(0, 40, 5)) == [[]] * 8


def test_a_library_without_listens_has_no_listeners(tmp_path):
    store = Store(tmp_path / "l.sqlite")
    listeners = Listeners.of(Histories(store))
    assert listeners.n_listeners == 0
    assert listeners.overlap("a", "b") is None
    store.close()
