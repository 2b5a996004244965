"""Fusion: parts of song vectors to phi."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from nearsong.errors import InvalidInputError
from nearsong.model.fusion import Fusion

PARTS = [
    SimpleNamespace(name="timbre", n_dimensions=3, weight=1.0),
    SimpleNamespace(name="chroma", n_dimensions=4, weight=0.25),
    SimpleNamespace(name="words", n_dimensions=2, weight=2.0),
]


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(0).normal(size=(50, 9)) * [1, 1, 1, 9, 9, 9, 9, 0.1, 0.1] + 5.0


def brute_force(training, vectors, parts):
    rows = []
    for x in vectors:
        pieces, start = [], 0
        for part in parts:
            own = training[:, start : start + part.n_dimensions]
            own = own[~np.isnan(own).any(axis=1)]
            piece = x[start : start + part.n_dimensions]
            size = np.sqrt(np.mean([np.sum((row - own.mean(axis=0)) ** 2) for row in own]))
            centred = np.zeros(part.n_dimensions) if np.isnan(piece).any() else (piece - own.mean(axis=0)) / size
            pieces.append(np.sqrt(part.weight) * centred)
            start += part.n_dimensions
        joined = np.concatenate(pieces)
        rows.append(joined / np.linalg.norm(joined) if joined.any() else joined)
    return np.array(rows)


def test_phi_is_the_formula(vectors):
    fusion = Fusion.fit(vectors[:30], PARTS)
    phi = fusion.transform(vectors)
    assert np.allclose(phi, brute_force(vectors[:30], vectors, PARTS))
    assert np.allclose(np.linalg.norm(phi, axis=1), 1)
    assert fusion.slices == {"timbre": slice(0, 3), "chroma": slice(3, 7), "words": slice(7, 9)}


def test_a_missing_part_counts_as_its_mean(vectors):
    holes = vectors.copy()
    holes[::3, 3:7] = np.nan
    holes[4, 7:] = np.nan
    holes[7] = np.nan
    fusion = Fusion.fit(holes, PARTS)
    phi = fusion.transform(holes)
    assert np.allclose(phi, brute_force(holes, holes, PARTS))
    assert not phi[::3, 3:7].any()
    assert not phi[7].any()
    assert np.isfinite(phi).all()


def test_weights_can_be_given_by_name(vectors):
    fusion = Fusion.fit(vectors, PARTS, weights={"chroma": 3.0, "words": 0.0})
    assert fusion.weights == (1.0, 3.0, 0.0)
    assert not fusion.transform(vectors)[:, 7:].any()
    with pytest.raises(InvalidInputError, match="weights names rhythm"):
        Fusion.fit(vectors, PARTS, weights={"rhythm": 1.0})


def test_bytes_do_not_depend_on_other_songs(vectors):
    fusion = Fusion.fit(vectors, PARTS)
    phi = fusion.transform(vectors)
    order = np.random.default_rng(1).permutation(len(vectors))
    assert fusion.transform(vectors[order]).tobytes() == phi[order].tobytes()
    assert b"".join(fusion.transform(row[None]).tobytes() for row in vectors) == phi.tobytes()
    assert fusion.transform(np.asfortranarray(vectors)).tobytes() == phi.tobytes()


def test_storage_keeps_every_byte(vectors):
    fusion = Fusion.fit(vectors, PARTS)
    restored = Fusion.from_arrays(json.loads(json.dumps(fusion.parameters())), fusion.arrays())
    assert restored.transform(vectors).tobytes() == fusion.transform(vectors).tobytes()
    with pytest.raises(InvalidInputError, match="train the model again"):
        Fusion.from_arrays(fusion.parameters(), {"mean": fusion.mean})
    with pytest.raises(InvalidInputError, match="must be equal"):
        Fusion.from_arrays(fusion.parameters(), {**fusion.arrays(), "mean": fusion.mean[1:]})


def test_a_part_that_does_not_vary_is_harmless(vectors):
    flat = vectors.copy()
    flat[:, :3] = 7.0
    phi = Fusion.fit(flat, PARTS).transform(flat)
    assert np.isfinite(phi).all()
    assert not phi[:, :3].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:, 1:], "have 9 columns"),
        (lambda rows: rows[0], "have 9 columns"),
        (lambda rows: np.where(np.arange(9) == 4, np.nan, rows), "part chroma of row 0"),
        (lambda rows: np.where(np.arange(9) == 8, np.inf, rows), "part words of row 0"),
        (lambda rows: [["a"] * 9], "array of numbers"),
    ],
)
def test_vectors_that_cannot_work_are_refused(vectors, change, message):
    with pytest.raises(InvalidInputError, match=message):
        Fusion.fit(change(vectors), PARTS)


def test_weights_that_cannot_work_are_refused(vectors):
    with pytest.raises(InvalidInputError, match="one above 0"):
        Fusion.fit(vectors, PARTS, weights={"timbre": 0.0, "chroma": 0.0, "words": 0.0})
    with pytest.raises(InvalidInputError, match="at least 0"):
        Fusion.fit(vectors, PARTS, weights={"timbre": -1.0})
