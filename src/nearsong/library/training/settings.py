"""What a training may try and how much data it may use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearsong.errors import InvalidInputError
from nearsong.library.training.coverage.minimum_data import MIN_ARTISTS as MIN_ARTISTS
from nearsong.metric.oracles.losses import LOSS_CODES
from nearsong.model.encoders import check_encoder_names
from nearsong.model.units import UNITS
from nearsong.validation import check_choice, check_count, check_positive

MIN_ACTIVE_LISTENERS = 5
"""Listeners of two or more artists required for training."""

MIN_SCORED_ARTISTS = 10
"""Artists with a held-out score in any split required to decide which metric is better."""

METHODS = ("paper", "mlr", "listener_space", "combined")
"""Ways to learn from listeners: the paper's chain, MLR on all encoders, the listener space, and that with MLR."""

MAX_CENTROID_SHARE = 0.95
"""How far songs may be drawn to their artist's mean; at 1 all songs of an artist would be the same."""


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training and evaluation; None means chosen from the data.

    Attributes
    ----------
    encoders : tuple of str, optional
        Names of the encoders whose song vectors are used; by default all that songs are analysed with.
    methods : tuple of str, optional
        Which of `METHODS` to try; by default all that the encoders allow. The listener space alone takes seconds.
    unit : {"auto", "artist", "song"}
        Whether to learn from listeners of artists (as in the paper) or of songs. ``auto`` chooses songs if at least
        500 songs have 10 listeners each and these are at least half of the songs usable with artists as the unit.
        The listener space is always learned from artists.
    losses, Cs : tuples
        The grid of MLR searched by validation.
    penalties, centroid_shares, sound_weights : tuples of float
        The grid of the listener space.
    metric_weights : tuple of float
        Squared weights of MLR in the combined method.
    pretrained_ratios : tuple of float
        Squared weight of a pretrained encoder, relative to the sum of the others'.
    n_splits : int, optional
        Number of train/validation/test splits by artist: by default 10 with few artists, down to 3 above 500.
    n_relevant : int, optional
        Number of units relevant to each unit: by default a twentieth of the training set, limited to 2 to 10 artists
        or 5 to 20 songs.
    min_listeners : int, optional
        Minimum number of listeners of an artist, or song. By default the largest of 100, 50, 20, 10, 5 and 3 that
        leaves 500 artists (1,000 songs), else 3; 2 if fewer than 40 (200) have 3. More artists help more than better
        known ones: on GTZAN, training on artists with 2 or more listeners did as well as with 3 or more and better
        than with 10 or more (the same artists tested: AUC 0.754, 0.748, 0.742; never seen: 0.706, 0.704, 0.684).
    max_songs, songs_an_artist : int
        Maximum number of songs that methods and parameters are chosen on, and of songs per artist. Every artist gets
        one song before any gets a second. ``min_listeners`` as chosen from the data is of these songs.
    max_final_songs, max_ranked_songs : int
        Maximum number of songs that the final fit learns from: all artists with ``final_min_listeners`` have one
        before any has a second. MLR, which ranks each song against all others, learns from fewer. The songs that
        were chosen on are among them.
    final_min_listeners : int
        Listeners that an artist needs for the final fit; fewer if fewer were enough to choose on. If
        ``min_listeners`` is set, it is for both. Measured in docs/decisions/0027-catalogue-size-training.md.
    seed : int
        Random seed of samples, splits and confidence intervals.
    tol, max_rounds : float, int
        Stopping criteria of the fits in the grid search.
    final_tol, final_max_rounds : float, int
        Stopping criteria of the final fit.
    """

    encoders: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    unit: str = "auto"
    losses: tuple[str, ...] = ("auc", "ndcg", "mrr")
    Cs: tuple[float, ...] = (1e1, 1e2, 1e3, 1e4, 1e5)
    penalties: tuple[float, ...] = (0.1, 0.3, 1.0)
    centroid_shares: tuple[float, ...] = (0.0, 0.5, 0.8)
    sound_weights: tuple[float, ...] = (0.1, 0.25, 0.5)
    metric_weights: tuple[float, ...] = (0.1, 0.2, 0.4)
    pretrained_ratios: tuple[float, ...] = (0.75, 1.5, 3.0)
    n_splits: int | None = None
    n_relevant: int | None = None
    min_listeners: int | None = None
    max_songs: int = 2000
    songs_an_artist: int = 20
    max_final_songs: int = 100_000
    max_ranked_songs: int = 20_000
    final_min_listeners: int = 3
    seed: int = 0
    tol: float = 1e-2
    max_rounds: int = 40
    final_tol: float = 3e-3
    final_max_rounds: int = 100

    def __post_init__(self) -> None:
        if self.encoders is not None:
            object.__setattr__(self, "encoders", check_encoder_names(self.encoders))
        if self.methods is not None:
            object.__setattr__(self, "methods", _each(self.methods, "methods"))
            for method in self.methods:
                check_choice(method, "method", METHODS)
        check_choice(self.unit, "unit", ("auto", *UNITS))
        object.__setattr__(self, "losses", _each(self.losses, "losses"))
        for loss in self.losses:
            check_choice(loss, "loss", LOSS_CODES)
        for name in ("Cs", "penalties", "sound_weights", "metric_weights", "pretrained_ratios"):
            object.__setattr__(self, name, _each(getattr(self, name), name))
            for value in getattr(self, name):
                check_positive(value, "C" if name == "Cs" else name)
        object.__setattr__(self, "centroid_shares", _each(self.centroid_shares, "centroid_shares"))
        for share in self.centroid_shares:
            if not 0 <= share <= MAX_CENTROID_SHARE:
                raise InvalidInputError(f"centroid_shares has {share!r}; use numbers from 0 to {MAX_CENTROID_SHARE}.")
        for name in ("n_splits", "n_relevant", "min_listeners"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        least_of = {
            "max_songs": 2,
            "songs_an_artist": 1,
            "max_final_songs": 2,
            "max_ranked_songs": 2,
            "final_min_listeners": 1,
            "max_rounds": 3,
            "final_max_rounds": 3,
        }
        for name, least in least_of.items():
            check_count(getattr(self, name), name, least)
        check_count(self.seed, "seed", minimum=0)
        for name in ("tol", "final_tol"):
            check_positive(getattr(self, name), name)


def _each(values: Sequence[Any], name: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not len(values):
        raise InvalidInputError(f"{name}={values!r} must be a tuple with at least one value.")
    if len(set(values)) < len(values):
        raise InvalidInputError(f"{name} has a value twice; give each value once.")
    return tuple(values)
