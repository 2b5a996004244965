"""Queries -> the same queries turned from the familiar to the adventurous, or back.

A listener space knows in which direction popular artists lie. Moving a query against it brings nearer what few
people play and what else is similar; the songs and their index stay as they are.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nearsong.errors import InvalidInputError
from nearsong.library.answers.seeds import Seed

if TYPE_CHECKING:
    from nearsong.model import SimilarityModel

MAX_ADVENTUROUSNESS = 1.0
"""The dial goes from minus this, familiar, to this, adventurous; 0 is neutral."""

NO_DIAL = "The dial from familiar to adventurous needs a model that learned from listeners: run `nearsong train`."
"""Why a model without a listener space has no dial."""


def has_dial(model: "SimilarityModel") -> bool:
    """Return whether queries of a model can be turned."""
    from nearsong.library.answers.why.distance_parts import (
        listener_space_of,  # loads scikit-learn where it is installed
    )

    return listener_space_of(model) is not None


def check_adventurousness(value: float) -> float:
    """Return a position of the dial, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_ADVENTUROUSNESS:
        raise InvalidInputError(
            f"adventurousness={value!r} must be a number from -1 (familiar) to 1 (adventurous); 0 is neutral."
        )
    return float(value)


def turned(model: "SimilarityModel", seeds: Sequence[Seed], adventurousness: float) -> npt.NDArray[np.float32]:
    """Return the embeddings (n_seeds, rank) of seeds, turned.

    Parameters
    ----------
    model : SimilarityModel
        Of the seeds.
    seeds : sequence of Seed
    adventurousness : float
        From -1 to 1; 0 changes nothing.

    Raises
    ------
    InvalidInputError
        If the model has no listener space and the dial is not at 0.
    """
    embeddings = np.array([seed.embedding for seed in seeds], dtype=np.float32)
    if check_adventurousness(adventurousness) == 0:
        return embeddings
    from nearsong.library.answers.why.distance_parts import (
        listener_space_of,  # loads scikit-learn where it is installed
    )

    space = listener_space_of(model)
    if space is None:
        raise InvalidInputError(NO_DIAL)
    return space.dial(embeddings, adventurousness).astype(np.float32)
