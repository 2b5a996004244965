"""A small TOML file -> how sound is passed to a network that a user has as an ONNX file.

::

    name = "my-embedding"          # shown in lists
    model = "my-embedding.onnx"    # beside this file
    licence = "Apache-2.0"
    input = "mel"                  # or "waveform"
    sample_rate = 16000
    patch = 187                    # frames (mel) or samples (waveform) that the network reads together
    patches = 3                    # patches of a song, spread over it
    pooling = "mean"               # of the patches: mean or max
    output = "embedding"           # name of the output; by default the first one

    [mel]
    n_fft = 512
    hop = 256
    bands = 96
    scale = "slaney"               # or "htk"
    norm = "slaney"                # bands of equal area, or "none"
    level = "log10(10000x+1)"      # or "dB", "ln" or "power"
    axes = "time,band"             # or "band,time"
"""

import os
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from nearsong.errors import InvalidInputError
from nearsong.validation import check_choice, check_count

MAX_DESCRIPTION_BYTES = 65_536
"""A longer file is not such a description."""

MAX_PATCH_NUMBERS = 10_000_000
"""Numbers that a network reads together."""

MAX_PATCHES = 50
"""Patches of a song."""

LEVELS = ("log10(10000x+1)", "dB", "ln", "power")
"""What the power in a mel band becomes."""


@dataclass(frozen=True, kw_only=True)
class MelDescription:
    """A mel spectrogram; the parameters of librosa's."""

    n_fft: int = 512
    hop: int = 256
    bands: int = 96
    scale: str = "slaney"
    norm: str = "slaney"
    level: str = "log10(10000x+1)"
    axes: str = "time,band"

    def __post_init__(self) -> None:
        _check_limit(self.n_fft, "mel.n_fft", 16, 32_768)
        _check_limit(self.hop, "mel.hop", 1, self.n_fft)
        _check_limit(self.bands, "mel.bands", 1, 1_024)
        check_choice(self.scale, "mel.scale", ("slaney", "htk"))
        check_choice(self.norm, "mel.norm", ("slaney", "none"))
        check_choice(self.level, "mel.level", LEVELS)
        check_choice(self.axes, "mel.axes", ("time,band", "band,time"))


@dataclass(frozen=True, kw_only=True)
class OnnxDescription:
    """How sound is passed to a network; see the module."""

    name: str
    model: str
    licence: str
    input: str
    sample_rate: int
    patch: int
    patches: int = 3
    pooling: str = "mean"
    output: str = ""
    mel: MelDescription | None = None

    def __post_init__(self) -> None:
        for key in ("name", "model", "licence", "output"):
            value = getattr(self, key)
            if not isinstance(value, str) or len(value) > 200 or (not value and key != "output"):
                raise InvalidInputError(f"{key}={value!r} must be a text of up to 200 letters.")
        check_choice(self.input, "input", ("mel", "waveform"))
        check_choice(self.pooling, "pooling", ("mean", "max"))
        _check_limit(self.sample_rate, "sample_rate", 4_000, 192_000)
        _check_limit(self.patches, "patches", 1, MAX_PATCHES)
        if (self.mel is not None) != (self.input == "mel"):
            raise InvalidInputError("[mel] is needed if input is 'mel', and only then.")
        _check_limit(self.patch, "patch", 1, MAX_PATCH_NUMBERS // (1 if self.mel is None else self.mel.bands))

    def as_json(self) -> dict[str, Any]:
        """Return plain values, as :meth:`from_json` takes them."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the description that plain values are of; raise if one is missing, unknown or impossible."""
        mel = values.get("mel")
        if mel is not None and not isinstance(mel, dict):
            raise InvalidInputError("[mel] must be a table.")
        _check_names(values, cls, "")
        _check_names(mel or {}, MelDescription, "mel.")
        return cls(**{**values, "mel": None if mel is None else MelDescription(**mel)})


def read_description(path: str | os.PathLike[str]) -> OnnxDescription:
    """Read a description; errors name the file and what is wrong in it."""
    name = os.fspath(path)
    try:
        content = Path(path).read_bytes()
        if len(content) > MAX_DESCRIPTION_BYTES:
            raise InvalidInputError("it is too long")
        return OnnxDescription.from_json(tomllib.loads(content.decode()))
    except OSError as error:
        raise InvalidInputError(f"{name}: cannot be opened ({error.strerror}); check the path.") from error
    except (InvalidInputError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InvalidInputError(f"{name}: is not the description of an ONNX encoder ({reason}).") from error


def _check_names(values: dict[str, Any], kind: type[Any], prefix: str) -> None:
    known = {field.name for field in fields(kind)}
    if unknown := sorted(values.keys() - known):
        raise InvalidInputError(f"{prefix}{unknown[0]} is unknown; choose from {', '.join(sorted(known))}.")
    required = {"name", "model", "licence", "input", "sample_rate", "patch"} if not prefix else set()
    if missing := sorted(required - values.keys()):
        raise InvalidInputError(f"{missing[0]} is missing.")


def _check_limit(value: Any, name: str, minimum: int, maximum: int) -> None:
    if check_count(value, name, minimum) > maximum:
        raise InvalidInputError(f"{name}={value!r} must be at most {maximum:,}.")
