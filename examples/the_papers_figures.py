"""
The paper's figures
===================

`nearsong experiment` runs the experiment of McFee, Barrington & Lanckriet (2012) on a folder of data: every
method on the same splits, C chosen on validation artists, test artists scored once. Here it runs on a small
simulated data set whose truth is known. On your own data, replace the folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from nearsong.experiment import make_dataset

folder = Path(tempfile.mkdtemp())

# %%
# A data set
# ----------
# Listeners choose artists by taste and popularity. Taste can be heard in the sound, and so can something that
# has nothing to do with taste: the metric must learn which is which.

truth = make_dataset(folder / "data", n_artists=80, n_users=800, frames_per_song=150, nuisance=1.5, seed=1)
print(sorted(path.name for path in (folder / "data").iterdir()))

# %%
# Run it
# ------
# The same as typing ``nearsong experiment run data --out run ...`` and ``nearsong experiment report run``.


def nearsong(*arguments: str | Path) -> str:
    """Run a command of nearsong and return what it prints."""
    command = [sys.executable, "-m", "nearsong", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


grid = ["--codebooks", "32,64", "--tau", "1", "--losses", "auc", "--C", "1e1:1e4", "--splits", "2"]
methods = ["--methods", "random,popularity,native,native_ppk,tfidf,tags_cosine,mlr,ppk_mlr"]
nearsong("experiment", "run", folder / "data", "--out", folder / "run", *grid, *methods, "--min-listeners", "100")
page = Path(nearsong("experiment", "report", folder / "run").strip())
figures = sorted(path.stem for path in page.parent.rglob("*.png"))
print(figures)


# %%
# What it draws
# -------------
# The comparison of all methods comes first: dots are averages over splits, lines their standard deviation.


def show(name: str) -> None:
    """Show a figure of the report."""
    image = plt.imread(next(page.parent.rglob(f"{name}.png")))
    figure = plt.figure(figsize=(image.shape[1] / 160, image.shape[0] / 160))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(image)
    axes.axis("off")
    plt.show()


show("comparison")

# %%
# Larger codebooks, better rankings:

show("codebooks")

# %%
# The space it learned, as a map of songs:

show("map")
