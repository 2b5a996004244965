"""The settings of an experiment: an immutable record, stored with its results."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.experiment.methods.registry import DEFAULT_METHODS, METHODS
from nearsong.validation import check_choice, check_count, check_in_range, check_positive

LOSSES = ("auc", "ndcg", "mrr")


def paper_Cs() -> tuple[float, ...]:  # noqa: N802 - C is the paper's
    """Return the paper's values of C: 10^-2, 10^-1, ..., 10^9."""
    return tuple(10.0**power for power in range(-2, 10))


@dataclass(frozen=True)
class Settings:
    """The grid and the protocol; the defaults are the paper's.

    Attributes
    ----------
    codebooks, taus : tuple of int
        Codebook sizes, and numbers of nearest codewords counted per frame.
    losses : tuple of str
        Ranking losses to train with.
    Cs : tuple of float
        Weights of the slack.
    n_splits : int
        Number of random splits of the artists.
    min_listeners : int
        Listeners that an artist of the experiment set must have; all others form the codebook set.
    n_relevant : int
        Number of relevant artists per artist.
    min_plays : float
        Plays that make a user a listener of an artist.
    methods : tuple of str
        Methods to compare; those that the data set does not allow are skipped with a note.
    encoders : tuple of str
        Encoders, or other vectors of the data set, that are joined for the methods that use several; none stands for
        the default ones that the data set allows. The paper's methods use codewords in any case.
    seed : int
        Seed of splits, codebooks and samples.
    tol, max_rounds : float, int
        Stopping criteria of a fit: the certified relative gap, and the maximum number of rounds.
    curve : tuple of float
        Shares of the training artists in the learning curve.
    """

    codebooks: tuple[int, ...] = (256, 512, 1024, 2048)
    taus: tuple[int, ...] = (1, 2, 4, 8)
    losses: tuple[str, ...] = LOSSES
    Cs: tuple[float, ...] = field(default_factory=paper_Cs)
    n_splits: int = 10
    min_listeners: int = 100
    n_relevant: int = 10
    min_plays: float = 10.0
    methods: tuple[str, ...] = DEFAULT_METHODS
    encoders: tuple[str, ...] = ()
    seed: int = 0
    tol: float = 1e-2
    max_rounds: int = 100
    curve: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)

    def __post_init__(self) -> None:
        for name, checked in {
            "codebooks": _checked(self.codebooks, "codebooks", check_count),
            "taus": _checked(self.taus, "taus", check_count),
            "losses": _checked(self.losses, "losses", lambda value, name: check_choice(value, name, LOSSES)),
            "Cs": _checked(self.Cs, "Cs", check_positive),
            "methods": _checked(
                self.methods, "methods", lambda value, name: check_choice(value, name, tuple(METHODS))
            ),
            "encoders": _checked(self.encoders, "encoders", _check_file_name) if self.encoders else (),
            "n_splits": check_count(self.n_splits, "n_splits"),
            "min_listeners": check_count(self.min_listeners, "min_listeners"),
            "n_relevant": check_count(self.n_relevant, "n_relevant"),
            "min_plays": check_positive(self.min_plays, "min_plays"),
            "seed": check_count(self.seed, "seed", minimum=0),
            "tol": check_in_range(self.tol, "tol", 0.0, 1.0),
            "max_rounds": check_count(self.max_rounds, "max_rounds"),
        }.items():
            object.__setattr__(self, name, checked)
        if max(self.taus) > min(self.codebooks):
            raise InvalidInputError(
                f"tau={max(self.taus)} asks for more codewords than the smallest codebook has "
                f"({min(self.codebooks)}); choose a smaller tau or larger codebooks."
            )

    @property
    def main(self) -> tuple[int, int]:
        """Codebook size and tau of controls and learning curve: the paper's 1,024 and 1 if the grid has them."""
        return (1024 if 1024 in self.codebooks else max(self.codebooks), min(self.taus))

    def as_json(self) -> dict[str, Any]:
        """Return the settings as a dictionary that JSON can represent."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, settings: dict[str, Any]) -> "Settings":
        """Return the settings that :meth:`as_json` returned as a dictionary."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
        return cls(**values)


def _check_file_name(value: Any, name: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]*", value):
        raise InvalidInputError(
            f"{name}={value!r} is not a name; give encoders, or names of .npy files without .npy."
        )
    return value


def _checked(values: Sequence[Any], name: str, check: Any) -> tuple[Any, ...]:
    if not values:
        raise InvalidInputError(f"{name} is empty; give at least one value.")
    checked = [check(value, name) for value in values]
    if len(set(checked)) < len(checked):
        raise InvalidInputError(f"{name} has a value twice; give each value once.")
    return tuple(checked)
