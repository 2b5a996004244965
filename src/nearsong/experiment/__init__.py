"""The paper's experiment: a data-set folder in, tables out (paper IV); and made-up data with a known truth."""

from nearsong.experiment.dataset import Dataset
from nearsong.experiment.synthetic import Truth, make_dataset

__all__ = ["Dataset", "Truth", "make_dataset"]
