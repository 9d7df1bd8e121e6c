"""Coverage of several methods against what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from sdmbtl.palette import LINES
from sdmbtl.plots.files import count_policies, count_steps, label_ends, new_figure, plain
from sdmbtl.plots.space_map import without_mathematics
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.studies.comparison import Comparison

SIZE = (7.0, 4.4)


def draw_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw a line for each method, with bands of 95 % where it has several seeds."""
    axes = new_figure(SIZE).subplots() if ax is None else ax
    unit, ends = 100 if comparison.is_share else 1, []
    for number, method in enumerate(comparison.methods):
        colour = LINES[number % len(LINES)]
        end = min(costs[-1] for costs, _ in method.curves)
        begin = max(costs[0] for costs, _ in method.curves)
        costs = np.unique(np.concatenate([costs for costs, _ in method.curves]))
        costs = costs[(costs >= begin) & (costs <= end)]
        means, widths = unit * np.array([method.at(cost) for cost in costs]).T
        axes.step(costs, means, ".-", where="post", color=colour, lw=2)
        ends.append((without_mathematics(method.name), costs[-1], means[-1], colour))
        if np.isfinite(widths).all():
            low, high = means - widths, means + widths
            axes.fill_between(costs, low, high, step="post", color=colour, alpha=0.15, lw=0)
    (count_steps if comparison.unit == "steps" else count_policies)(axes)
    axes.set_ylabel("coverage (%)" if comparison.is_share else "mean return")
    title = comparison.leads()[:1] or [counted(comparison.targets, "task")]
    axes.set_title(without_mathematics(title[0]), fontsize=10)
    label_ends(axes, ends)
    return plain(axes)
