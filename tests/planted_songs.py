"""Songs in classes that a learner can find, and a learner that is quick."""

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.metric import MetricLearningToRank

LOSSES = ("auc", "mrr", "ndcg", "map", "precision_at_k")
FULL_AND_DIAGONAL = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
may_not_converge = pytest.mark.filterwarnings("ignore:stopped after:nearsong.estimators.ConvergenceWarning")


def planted(n=120, seed=0, n_classes=4):
    """Classes that differ in three features, hidden among seven of louder noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = 4.0 * np.random.default_rng(1).standard_normal((n_classes, 3))
    informative = centres[labels] + rng.standard_normal((n, 3))
    return np.column_stack([informative, 8.0 * rng.standard_normal((n, 7))]), labels


def same_class(labels):
    return sp.csr_array(np.asarray(labels)[:, None] == np.asarray(labels)[None])


def small(**kwargs):
    """A learner, its songs and their labels, for tests about anything but the optimum."""
    X, labels = planted(40)
    return MetricLearningToRank(**{"C": 3.0, "tol": 1e-2, **kwargs}), X, labels
