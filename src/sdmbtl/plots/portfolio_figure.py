"""One figure of a portfolio: which policy serves which context, and how well.

Everything is drawn on figures of its own, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

from math import prod

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.errors import PortfolioError
from sdmbtl.plots.colours import POLICIES
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.wording import counted

#: No more slices of a grid than this stand side by side.
MOST_SLICES = 4
#: How much of its colour a target keeps that no policy solves.
PALEST = 0.12
SLICE, CURVE, HEIGHT = 2.3, 3.3, 3.5

Floats = NDArray[np.float64]


def portfolio_figure(portfolio: Portfolio) -> Figure:
    """Draw a portfolio whose targets are a grid of two dimensions or more.

    Slices along the first dimension, through the sources of the policies that serve most targets,
    show the next two, the others at the middle of their values. The colour says which policy
    serves a target, a pale one that it does not do well there; stars are the contexts that these
    policies were trained on. Beside them, the coverage with the first policies.

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
    slices = _slices(portfolio)
    figure = Figure(figsize=(SLICE * len(slices) + CURVE, HEIGHT), layout="constrained")
    *maps, curve = figure.subplots(
        1, len(slices) + 1, width_ratios=[SLICE] * len(slices) + [CURVE], squeeze=False
    ).ravel()
    picture = _picture(portfolio)
    for axes, index in zip(maps, slices, strict=True):
        _draw_slice(axes, space, picture[index], index, is_first=axes is maps[0])
    _draw_sources(maps, slices, portfolio)
    _draw_curve(curve, portfolio)
    return figure


def _levels(space: ContextSpace) -> list[Floats]:
    return [d.values for d in space.dimensions.values() if isinstance(d, Levels)]


def _slices(portfolio: Portfolio) -> list[int]:
    """Which values of the first dimension are shown; with two dimensions there is one slice.

    First those of the policies that serve most targets, then others that lie evenly.
    """
    space = portfolio.space
    if space.n_dimensions == 2:
        return [0]
    count = space.shape[0]
    even = np.linspace(0, count - 1, min(count, MOST_SLICES)).round().astype(int).tolist()
    of_sources = [_place(space, member)[0] for member in _used(portfolio)]
    return sorted(list(dict.fromkeys([*of_sources, *even]))[:MOST_SLICES])


def _used(portfolio: Portfolio) -> list[Member]:
    """The policies that serve a target, those that serve most first."""
    served = {m.id: int((portfolio.best_policies == m.id).sum()) for m in portfolio}
    return sorted((m for m in portfolio if served[m.id]), key=lambda m: -served[m.id])


def _place(space: ContextSpace, member: Member) -> tuple[int, ...]:
    """Indices of the target nearest to where a policy was trained, one for each dimension."""
    return tuple(int(i) for i in np.unravel_index(space.nearest(member.context), space.shape))


def _picture(portfolio: Portfolio) -> NDArray[np.float64]:
    """(slices, columns, rows, 3) colours of the targets, further dimensions at their middle."""
    space = portfolio.space
    shares = _normalised(portfolio, portfolio.expected_returns)
    strength = np.clip(PALEST + (1 - PALEST) * shares, 0.0, 1.0)
    colours = np.ones((len(space), 3))
    for member in _used(portfolio):
        served = portfolio.best_policies == member.id
        white = 1 - np.array(to_rgb(_colour(portfolio, member.id)))
        colours[served] = 1 - strength[served, None] * white
    shape = space.shape if space.n_dimensions > 2 else (1, *space.shape)
    grid = colours.reshape(*shape[:3], prod(shape[3:]), 3)
    middle = np.ravel_multi_index([n // 2 for n in shape[3:]], shape[3:]) if shape[3:] else 0
    return np.asarray(grid[:, :, :, middle])


def _normalised(portfolio: Portfolio, returns: Floats) -> Floats:
    """Returns as a share of the known range, or of the range seen."""
    known = portfolio.return_range
    low, high = known or (float(np.nanmin(returns)), float(np.nanmax(returns)))
    return np.nan_to_num((returns - low) / ((high - low) or 1.0))


def _colour(portfolio: Portfolio, member: int) -> str:
    """Policies that serve most targets get the colours that differ most."""
    order = [m.id for m in _used(portfolio)]
    return POLICIES[order.index(member) % len(POLICIES)]


def _draw_slice(
    axes: Axes, space: ContextSpace, picture: Floats, index: int, *, is_first: bool
) -> None:
    levels, names = _levels(space), space.names
    across, up = (0, 1) if space.n_dimensions == 2 else (1, 2)
    axes.imshow(picture.transpose(1, 0, 2), origin="lower", aspect="auto")
    if space.n_dimensions > 2:
        axes.set_title(f"{names[0]} {levels[0][index]:.3g}", fontsize=10)
    axes.set_xlabel(names[across], fontsize=9)
    axes.set_xticks([0, len(levels[across]) - 1], [f"{levels[across][i]:.3g}" for i in (0, -1)])
    axes.set_yticks([0, len(levels[up]) - 1], [f"{levels[up][i]:.3g}" for i in (0, -1)])
    if is_first:
        axes.set_ylabel(names[up], fontsize=9, labelpad=-8)
    else:
        axes.set_yticklabels([])
    axes.tick_params(labelsize=8)


def _draw_sources(maps: list[Axes], slices: list[int], portfolio: Portfolio) -> None:
    """A star for each policy that serves a target and was trained in a slice, with its number."""
    space = portfolio.space
    across, up = (0, 1) if space.n_dimensions == 2 else (1, 2)
    for member in _used(portfolio):
        place = _place(space, member)
        if space.n_dimensions > 2 and place[0] not in slices:
            continue
        axes = maps[slices.index(place[0])] if space.n_dimensions > 2 else maps[0]
        colour = _colour(portfolio, member.id)
        axes.plot(place[across], place[up], "*", ms=14, mfc=colour, mec="black", mew=1.1)
        axes.annotate(
            str(member.id),
            (place[across], place[up]),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold",
        )


def _draw_curve(axes: Axes, portfolio: Portfolio) -> None:
    """Coverage with the first policies, as measured."""
    best = np.fmax.accumulate(portfolio.means, axis=0)
    shares = np.nanmean(_normalised(portfolio, best), axis=1)
    axes.plot(np.arange(1, len(best) + 1), shares, "-o", color="black", ms=3.5)
    axes.set_ylim(0, 1.03)
    axes.set_xticks([1, *range(4, len(best) + 1, 4)])
    axes.set_xlabel("policies", fontsize=9)
    axes.set_title(f"coverage of all {len(portfolio.space)} contexts", fontsize=10)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)
