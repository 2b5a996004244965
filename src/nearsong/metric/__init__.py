"""Vectors + relevant sets -> W: metric learning to rank with exact oracles and a certified optimum."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.metric.history import Round as Round
    from nearsong.metric.learner import MetricLearningToRank as MetricLearningToRank

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "history": ["Round"],
        "learner": ["MetricLearningToRank"],
    },
)
