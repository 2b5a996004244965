"""Tables of a run -> figures.

Every function takes records of ``tables.py`` and returns a ``Figure`` for ``drawing.save``. Colours are colour-blind
safe. Text is never parsed as mathematics, even if a title has dollar signs.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearsong.experiment.report.drawing import Figure, Line2D, styled
from nearsong.experiment.report.map import Points, Region, position_labels, shortened
from nearsong.experiment.report.reading import Row, Showcase
from nearsong.experiment.report.style import (
    CLOSE_UP_INCHES,
    DATABASE_COLOURS,
    DATABASE_NAMES,
    FAINT,
    GROUP_COLOURS,
    INK,
    LINE,
    LOSS_COLOURS,
    OTHERS,
    PAPER,
    RAMP,
    WIDTH,
)

_DASHED = (0, (4, 3))
_MARKERS = "os^DvP"


@styled
def comparison_figure(rows: Sequence[Row], references: Sequence[tuple[str, str, float]]) -> Figure:
    """Draw the test AUC of each method as dots with error bars, one colour per database.

    Parameters
    ----------
    rows : sequence of dict
        Best first: ``name``, ``learned`` (bool), ``known_auc``, ``known_auc_std``, ``unknown_auc``, ...,
        and ``paper`` (float or NaN).
    references : sequence of (name, database, AUC)
        Vertical lines.
    """
    figure = Figure(figsize=(WIDTH, 1.2 + 0.33 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    databases = [database for database in DATABASE_COLOURS if _has_values(rows, f"{database}_auc")]
    for column, database in enumerate(databases):
        shift = (column - (len(databases) - 1) / 2) * 0.26
        _draw_scores(axes, rows, database, shift, 1.02 + 0.105 * column)
    axes.plot([row["paper"] for row in rows], range(len(rows)), "D", mfc="none", mec=FAINT, ms=6, mew=1.1)
    _draw_references(axes, references)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row["learned"] else "normal")
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("AUC on test songs" + " (lines: ± 1 standard deviation)" * _has_values(rows, "known_auc_std"))
    handles = [_dot(DATABASE_COLOURS[database], DATABASE_NAMES[database]) for database in databases]
    if _has_values(rows, "paper"):
        handles.append(Line2D([], [], ls="", marker="D", mfc="none", mec=FAINT, ms=6, label="paper"))
    figure.legend(handles=handles, loc="outside upper left", ncols=3, handletextpad=0.2, columnspacing=1.4)
    return figure


def _has_values(rows: Sequence[Row], name: str) -> bool:
    return any(not math.isnan(row[name]) for row in rows)


def _draw_scores(axes: Any, rows: Sequence[Row], database: str, shift: float, text_x: float) -> None:
    """Draw the dots of one database, and its means as a column of text right of the axes."""
    colour = DATABASE_COLOURS[database]
    for y, row in enumerate(rows):
        mean, std = row[f"{database}_auc"], row[f"{database}_auc_std"]
        axes.errorbar(mean, y + shift, xerr=None if math.isnan(std) else std, fmt="o", color=colour, ms=4.8,
                      elinewidth=1.4, capsize=0)  # fmt: skip
        text = "" if math.isnan(mean) else f"{mean:.3f}"
        axes.text(text_x, y, text, transform=axes.get_yaxis_transform(), color=colour, va="center", ha="left", size=9)


def _dot(colour: str, label: str) -> Line2D:
    return Line2D([], [], ls="", marker="o", color=colour, ms=5.5, label=label)


def _draw_references(axes: Any, references: Sequence[tuple[str, str, float]]) -> None:
    """Draw dashed vertical lines and label each group of them above the axes."""
    groups: dict[str, list[float]] = {}
    for name, database, value in references:
        groups.setdefault(name, []).append(value)
        if name != "Random":
            axes.axvline(value, color=DATABASE_COLOURS[database], ls=_DASHED, lw=1.1, zorder=0.5)
    middles = sorted((sum(values) / len(values), name) for name, values in groups.items())
    low, high = axes.get_xlim()
    for number, (x, name) in enumerate(middles):
        if name == "Random":  # the same for both databases
            axes.axvline(x, color=FAINT, ls=_DASHED, lw=1.1, zorder=0.5)
        crowded = number > 0 and x - middles[number - 1][0] < 0.25 * (high - low)
        side = "left" if x < low + 0.15 * (high - low) else "right" if x > high - 0.15 * (high - low) else "center"
        axes.annotate(name, (x, 1), (0, 15 if crowded else 3), xycoords=axes.get_xaxis_transform(), ha=side,
                      textcoords="offset points", va="bottom", size=8.5, color=FAINT)  # fmt: skip


@styled
def grid_figure(panels: Sequence[tuple[str, Sequence[Row]]]) -> Figure:
    """Draw test AUC against codebook size, one line per tau, one panel per method.

    Parameters
    ----------
    panels : sequence of (name, rows)
        Rows with ``codebook``, ``tau``, ``known_auc`` and ``known_auc_std``.
    """
    columns = min(2, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(WIDTH, 0.75 + 2.3 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=True)
    taus = sorted({row["tau"] for _, rows in panels for row in rows})
    sizes = sorted({row["codebook"] for _, rows in panels for row in rows})
    for axes, (name, rows) in zip(grid.flat, panels, strict=False):
        for number, tau in enumerate(taus):
            own = sorted((row for row in rows if row["tau"] == tau), key=lambda row: row["codebook"])
            offset = 1.05 ** (number - (len(taus) - 1) / 2)  # keeps error bars from overlapping
            _line(axes, [row["codebook"] * offset for row in own], own, "known_auc", number, RAMP)
        axes.set_xscale("log", base=2)
        axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.grid(axis="x", visible=False)
        axes.set_title(name)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("codebook size", size=9.5)
    figure.supylabel("AUC on test songs", size=9.5)
    _ordered_legend(figure, "Nearest codewords counted per frame (τ):", [str(tau) for tau in taus])
    return figure


def _line(axes: Any, x: Sequence[float], rows: Sequence[Row], name: str, number: int, colours: list[str]) -> None:
    """Draw one line with error bars."""
    deviations = [0.0 if math.isnan(row[f"{name}_std"]) else row[f"{name}_std"] for row in rows]
    axes.errorbar(x, [row[name] for row in rows], yerr=deviations if any(deviations) else None,
                  color=colours[number % len(colours)], marker=_MARKERS[number % len(_MARKERS)], ms=4.5, lw=1.5,
                  elinewidth=1.0)  # fmt: skip


def _ordered_legend(figure: Figure, title: str, names: Sequence[str], colours: Sequence[str] = RAMP) -> None:
    """Draw the legend in one row above the axes, after its title."""
    handles = [Line2D([], [], ls="", label=title)]
    for number, name in enumerate(names):
        handles.append(Line2D([], [], color=colours[number % len(colours)], marker=_MARKERS[number % len(_MARKERS)],
                              ms=4.5, lw=1.5, label=name))  # fmt: skip
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=1.6, columnspacing=1.2)


@styled
def dimension_figure(rows: Sequence[Row]) -> Figure:
    """Draw effective dimension against tau, one line per codebook size."""
    figure = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    axes = figure.add_subplot()
    taus = sorted({row["tau"] for row in rows})
    for number, size in enumerate(sorted({row["codebook"] for row in rows})):
        own = sorted((row for row in rows if row["codebook"] == size), key=lambda row: row["tau"])
        _line(axes, [row["tau"] for row in own], own, "dimension", number, RAMP)
    sizes = sorted({row["codebook"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(taus, [str(tau) for tau in taus])
    axes.minorticks_off()
    axes.set_xlim(taus[0] / 1.2, taus[-1] * 1.2)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("nearest codewords counted per frame (τ)")
    axes.set_ylabel("dimensions for 95 % of the variance")
    _ordered_legend(figure, "Codebook size:", [f"{size:,}" for size in sizes])
    return figure


@styled
def curve_figure(rows: Sequence[Row], native: dict[str, float], native_name: str) -> Figure:
    """Draw test AUC against the number of training artists for both databases, with the native AUC dashed.

    Parameters
    ----------
    rows : sequence of dict
        Ascending ``artists``, with ``known_auc``, ``known_auc_std``, ``unknown_auc``, ``unknown_auc_std``.
    native : dict of database to AUC
    native_name : str
    """
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.add_subplot()
    artists = [row["artists"] for row in rows]
    handles = []
    for number, (database, colour) in enumerate(DATABASE_COLOURS.items()):
        means = np.array([row[f"{database}_auc"] for row in rows])
        if np.isnan(means).all():
            continue
        deviations = np.nan_to_num([row[f"{database}_auc_std"] for row in rows])
        axes.fill_between(artists, means - deviations, means + deviations, color=colour, alpha=0.16, lw=0)
        axes.plot(artists, means, color=colour, marker=_MARKERS[number], ms=5, lw=1.8)
        handles.append(Line2D([], [], color=colour, marker=_MARKERS[number], ms=5, label=DATABASE_NAMES[database]))
        if not math.isnan(native.get(database, math.nan)):
            axes.axhline(native[database], color=colour, ls=_DASHED, lw=1.2)
    if native:
        handles.append(Line2D([], [], color=FAINT, ls=_DASHED, lw=1.2, label=native_name))
    axes.set_xscale("log", base=2)
    axes.set_xticks(artists, [f"{n:,}" for n in artists])
    axes.minorticks_off()
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("training artists" + " (bands: ± 1 standard deviation)" * _has_values(rows, "known_auc_std"))
    axes.set_ylabel("AUC on test songs")
    figure.legend(handles=handles, loc="outside upper left", ncols=3, handlelength=2.2, columnspacing=1.4)
    return figure


@styled
def fitting_figure(chosen: Sequence[Row], fits: Sequence[Row]) -> Figure:
    """Draw validation AUC, rounds and seconds per fit against C, one line per loss."""
    figure = Figure(figsize=(WIDTH, 2.75), layout="constrained")
    losses = sorted({row["loss"] for row in fits})
    panels = [("Validation AUC", chosen, "validation_auc"), ("Rounds per fit", fits, "rounds"),
              ("Seconds per fit", fits, "seconds")]  # fmt: skip
    panels = [(title, rows, name) for title, rows, name in panels if _has_values(rows, name)]
    exponents = sorted({round(math.log10(row["C"])) for row in fits})
    exponents = exponents[:: math.ceil(len(exponents) / 4)]
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, (title, rows, name) in zip(grid.flat, panels, strict=True):
        _draw_by_loss(axes, rows, name, losses)
        axes.set_title(title)
        axes.set_xticks([10.0**exponent for exponent in exponents], [_power(exponent) for exponent in exponents])
        if name != "validation_auc":
            axes.set_ylim(bottom=0)
    figure.supxlabel("C (cost of ranking errors)", size=9.5)
    _ordered_legend(figure, "Loss:", [str(loss).upper() for loss in losses], LOSS_COLOURS)
    return figure


def _draw_by_loss(axes: Any, rows: Sequence[Row], name: str, losses: Sequence[str]) -> None:
    for number, loss in enumerate(losses):
        own = sorted((row for row in rows if row["loss"] == loss), key=lambda row: row["C"])
        colour, marker = LOSS_COLOURS[number % len(LOSS_COLOURS)], _MARKERS[number % len(_MARKERS)]
        axes.plot([row["C"] for row in own], [row[name] for row in own], lw=1.5, ms=4, color=colour, marker=marker)
    axes.set_xscale("log")
    axes.grid(axis="x", visible=False)
    axes.minorticks_off()


def _power(exponent: int) -> str:
    """Return a power of ten, in scientific notation only where it would be long."""
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else f"1e{exponent}"


@styled
def map_figure(
    layouts: Sequence[tuple[str, Points]], groups: Sequence[str], order: Sequence[str], regions: Sequence[Region]
) -> Figure:
    """Draw maps side by side, points coloured by group, with numbered frames around the regions of the last one.

    Parameters
    ----------
    layouts : sequence of (title, points of shape (n_songs, 2))
    groups : sequence of str
        The group of each song.
    order : sequence of str
        The groups, largest first.
    regions : sequence of Region
    """
    shape = max(float(np.ptp(points[:, 1]) / np.ptp(points[:, 0])) for _, points in layouts)
    height = WIDTH / len(layouts) * float(np.clip(shape, 0.6, 1.15 if len(layouts) > 1 else 0.8))
    figure = Figure(figsize=(WIDTH, height + 0.75), layout="constrained")
    grid = figure.subplots(1, len(layouts), squeeze=False)
    colours = _group_colours(order)
    names = np.array(groups)
    for axes, (title, points) in zip(grid.flat, layouts, strict=True):
        for group in reversed(order):
            own = points[names == group]
            size = float(np.clip(9000 / len(points), 5, 26))
            axes.scatter(own[:, 0], own[:, 1], s=size, color=colours[group], lw=0, alpha=0.85, rasterized=True)
        axes.set_title(title)
        _bare(axes)
    for number, region in enumerate(regions, start=1):
        axes = grid.flat[-1]
        (x, y), w, h = region.centre, region.half_width, region.half_height
        axes.plot([x - w, x + w, x + w, x - w, x - w], [y - h, y - h, y + h, y + h, y - h], color=INK, lw=1.3)
        axes.annotate(str(number), (x + w, y + h), (4, -2), textcoords="offset points", weight="bold", size=11,
                      bbox={"boxstyle": "circle,pad=0.15", "fc": PAPER, "ec": INK, "lw": 0.9})  # fmt: skip
    figure.legend(handles=[_dot(colours[group], shortened(group, 24)) for group in order],
                  loc="outside lower left", ncols=4, handletextpad=0.1, columnspacing=1.2)  # fmt: skip
    return figure


def _group_colours(order: Sequence[str]) -> dict[str, str]:
    return {group: GROUP_COLOURS[i] if i < len(GROUP_COLOURS) else OTHERS for i, group in enumerate(order)}


def _bare(axes: Any) -> None:
    """Remove ticks and grid, because the coordinates of a map have no meaning."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=True, color=LINE)
    axes.set_aspect("equal", adjustable="datalim")


