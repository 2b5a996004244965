"""Model files with a right checksum and wrong numbers: refused in one line, or good for finite embeddings."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fused_songs
from nearsong.errors import InvalidInputError, ModelFileError
from nearsong.model import MetricProjector, Projection, SimilarityModel, file_format
from nearsong.model.encoders.registry import ENCODERS
from nearsong.types import FloatArray

FUSED = ("sound", "listeners", "metric")
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, 1e38, 1e20, -1.0, 1e-300)
N_SONGS = 12


def model_of(kind: str) -> tuple[SimilarityModel, Any]:
    """Return a small model, and frames of a song or vectors of three."""
    if kind in FUSED:
        model, _, vectors, _ = fused_songs.fused_model(kind)
        return model, vectors[:3]
    encoder, random = ENCODERS[kind], np.random.default_rng(0)
    width = encoder.default_features().n_features
    songs = [np.abs(random.normal(size=(200, width))).astype(np.float32) for _ in range(N_SONGS)]
    return SimilarityModel.learn(encoder.fit(songs), songs, np.arange(N_SONGS) % 2), songs[0]


def forged(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield wrong versions of an array, with a name for each."""
    yield "zeros", np.zeros_like(array)
    for number in NUMBERS if array.dtype.kind == "f" else (-1, 2**62):
        yield f"all {number}", np.full_like(array, number)
        one = array.copy()
        one.flat[:1] = number
        yield f"one {number}", one
    for dtype in (np.float32, np.int8, np.bool_, np.complex128, "U3", array.dtype.newbyteorder(">")):
        yield f"as {dtype}", array.astype(dtype)
    yield "of another shape", array.reshape(-1, 1)
    yield "in more dimensions", array[None, None]
    yield "short", array[:-1]
    yield "long", np.concatenate([array, array], axis=-1)
    yield "empty", array[:0]
    yield "a number", np.asarray(array.sum())


def embeddings_of(model: SimilarityModel, source: Any) -> list[FloatArray]:
    """Return what a model says of songs, by themselves and in a database."""
    vectors = source if len(source) == 3 else model.encode(source)[None]
    artists = np.array([0, 0, -1])[: len(vectors)]
    return [model.project(vectors), model.project_database(vectors, artists)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # complex numbers and NaN, on the way into the file
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("kind", [*ENCODERS, *FUSED])
def test_a_forged_array_is_refused_in_one_line_or_gives_finite_embeddings(kind):
    model, source = model_of(kind)
    header, arrays = model._header(), model._arrays()
    assert all(np.isfinite(part).all() for part in embeddings_of(model, source))
    refusals, n_used = [], 0
    for name, array in arrays.items():
        for change, wrong in forged(array):
            data = file_format.to_bytes(header, {**arrays, name: wrong})
            try:
                loaded = SimilarityModel.from_bytes(data)
            except ModelFileError as error:
                refusals.append(str(error))
                continue
            with np.errstate(all="raise", under="ignore"):
                embeddings = [part.astype(np.float32) for part in embeddings_of(loaded, source)]
            assert all(np.isfinite(part).all() for part in embeddings), (name, change)
            n_used += 1
    assert n_used > 0
    assert [line for line in refusals if "\n" in line] == []
    assert refusals


def changed(header: dict[str, Any], path: tuple[Any, ...], number: float) -> dict[str, Any]:
    wrong = copy.deepcopy(header)
    place: Any = wrong
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = number
    return wrong


@pytest.mark.parametrize("number", [-1.0, 0.0, 1e300, "many", None, [1.0]])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("codewords", ("projector", "parameters", "projections", 0, "weight")),
        ("codewords", ("projector", "parameters", "projections", 0, "spread")),
        ("listeners", ("projector", "parameters", "listener_space", "fitted", "taste", 0, "weight")),
    ],
)
def test_a_weight_that_is_no_positive_number_is_refused(kind, path, number):
    model, _ = model_of(kind)
    data = file_format.to_bytes(changed(model._header(), path, number), model._arrays())
    with pytest.raises(ModelFileError, match="do not fit together"):
        SimilarityModel.from_bytes(data)


@pytest.mark.parametrize("name", ["basis", "factor"])
def test_a_file_whose_basis_or_factor_is_zero_is_refused_by_that_name(name):
    model, _ = model_of("gaussian")
    arrays = model._arrays()
    arrays[f"projector_projection0_{name}"] = np.zeros_like(arrays[f"projector_projection0_{name}"])
    with pytest.raises(ModelFileError, match="the model's basis or factor is zero"):
        SimilarityModel.from_bytes(file_format.to_bytes(model._header(), arrays))


def test_a_model_that_tells_no_songs_apart_is_not_stored(tmp_path):
    model, _ = model_of("gaussian")
    n = model.n_dimensions
    nothing = Projection(
        encoder_index=0, applies_phi=True, mean=np.zeros(n), basis=np.eye(n)[:2], factor=np.zeros((1, 2))
    )
    zero = SimilarityModel(model.encoder, MetricProjector([nothing]))
    with pytest.raises(InvalidInputError, match="basis or factor is zero"):
        zero.to_bytes()
    with pytest.raises(InvalidInputError, match="basis or factor is zero"):
        zero.save(tmp_path / "zero.npz")
    assert list(tmp_path.iterdir()) == []


def test_an_average_may_have_a_part_that_is_zero():
    model, _ = model_of("gaussian")
    (own,) = model.projector.projections
    nothing = Projection(
        encoder_index=0, applies_phi=True, mean=own.mean, basis=own.basis, factor=np.zeros_like(own.factor)
    )
    both = SimilarityModel(model.encoder, MetricProjector([own, nothing]))
    assert SimilarityModel.from_bytes(both.to_bytes()).rank == 2 * len(own.factor)


def test_factors_that_overflow_together_make_no_projection():
    with pytest.raises(InvalidInputError, match="factor times its basis"):
        Projection(
            encoder_index=0,
            applies_phi=True,
            mean=np.ones(2),
            basis=np.full((2, 2), 1e10),
            factor=np.full((1, 2), 1e10),
        )
