"""What an experiment does, in one frozen record that is written beside its results."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.validation import check_choice, check_count, check_in_range, check_positive

LOSSES = ("auc", "ndcg", "mrr")
PLAIN = (
    "random",
    "popularity",
    "ceiling",
    "native",
    "native_ppk",
    "tfidf",
    "gmm",
    "smd",
    "tags_cosine",
    "tags_tfidf",
)
LEARNED = ("mlr", "ppk_mlr", "smd_mlr", "tags_mlr", "shuffled")
METHODS = (*PLAIN, *LEARNED)
"""All that can be compared; for data sets of vectors `native` and `mlr` are about the vectors."""


def paper_Cs() -> tuple[float, ...]:  # noqa: N802 - C is the paper's
    """Return 10^-2, 10^-1, ..., 10^9."""
    return tuple(10.0**power for power in range(-2, 10))


@dataclass(frozen=True)
class Settings:
    """The grid and the protocol; the defaults are the paper's.

    Attributes
    ----------
    codebooks, taus : tuple of int
        Codebook sizes, and codewords a frame counts for.
    losses : tuple of str
        Ranking losses to train with.
    Cs : tuple of float
        Weights of the slack.
    n_splits : int
        Random splits of the artists.
    min_listeners : int
        Listeners an artist of the experiment set has at least; the others make the codebook set.
    n_relevant : int
        Relevant artists of each artist.
    min_plays : float
        Plays that make a listener.
    methods : tuple of str
        What to compare; what the data cannot do is left out with a note.
    seed : int
        Of splits, codebooks and samples.
    tol, max_rounds : float, int
        When a fit ends: the certified relative gap, and the most rounds.
    curve : tuple of float
        Shares of the training artists for the learning curve.
    """

    codebooks: tuple[int, ...] = (256, 512, 1024, 2048)
    taus: tuple[int, ...] = (1, 2, 4, 8)
    losses: tuple[str, ...] = LOSSES
    Cs: tuple[float, ...] = field(default_factory=paper_Cs)
    n_splits: int = 10
    min_listeners: int = 100
    n_relevant: int = 10
    min_plays: float = 10.0
    methods: tuple[str, ...] = METHODS
    seed: int = 0
    tol: float = 1e-2
    max_rounds: int = 100
    curve: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)

    def __post_init__(self) -> None:
        for name, checked in {
            "codebooks": _each(self.codebooks, "codebooks", check_count),
            "taus": _each(self.taus, "taus", check_count),
            "losses": _each(self.losses, "losses", lambda value, name: check_choice(value, name, LOSSES)),
            "Cs": _each(self.Cs, "Cs", check_positive),
            "methods": _each(self.methods, "methods", lambda value, name: check_choice(value, name, METHODS)),
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
        """Codebook and tau of controls and learning curve: the paper's 1,024 and 1 if they are in the grid."""
        return (1024 if 1024 in self.codebooks else max(self.codebooks), min(self.taus))

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "Settings":
        """Return what :meth:`as_json` wrote."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
        }
        return cls(**values)


def _each(values: Sequence[Any], name: str, check: Any) -> tuple[Any, ...]:
    if not values:
        raise InvalidInputError(f"{name} is empty; give at least one value.")
    checked = [check(value, name) for value in values]
    if len(set(checked)) < len(checked):
        raise InvalidInputError(f"{name} names a value twice; give each once.")
    return tuple(checked)
