"""The look of a report: its colours, in figures and on the page, and the settings that figures are drawn with."""

from typing import Any

WIDTH = 7.4  # inches: the width of the report's column
PAPER, INK, FAINT, LINE = "#ffffff", "#22262b", "#6b737c", "#d9dde2"
DATABASE_COLOURS = {"known": "#0072b2", "unknown": "#d55e00"}
DATABASE_NAMES = {"known": "songs it learned from", "unknown": "artists it never saw"}
RAMP = ["#79b4dc", "#2f7fbd", "#0b4f94", "#06264f", "#8a8f96", "#33383d"]  # ordered: pale is small
LOSS_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
# Not the very blue and red above: those change with the page, but the points of a map are an image.
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
    "svg.fonttype": "none",  # text stays text: it takes the page's font and can be searched
}
# A figure's colours -> the page's, which change with light and dark.
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
CLOSE_UP = (7.2, 4.0)  # inches inside the frame
