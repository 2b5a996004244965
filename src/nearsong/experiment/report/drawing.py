"""The only module that uses matplotlib (``nearsong[paper]``): the style of figures, and their files."""

import io
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from nearsong.errors import InvalidInputError, install_command
from nearsong.experiment.report.style import MATPLOTLIB_STYLE

try:
    import matplotlib
    from matplotlib.figure import Figure as Figure
    from matplotlib.lines import Line2D as Line2D
except ImportError:  # see `check_matplotlib`
    matplotlib = Figure = Line2D = None  # type: ignore[assignment,misc]


def check_matplotlib() -> None:
    """Raise an error if figures cannot be drawn here, before anything else is done for them."""
    if matplotlib is None:
        raise InvalidInputError(f"Figures of a report need matplotlib: {install_command('paper')}")


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Run a drawing function in the style of the report without changing the caller's settings."""

    @wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Figure:
        with matplotlib.rc_context(MATPLOTLIB_STYLE):
            return draw(*args, **kwargs)

    return drawn


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write ``name.png`` and ``name.svg`` into a folder and return the SVG; the same figure gives the same bytes.

    Parameters
    ----------
    figure : Figure
    folder : Path
        An existing folder.
    name : str

    Returns
    -------
    str
        The SVG's text.
    """
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with matplotlib.rc_context({**MATPLOTLIB_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The font may lack the script of a title: then the PNG shows boxes, but the SVG is right.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        figure.savefig(folder / f"{name}.png", dpi=160, metadata={"Software": None})
        text = io.StringIO()
        figure.savefig(text, format="svg", dpi=200, metadata=nothing)
    (folder / f"{name}.svg").write_text(text.getvalue(), encoding="utf-8")
    return text.getvalue()
