"""Vectors + relevant sets -> W: metric learning to rank with exact oracles and a certified optimum."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.metric.learner import MetricLearningToRank as MetricLearningToRank
    from nearsong.metric.solver import Round as Round

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "learner": ["MetricLearningToRank"],
        "solver": ["Round"],
    },
)
