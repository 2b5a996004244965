"""Colours of the report, in figures and on the page, and the matplotlib settings of its figures."""

from typing import Any

WIDTH = 7.4  # inches: the column width of the report
PAPER, INK, FAINT, LINE = "#ffffff", "#22262b", "#6b737c", "#d9dde2"
DATABASE_COLOURS = {"known": "#0072b2", "unknown": "#d55e00"}
DATABASE_NAMES = {"known": "known artists", "unknown": "unseen artists"}
RAMP = ["#79b4dc", "#2f7fbd", "#0b4f94", "#06264f", "#8a8f96", "#33383d"]  # ordered: pale is small
LOSS_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
# Not exactly the blue and red above: those adapt to a dark page, but the points of a map are an image.
GROUP_COLOURS = ["#0173b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55f00"]
OTHERS = "#a9afb6"
MATPLOTLIB_STYLE: Any = {  # matplotlib names every key in its types
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "svg.fonttype": "none",  # text stays text: it uses the font of the page and can be searched
}
# Colours of a figure -> CSS variables of the page, which differ between light and dark mode.
PAGE_COLOURS = {
    PAPER: "card",
    INK: "ink",
    FAINT: "faint",
    LINE: "line",
    DATABASE_COLOURS["known"]: "blue",
    DATABASE_COLOURS["unknown"]: "red",
    RAMP[0]: "ramp1",
    RAMP[1]: "ramp2",
    RAMP[2]: "ramp3",
    RAMP[3]: "ramp4",
}
CLOSE_UP_INCHES = (7.2, 4.0)  # inside the frame
