"""One figure of a portfolio: the best policy for each context, and the coverage.

Everything is drawn on new figures, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sdmbtl.errors import PortfolioError
from sdmbtl.palette import policy_colour
from sdmbtl.plots.files import draw_levels
from sdmbtl.plots.space_map import SpaceMap
from sdmbtl.portfolio import Portfolio
from sdmbtl.transfer import coverage_of, mean_of
from sdmbtl.transfer.gaps import find_gaps
from sdmbtl.wording import counted

#: At most this many slices of a grid stand side by side.
MOST_SLICES = 4
#: At most this many policies in the legend.
MOST_NAMED = 8
SLICE, CURVE, HEIGHT = 2.3, 3.3, 3.5


def portfolio_figure(portfolio: Portfolio) -> Figure:
    """Draw a portfolio whose targets are a grid of two dimensions or more.

    Even slices along the first dimension show the next two, the others at the middle of their
    values. The colour is the policy that serves a target; badly covered targets are hatched. Stars
    are the contexts and boxes the regions that these policies were trained on. Next to them, the
    coverage with the first policies, or their mean return.

    Args:
        portfolio: The portfolio.

    Raises:
        PortfolioError: If the targets are not such a grid.
    """
    space = portfolio.space
    if not space.is_grid or space.n_dimensions < 2:
        raise PortfolioError(
            "A portfolio is drawn over a grid of two dimensions or more. "
            f"Got {len(space)} targets in {counted(space.n_dimensions, 'dimension')}."
        )
    expected = portfolio.expected_returns
    weights = portfolio.space.weights
    covered = coverage_of(expected, portfolio.means, portfolio.return_range, weights)
    gaps = find_gaps(space, expected, None if covered is None else covered.returns)
    low = np.zeros(len(space), bool) if gaps.limit is None else expected < gaps.limit
    sources = {member.id: member.source for member in portfolio}
    found = SpaceMap(space, portfolio.best_policies, low, sources)
    slices: list[int | None] = [None]
    if space.n_dimensions > 2:
        even = np.linspace(0, space.shape[0] - 1, MOST_SLICES).round().astype(int)
        slices = np.unique(even).tolist()
    figure = Figure(figsize=(SLICE * len(slices) + CURVE, HEIGHT), layout="constrained")
    *maps, curve = figure.subplots(
        1, len(slices) + 1, width_ratios=[SLICE] * len(slices) + [CURVE], squeeze=False
    ).ravel()
    across, up = (0, 1) if space.n_dimensions == 2 else (1, 2)
    middle = {d: space.shape[d] // 2 for d in range(3, space.n_dimensions)}
    for axes, level in zip(maps, slices, strict=True):
        found.draw_slice(axes, across, up, {} if level is None else {0: level, **middle})
        axes.tick_params(labelsize=8)
        axes.set_title("" if level is None else axes.get_title().split(",")[0], fontsize=10)
        for set_ticks, size in ((axes.set_xticks, across), (axes.set_yticks, up)):
            ends = sorted({0, space.shape[size] - 1})
            set_ticks(ends, [f"{found.levels[size][i]:.3g}" for i in ends])
        if axes is not maps[0]:
            axes.set_ylabel("")
            axes.set_yticklabels([])
    _draw_legend(figure, found)
    _draw_curve(curve, portfolio)
    return figure


def _draw_legend(figure: Figure, found: SpaceMap) -> None:
    """Name the policies that serve most tasks below the maps."""
    most = sorted(list(found.served)[:MOST_NAMED])
    patches = [Patch(fc=policy_colour(n), ec="black", lw=0.6, label=f"policy {n}") for n in most]
    patches += [Patch(fill=False, hatch="////", ec="grey", label="badly covered")]
    figure.legend(
        handles=patches,
        ncols=len(patches),
        loc="outside lower left",
        fontsize=8,
        frameon=False,
    )


def _draw_curve(axes: Axes, portfolio: Portfolio) -> None:
    """Draw the coverage to be expected with the first policies, or the mean return."""
    curve = np.fmax.accumulate(portfolio.means, axis=0)
    means = [mean_of(best, portfolio.space.weights) for best in curve]
    shares = [share for mean in means if (share := portfolio.share(mean)) is not None]
    whole = np.array([portfolio.space.is_whole(m.source) for m in portfolio])
    draw_levels(axes, np.array(shares or means), whole, is_share=bool(shares))
    axes.set_ylabel("expected coverage (%)" if shares else "expected mean return")
