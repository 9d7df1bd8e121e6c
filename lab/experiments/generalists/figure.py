"""Coverage against total steps as one figure: a panel for each data set."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from generalists.comparison import OURS, Comparison
from sdmbtl.palette import BLUE, LIGHT, ORANGE

COLUMNS = 3
SIZE = (10.0, 6.4)
SMALL = 9
#: Colour, line and mark of each method: one colour for each kind, ours the strongest.
STYLES = {
    OURS: (ORANGE, "-", "o"),
    "generalist": (BLUE, "-", "s"),
    "prioritised": (BLUE, "--", "D"),
    "multi-task": (BLUE, ":", "v"),
}
#: Share of their colour that the baselines keep.
MUTED = 0.55
#: Share of a panel's height below the lowest of the methods that count, for those that fall off.
FALLING = 0.6


def coverage_figure(comparison: Comparison) -> Figure:
    """Draw the coverage of every method against the total steps.

    Args:
        comparison: The measurements.

    Returns:
        A panel for each data set with all marks. Bands are 95 % intervals over seeds, of ours and
        of the generalist; what is far below these at the beginning leaves the panel.
    """
    shown = [d for d in comparison.data if comparison.end(d) == comparison.marks[-1]]
    rows = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(SIZE[0], SIZE[1] * (rows + 0.4) / 2.4), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, data in zip(panels, shown, strict=False):
        _draw(panel, comparison, data)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    figure.supxlabel(
        "all environment steps (1 = one policy at its usual length)", fontsize=SMALL + 1
    )
    figure.supylabel("coverage of all targets, new episodes", fontsize=SMALL + 1)
    _draw_legend(figure, panels[0])
    return figure


def _draw_legend(figure: Figure, panel: Axes) -> None:
    """One legend for all panels: ours, then a column for each kind of baseline."""
    lines, names = panel.get_legend_handles_labels()
    handles = dict(zip(names, lines, strict=True))
    order = [name for name in STYLES if name in handles]
    shown = [(handles[name], f"{name} (ours)" if name == OURS else name) for name in order]
    if OURS in handles and len(order) == len(STYLES):
        shown[1:1] = [(Line2D([], [], lw=0), "")] * 2
    legend = figure.legend(
        *zip(*shown, strict=True),
        loc="outside upper center",
        ncols=4,
        fontsize=SMALL,
        frameon=False,
        handlelength=2.6,
        columnspacing=3.0,
    )
    for text in legend.get_texts():
        text.set_fontweight("bold" if text.get_text().startswith(f"{OURS} ") else "normal")


def _draw(panel: Axes, comparison: Comparison, data: str) -> None:
    """One data set: ours on top, baselines pale."""
    for name in reversed(comparison.methods(data)):
        found = {mark: comparison.estimate(data, name, mark) for mark in comparison.marks}
        marks = [mark for mark, estimate in found.items() if estimate is not None]
        means = np.array([e.mean for e in found.values() if e is not None])
        widths = np.nan_to_num([e.half_width for e in found.values() if e is not None])
        colour, line, mark = STYLES[name]
        ours = name == OURS
        panel.plot(
            marks,
            means,
            line,
            marker=mark,
            color=colour,
            alpha=1.0 if ours else MUTED,
            lw=2.6 if ours else 1.2,
            ms=5 if ours else 3,
            zorder=3 if ours else 2,
            label=name,
        )
        if ours or name == "generalist":
            panel.fill_between(
                marks, means - widths, means + widths, color=colour, alpha=0.18, lw=0, zorder=1
            )
    panel.set_title(data, fontsize=SMALL + 1, loc="left")
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(FixedLocator(comparison.marks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([str(mark) for mark in comparison.marks])
    panel.set_ylim(*limits(comparison, data))
    panel.yaxis.set_major_locator(MaxNLocator(5))
    panel.grid(axis="y", color=LIGHT, lw=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=SMALL - 1)


def limits(comparison: Comparison, data: str) -> tuple[float, float]:
    """Ends of a panel: all of ours and of the generalist, and what others reach later on."""
    marks = comparison.marks
    means = {
        (name, mark): estimate.mean
        for name in comparison.methods(data)
        for mark in marks
        if (estimate := comparison.estimate(data, name, mark)) is not None
    }
    highest = max(means.values())
    core = [m for (name, _), m in means.items() if name in (OURS, "generalist")]
    later = [m for (_, mark), m in means.items() if mark >= marks[len(marks) // 2]]
    lowest = min([*core, float(np.median(later))])
    return lowest - FALLING * (highest - lowest) / 2, highest + 0.12 * (highest - lowest)
