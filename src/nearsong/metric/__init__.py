"""Vectors + relevant sets -> W: metric learning to rank with exact oracles and a certified optimum."""

from nearsong.metric.learner import MetricLearningToRank
from nearsong.metric.solver import Round

__all__ = ["MetricLearningToRank", "Round"]
