"""Data set and settings -> the encoders of a run, computed from sound or read from files of vectors."""

from collections.abc import Iterable

from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.methods.encoders import DATASET_VECTORS
from nearsong.model.encoders import (
    DEFAULT_ENCODERS,
    ENCODERS,
    OPTIONAL_ENCODERS,
    CodewordEncoder,
    encoder_class,
)

RUN_ENCODERS = tuple(name for name in DEFAULT_ENCODERS if name != CodewordEncoder.name)
"""Encoders of a run unless it names them, where the data set allows; codewords have methods of their own."""

COMPUTED_ENCODERS = tuple(name for name in (*ENCODERS, *OPTIONAL_ENCODERS) if name != DATASET_VECTORS)
"""Encoders whose vectors can be computed from sound."""


def choose_encoders(data: Dataset, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the encoders of a run, or raise if the data set has no vectors of one and cannot compute them.

    Parameters
    ----------
    data : Dataset
        Its files of vectors come before what can be computed.
    names : tuple of str
        As the settings name them; none chooses the default ones.
    """
    chosen = tuple(names) or tuple(name for name in RUN_ENCODERS if is_available(data, name))
    if not names and not data.sounds.songs:
        chosen = (DATASET_VECTORS,)
    for name in chosen:
        _check(data, name)
    return chosen


def is_available(data: Dataset, name: str) -> bool:
    """Return whether the data set has vectors of an encoder or can compute them."""
    if name in data.sounds.vectors:
        return True
    try:
        return name in COMPUTED_ENCODERS and data.sounds.has_frames(encoder_class(name).default_features())
    except EncoderNotInstalledError:  # what an optional encoder reads may be a part of what is installed
        return False


def _check(data: Dataset, name: str) -> None:
    if name in data.sounds.vectors:
        data.sounds.vectors_of(name)
        return
    if is_available(data, name):
        data.sounds.check_archive(encoder_class(name).default_features())
        return
    if name in COMPUTED_ENCODERS and data.sounds.songs:
        frames = encoder_class(name).default_features().name
        raise InvalidInputError(
            f"{data.folder} has neither {name}.npy nor {frames}.npz, so the encoder {name} cannot be used; add "
            "one of them, or leave it out of --encoders."
        )
    usable = _listed(
        dict.fromkeys([*(other for other in COMPUTED_ENCODERS if is_available(data, other)), *data.sounds.vectors])
    )
    raise InvalidInputError(f"{data.folder} has no vectors of {name!r}; add {name}.npy, or choose from {usable}.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
