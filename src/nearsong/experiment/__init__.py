"""The paper's experiment: a data-set folder in, tables out (paper IV); and synthetic data with a known truth."""

from nearsong.experiment.dataset.dataset import Dataset
from nearsong.experiment.dataset.synthetic import Truth, make_dataset

__all__ = ["Dataset", "Truth", "make_dataset"]
