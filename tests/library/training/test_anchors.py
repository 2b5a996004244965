"""The names of artists that a model stores for its explanations."""

import numpy as np
import pytest

from fused_songs import N_ARTISTS, fused_model
from nearsong.errors import InvalidInputError
from nearsong.library.answers.why.fused_reasons import anchor_names
from nearsong.library.training.anchors import named_anchors


def test_those_that_listeners_differ_in_most_are_named_by_column():
    space = fused_model()[0].projector.space
    names = [f"Artist {column}" for column in range(N_ARTISTS)]
    chosen = named_anchors(space, names, n=5)
    spread = np.zeros(N_ARTISTS)
    for block in space.maps_.taste:
        for row, anchor in enumerate(block.anchors):
            spread[anchor] += np.var([target @ block.basis[row] for target in block.known_queries])
    assert sorted(map(int, chosen)) == sorted(np.argsort(-spread)[:5].tolist())
    assert anchor_names({"anchors": chosen}) == {int(column): f"Artist {column}" for column in chosen}
    assert named_anchors(space, [""] * N_ARTISTS) == {}


def test_every_artist_needs_a_name():
    space = fused_model()[0].projector.space
    with pytest.raises(InvalidInputError, match="2 names given for 30 artists"):
        named_anchors(space, ["Can", "Neu!"])
