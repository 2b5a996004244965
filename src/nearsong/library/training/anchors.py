"""A listener space and the names of its artists -> the names that explanations need, to store with the model.

Explanations say which artists the likely listeners of two songs play. Columns of the listens mean nothing in another
library, so the names of those that matter go into the model's record of its training, under "anchors".
"""

from collections.abc import Sequence

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.model.listener_space import ListenerSpace

MAX_ANCHORS = 500
"""Artists whose names are stored: those that the training artists' listeners differ in most."""


def named_anchors(space: ListenerSpace, names: Sequence[str], n: int = MAX_ANCHORS) -> dict[str, str]:
    """Return the names of the artists that matter most, by column as JSON has it.

    Parameters
    ----------
    space : ListenerSpace
        Fitted.
    names : sequence of str
        The name of every artist in the listens, by column; empty ones are left out.
    n : int
        At most this many.
    """
    if len(names) != len(space.maps_.popularity):
        raise InvalidInputError(f"{len(names)} names given for {len(space.maps_.popularity)} artists; give one each.")
    spread = np.zeros(len(names))
    for block in space.maps_.taste:
        spread[block.anchors] += (block.known_queries @ block.basis.T).var(axis=0)
    columns = np.argsort(-spread, kind="stable")[:n]
    return {
        str(column): str(names[column]) for column in np.sort(columns).tolist() if names[column] and spread[column]
    }
