"""Type aliases and default callbacks that all packages share."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the steps done and the total number of steps."""

Note = Callable[[str], None]
"""Called with one line of text for the user."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Do nothing: the default `Progress`."""


def no_note(text: str) -> None:
    """Do nothing: the default `Note`."""
