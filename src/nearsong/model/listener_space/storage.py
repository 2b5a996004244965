"""Fitted maps <-> named arrays and JSON, without pickle."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space.blocks import TasteBlock
from nearsong.model.listener_space.embedding import Balance, SpaceMaps

TASTE_ARRAYS = ("matrix", "offset", "basis", "anchors", "popularity", "known", "known_queries")
"""Arrays of a taste block."""

MAP_ARRAYS = ("sound", "metric", "artists", "popularity")
"""Arrays beside the taste blocks."""

INTEGER_ARRAYS = ("anchors", "artists")
"""Arrays of columns; all others but the listeners of artists hold real numbers."""


def arrays_of(maps: SpaceMaps) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays by name."""
    arrays = {name: getattr(maps, name) for name in MAP_ARRAYS}
    for block in maps.taste:
        arrays |= {f"{block.name}/{name}": getattr(block, name) for name in TASTE_ARRAYS}
    return arrays


def parameters_of(maps: SpaceMaps) -> dict[str, Any]:
    """Return all numbers beside the arrays as JSON can represent them."""
    return {
        "taste": [{"name": block.name, "weight": block.weight} for block in maps.taste],
        "sound_weight": maps.sound_weight,
        "metric_weight": maps.metric_weight,
        "balance": None if maps.balance is None else asdict(maps.balance),
    }


def maps_from(parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> SpaceMaps:
    """Return the maps that `arrays_of` and `parameters_of` describe; raise if they do not fit together."""
    try:
        taste = tuple(
            TasteBlock(
                name=str(facts["name"]),
                weight=float(facts["weight"]),
                **{name: arrays[f"{facts['name']}/{name}"] for name in TASTE_ARRAYS},
            )
            for facts in parameters["taste"]
        )
        balance = parameters["balance"]
        maps = SpaceMaps(
            taste=taste,
            sound=arrays["sound"],
            metric=arrays["metric"],
            artists=arrays["artists"],
            popularity=arrays["popularity"],
            sound_weight=float(parameters["sound_weight"]),
            metric_weight=float(parameters["metric_weight"]),
            balance=None if balance is None else Balance(**balance),
        )
        valid = _fit_together(maps)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InvalidInputError(f"a stored listener space is incomplete ({error}); train it again.") from error
    if not valid:
        raise InvalidInputError("the arrays of a stored listener space do not fit together; train it again.")
    return maps


def _fit_together(maps: SpaceMaps) -> bool:
    """Return whether shapes, types and values are possible."""
    n_artists, d = len(maps.artists), maps.sound.shape[0]
    dimensions = (maps.sound.ndim, maps.metric.ndim, maps.artists.ndim, maps.popularity.ndim)
    valid = (*dimensions, maps.metric.shape[0]) == (2, 2, 1, 1, d) and n_artists > 0
    for block in maps.taste:
        k = block.basis.shape[1]
        shapes = {
            "matrix": (d, block.n_coordinates),
            "offset": (block.n_coordinates,),
            "basis": (len(block.anchors), k),
            "anchors": (len(block.anchors),),
            "popularity": (k,),
            "known": (n_artists, k),
            "known_queries": (n_artists, k),
        }
        valid = valid and all(getattr(block, name).shape == shape for name, shape in shapes.items())
        valid = valid and k <= block.n_coordinates and block.weight > 0
        valid = valid and bool((block.anchors < len(maps.popularity)).all()) and bool((block.anchors >= 0).all())
    for name, array in arrays_of(maps).items():
        integer = name == "popularity" or name.rpartition("/")[2] in INTEGER_ARRAYS
        valid = valid and array.dtype == (np.int64 if integer else np.float64) and bool(np.isfinite(array).all())
    return valid


def as_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters with lists for tuples and plain numbers."""
    return {
        name: [float(part) for part in value] if isinstance(value, tuple | list) else value
        for name, value in parameters.items()
    }


def from_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that `as_json` was given."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