@styled
def close_up_figure(
    showcase: Showcase,
    songs: Sequence[int],
    points: Points,
    region: Region,
    groups: Sequence[str],
    order: Sequence[str],
) -> Figure:
    """Draw one region enlarged, songs labelled "artist – title" where the labels fit.

    Parameters
    ----------
    showcase : Showcase
    songs : sequence of int
        The row in the showcase of each point.
    points : array of shape (n_points, 2)
    region : Region
        Its ``songs`` are indices of points.
    groups, order : sequences of str
        The group of each point; the groups, largest first.
    """
    width, height = CLOSE_UP_INCHES
    figure = Figure(figsize=(width + 0.2, height + 0.2))
    axes = figure.add_axes(
        (0.1 / (width + 0.2), 0.1 / (height + 0.2), width / (width + 0.2), height / (height + 0.2))
    )
    corner = np.array(region.centre) - [region.half_width, region.half_height]
    scale = np.array([width * 72, height * 72]) / [2 * region.half_width, 2 * region.half_height]
    positions = (points[region.songs] - corner) * scale  # in points, 1/72 inch
    colours, size = _group_colours(order), 8.5
    labels = [shortened(showcase.label(songs[i]), 40) for i in region.songs]
    axes.scatter(positions[:, 0], positions[:, 1], s=24, lw=0, color=[colours[groups[i]] for i in region.songs])
    widths = [len(text) * size * 0.6 for text in labels]  # of DejaVu Sans; most other fonts are narrower
    for label in position_labels(positions, widths, size * 1.25, (width * 72, height * 72)):
        if label.leader is not None:
            axes.plot(*zip(*label.leader, strict=True), color=FAINT, lw=0.6, zorder=0.5)
        is_left = label.x + widths[label.song] <= positions[label.song, 0]
        axes.text(label.x + widths[label.song] * is_left, label.y + size * 0.6, labels[label.song], size=size,
                  ha="right" if is_left else "left", va="center")  # fmt: skip
    axes.set_xlim(0, width * 72)
    axes.set_ylim(0, height * 72)
    _bare(axes)
    return figure
