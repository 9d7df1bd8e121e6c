"""One figure of a portfolio: which policy serves which context, and how well.

Everything is drawn on figures of its own, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import PortfolioError
from sdmbtl.plots.colours import POLICIES
from sdmbtl.plots.grid_axes import draw_number, draw_outline, levels_of, reaches, span
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.wording import counted

#: No more slices of a grid than this stand side by side.
MOST_SLICES = 4
#: With regions, at most so many of these are for specialists; the others lie evenly.
MOST_OF_SPECIALISTS = 2
#: How much of its colour a target keeps that no policy solves.
PALEST = 0.12
SLICE, CURVE, HEIGHT = 2.3, 3.3, 3.5

Floats = NDArray[np.float64]


def portfolio_figure(portfolio: Portfolio) -> Figure:
    """Draw a portfolio whose targets are a grid of two dimensions or more.

    Slices along the first dimension, through the sources of the policies that serve most targets,
    show the next two, the others at the middle of their values. The colour says which policy
    serves a target, a pale one that it does not do well there. Stars are the contexts and boxes
    the regions that these policies were trained on; those of the whole space are named below.
    Beside them, the coverage with the first policies, by environment steps where they are known.

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
    for member in _used(portfolio):
        if member.source.is_point:
            _draw_star(maps, slices, portfolio, member)
        elif not space.is_whole(member.source):
            _draw_region(maps, slices, portfolio, member)
    _draw_legend(figure, portfolio)
    _draw_curve(curve, portfolio)
    return figure


def _slices(portfolio: Portfolio) -> list[int]:
    """Which values of the first dimension are shown; with two dimensions there is one slice.

    First those of the points or of the specialists that serve most targets, then others as far
    from all these as possible.
    """
    space = portfolio.space
    if space.n_dimensions == 2:
        return [0]
    specialists = [m for m in _used(portfolio) if not space.is_whole(m.source)]
    most = MOST_SLICES if all(m.source.is_point for m in portfolio) else MOST_OF_SPECIALISTS
    chosen = list(dict.fromkeys(_place(space, member)[0] for member in specialists))[:most]
    rest = np.setdiff1d(np.arange(space.shape[0]), chosen)
    while len(rest) and len(chosen) < MOST_SLICES:
        # Nothing is far from nothing: the first slice of all is the lowest.
        away = np.abs(rest[:, None] - np.array(chosen)).min(axis=1, initial=space.shape[0])
        chosen.append(int(rest[away.argmax()]))
        rest = np.setdiff1d(rest, chosen)
    return sorted(chosen)


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
    levels, names = levels_of(space), space.names
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


def _draw_star(maps: list[Axes], slices: list[int], portfolio: Portfolio, member: Member) -> None:
    """A star and a number where a policy was trained on one context, if its slice is shown."""
    space = portfolio.space
    place = _place(space, member)
    shown, across, up = (0, *place) if space.n_dimensions == 2 else place[:3]
    if shown not in slices:
        return
    axes, colour = maps[slices.index(shown)], _colour(portfolio, member.id)
    axes.plot(across, up, "*", ms=14, mfc=colour, mec="black", mew=1.1)
    is_last = across == axes.images[0].get_size()[1] - 1
    draw_number(axes, member.id, (across, up), (-7 - 6 * len(str(member.id)) if is_last else 6, 4))


def _draw_region(maps: list[Axes], slices: list[int], portfolio: Portfolio, member: Member) -> None:
    """The outline of a region in each slice that it reaches, with the number of its policy."""
    space = portfolio.space
    across, up = (0, 1) if space.n_dimensions == 2 else (1, 2)
    spans = [span(space, member.source, d) for d in (across, up)]
    colour = _colour(portfolio, member.id)
    # Further dimensions are at their middle, as in the picture.
    middle = {d: space.shape[d] // 2 for d in range(3, space.n_dimensions)}
    for axes, index in zip(maps, slices, strict=True):
        places = {} if space.n_dimensions == 2 else {0: index, **middle}
        if reaches(space, member.source, places):
            draw_outline(axes, spans[0], spans[1], colour, member.id)


def _draw_legend(figure: Figure, portfolio: Portfolio) -> None:
    """Below the maps: which policies were trained on the whole space, and what a box is."""
    used, space = _used(portfolio), portfolio.space
    ids = sorted(m.id for m in used if space.is_whole(m.source))
    entries: dict[str, Any] = {}
    # Handles are equally long; one mark stands at the end of its own, beside the text.
    gap = [Patch(alpha=0.0)] * (len(ids) - 1)
    if ids:
        patches = tuple(Patch(fc=_colour(portfolio, i), ec="black", lw=0.6) for i in ids)
        entries[f"{', '.join(map(str, ids))}: whole space"] = patches
    if any(not m.source.is_point and m.id not in ids for m in used):
        entries["trained on this region"] = (*gap, Patch(fill=False, ec="black", lw=1.8))
    if entries and any(m.source.is_point for m in used):
        star = {"ls": "", "marker": "*", "ms": 11, "mfc": "white", "mec": "black"}
        entries["trained on this context"] = (*gap, Line2D([], [], **star))  # type: ignore[arg-type]
    if not entries:
        return
    figure.legend(
        list(entries.values()),
        list(entries),
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.3)},
        handlelength=1.3 * max(len(ids), 1),
        ncols=len(entries),
        loc="outside lower left",
        fontsize=9,
        frameon=False,
    )


def _draw_curve(axes: Axes, portfolio: Portfolio) -> None:
    """Coverage with the first policies, as measured."""
    best = np.fmax.accumulate(portfolio.means, axis=0)
    shares = np.nanmean(_normalised(portfolio, best), axis=1)
    whole = np.array([portfolio.space.is_whole(m.source) for m in portfolio])
    steps = _steps(portfolio)
    at = np.arange(1, len(best) + 1) if steps is None else np.cumsum(steps) / 1000
    axes.plot(at, shares, "-", color="black", lw=1.2)
    if whole.any():
        axes.plot(at[whole], shares[whole], "s", ms=5, mfc="black", mec="black", label="generalist")
        others = axes.plot(at[~whole], shares[~whole], "o", ms=5, mfc="white", mec="black")
        others[0].set_label("specialist")
        axes.legend(loc="lower right", fontsize=8, frameon=False)
    else:
        axes.plot(at, shares, "o", color="black", ms=3.5)
    axes.set_ylim(_lower_limit(float(np.nanmin(shares))), None)
    axes.set_ylim(top=1 + 0.03 * (1 - axes.get_ylim()[0]))
    if steps is not None:
        axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    unit = "policies" if steps is None else "environment steps (thousands)"
    axes.set_xlabel(unit, fontsize=9)
    axes.set_title(f"coverage of all {len(portfolio.space)} contexts", fontsize=10)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)


def _steps(portfolio: Portfolio) -> list[int] | None:
    """Environment steps of each policy; None if they do not say what all of them took.

    They do not where the steps of one are not known, nor where a parent was left out.
    """
    sources = [m.source for m in portfolio]
    ids = {None, *(m.id for m in portfolio)}
    steps = [s.steps for s in sources if s.steps is not None]
    complete = len(steps) == len(sources) and all(s.parent in ids for s in sources)
    return steps if complete else None


def _lower_limit(lowest: float) -> float:
    """Where the axis of shares begins: at 0, or a little below if all are above a half."""
    return 0.0 if lowest <= 0.5 else float(np.floor((lowest - 0.02) * 20) / 20)
