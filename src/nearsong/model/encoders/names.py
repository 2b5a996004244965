"""The names of the song encoders, without their classes: whoever mistypes one is told at once."""

from collections.abc import Sequence

from nearsong.errors import InvalidInputError

ENCODER_NAMES = ("codewords", "gaussian", "fisher", "texture", "chroma", "spectral_pattern")
"""Those of `ENCODERS` in `nearsong.model.encoders.registry`, in its order."""

OPTIONAL_ENCODER_NAMES = ("musicnn", "onnx", "vectors")
"""Those of `OPTIONAL_ENCODERS`."""


def check_encoder_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of encoders, each once and in order, or raise."""
    known = [*ENCODER_NAMES, *OPTIONAL_ENCODER_NAMES]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        came = repr(unknown[0]) if unknown else "an empty list"
        raise InvalidInputError(f"Unknown encoder: {came}. Choose from {', '.join(known)}.")
    return tuple(dict.fromkeys(names))
