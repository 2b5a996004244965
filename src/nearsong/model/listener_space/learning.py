"""phi, listeners and the parameters of a listener space -> its fitted maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space.blocks import TasteBlock, taste_block
from nearsong.model.listener_space.checks import check_numbers
from nearsong.model.listener_space.embedding import SpaceMaps
from nearsong.model.listener_space.ridge import ArtistRidge
from nearsong.model.listener_space.rows import Rows, check_rows, row_blocks
from nearsong.model.listener_space.targets import Indices, Target, factor_target, listener_target, neighbour_target
from nearsong.types import FloatArray
from nearsong.validation import check_count

MAX_ANCHORS = 4_000
"""Artists that the listeners of a training artist are compared with; those with the most listeners.

With all of them as anchors, time would grow with the square of the artists, for an AUC that is the same
(docs/decisions/0027-catalogue-size-training.md).
"""

MAX_COORDINATES = 512
"""Coordinates in which the length of a predicted target is measured."""

Parameters = Mapping[str, Any]
"""The parameters of a `ListenerSpace` by name."""


def check_parameters(chosen: Parameters) -> None:
    """Raise if a parameter cannot work."""
    check_numbers(chosen["penalty"], "penalty", 1e-9, n_values=None if np.ndim(chosen["penalty"]) == 0 else 3)
    check_numbers(chosen["part_penalty"], "part_penalty", 1e-9)
    for name in ("taste_weights", "popularity_shares"):
        check_numbers(chosen[name], name, 0.0, n_values=3)
    for name in ("sound_weight", "metric_weight", "own_entry", "own_boost", "centroid_songs"):
        check_numbers(chosen[name], name, 0.0)
    for name in ("centroid_share", "part_share"):
        check_numbers(chosen[name], name, 0.0, 1.0)
    for name in ("n_factors", "anchor_listeners", "factor_listeners", "taste_dimensions", "sound_dimensions"):
        check_count(chosen[name], name)
    if not any(chosen["taste_weights"]) and not chosen["sound_weight"]:
        raise InvalidInputError("taste_weights and sound_weight are all 0, so nothing is left; raise one of them.")


def learn_maps(
    rows: Rows,
    columns: Indices,
    listens: sp.csc_array,
    chosen: Parameters,
    *,
    metric: Any = None,
    parts: Sequence[slice] = (),
) -> SpaceMaps:
    """Fit the maps of a space.

    Parameters
    ----------
    rows : array of shape (n_songs, n_dimensions)
        phi.
    columns : array of shape (n_songs,)
        The artist of each song; those without listeners are left out.
    listens : csc_array of shape (n_listeners, n_columns)
        1 where a listener plays an artist; held-out artists have none.
    chosen : mapping
        Parameters of the space.
    metric : array of shape (rank, n_dimensions), optional
        A learned metric's factor over phi.
    parts : sequence of slice
        Columns of phi's parts.
    """
    listeners = np.diff(listens.indptr).astype(np.int64)
    songs = np.flatnonzero((columns >= 0) & (listeners[columns] > 0))
    artists, codes = np.unique(columns[songs], return_inverse=True)
    if len(artists) < 2:
        raise InvalidInputError(
            f"{len(artists)} artist(s) have both songs and listeners, but at least 2 are needed; import more "
            "listens, or hold out fewer artists."
        )
    ridge = ArtistRidge.of(rows, songs, codes.astype(np.int64))
    has_sound = chosen["sound_weight"] > 0
    axes = ridge.principal_axes(chosen["sound_dimensions"]) if has_sound else np.empty((rows.shape[1], 0))
    return SpaceMaps(
        taste=tuple(_taste_blocks(listens, artists, ridge, parts, chosen)),
        sound=np.sqrt(chosen["sound_weight"]) * axes,
        metric=_metric_columns(metric, rows, songs, ridge, float(chosen["metric_weight"])),
        artists=artists,
        popularity=listeners,
        sound_weight=float(chosen["sound_weight"]),
        metric_weight=float(chosen["metric_weight"]),
    )


def _taste_blocks(
    listens: sp.csc_array, artists: Indices, ridge: ArtistRidge, parts: Sequence[slice], chosen: Parameters
) -> list[TasteBlock]:
    penalties = (chosen["penalty"],) * 3 if np.ndim(chosen["penalty"]) == 0 else chosen["penalty"]
    share, part_penalty = float(chosen["part_share"]), float(chosen["part_penalty"])
    targets = list(enumerate(_targets(listens, artists, chosen)))
    linear: dict[int, FloatArray] = {}
    for penalty in dict.fromkeys(penalties):
        own = [(number, target) for number, target in targets if target is not None and penalties[number] == penalty]
        if own:  # side by side, so that they share one factorisation
            centred = np.hstack([target.coordinates - target.coordinates.mean(axis=0) for _, target in own])
            responses = ridge.mixed_responses(centred, float(penalty), parts, share, part_penalty)
            ends = np.cumsum([target.coordinates.shape[1] for _, target in own])[:-1]
            linear |= zip([number for number, _ in own], np.split(responses, ends, axis=1), strict=True)
    return [
        taste_block(
            target,
            ridge,
            linear[number],
            artists,
            weight=float(chosen["taste_weights"][number]),
            popularity_share=float(chosen["popularity_shares"][number]),
            own_boost=float(chosen["own_boost"]) if number == 0 else 0.0,
            n_dimensions=chosen["taste_dimensions"],
            n_coordinates=MAX_COORDINATES,
        )
        for number, target in targets
        if target is not None
    ]


def _targets(listens: sp.csc_array, artists: Indices, chosen: Parameters) -> list[Target | None]:
    """Return Y, A and S; None for those without weight or listeners."""
    neighbours, anchors, factors = (weight > 0 for weight in chosen["taste_weights"])
    least, least_of_factors = chosen["anchor_listeners"], chosen["factor_listeners"]
    own_entry = float(chosen["own_entry"])
    return [
        neighbour_target(listens, artists, own_entry, max_anchors=MAX_ANCHORS) if neighbours else None,
        listener_target(listens, artists, min_listeners=least, max_anchors=MAX_ANCHORS) if anchors else None,
        factor_target(listens, artists, min_listeners=least_of_factors, n_factors=chosen["n_factors"])
        if factors
        else None,
    ]


def _metric_columns(metric: Any, rows: Rows, songs: Indices, ridge: ArtistRidge, weight: float) -> FloatArray:
    """Return the map of the metric block (n_dimensions, rank), scaled to the weight as its total variance."""
    if metric is None or weight == 0:
        return np.empty((rows.shape[1], 0))
    columns = np.asarray(check_rows(metric, "metric", rows.shape[1]), dtype=np.float64).T
    squares = sum(float(np.square((block - ridge.mean) @ columns).sum()) for _, block in row_blocks(rows, songs))
    if squares == 0:  # the zero metric
        return np.empty((rows.shape[1], 0))
    return np.asarray(columns * np.sqrt(weight * len(songs) / squares))
