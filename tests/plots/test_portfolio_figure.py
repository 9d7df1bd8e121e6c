"""The figure of a portfolio."""

import numpy as np
import pytest

from sdmbtl import ContextSpace, Interval
from sdmbtl.contexts import Source
from sdmbtl.errors import PortfolioError
from sdmbtl.plots import portfolio_figure
from sdmbtl.portfolio import Member, Portfolio


def portfolio(space, sources=(0, -1)):
    """Policies that are good near their sources, over returns from 0 to 10."""
    members = []
    for number, source in enumerate(sources):
        distance = np.abs(space.unit_targets - space.unit_targets[source]).sum(axis=1)
        returns = np.maximum(10 - 8 * distance, 0.0)[:, None]
        members.append(Member(number, space.context(space.targets[source]), None, returns))
    return Portfolio(space, members, return_range=(0.0, 10.0))


@pytest.mark.parametrize(
    ("space", "slices"),
    [
        (ContextSpace(a=range(5), b=range(4)), 1),
        (ContextSpace(a=range(3), b=range(4), c=range(5)), 3),
        (ContextSpace(a=range(9), b=range(4), c=range(5)), 4),
        (ContextSpace(a=range(3), b=range(4), c=range(5), d=range(3), e=range(2)), 3),
    ],
)
def test_slices_and_a_curve(space, slices):
    figure = portfolio_figure(portfolio(space))
    *maps, curve = figure.axes
    assert len(maps) == slices
    stars = 2 if space.n_dimensions <= 3 else 0  # which are not at the middle of the others
    assert sum(len(axes.lines) for axes in maps) == stars
    across = 0 if space.n_dimensions == 2 else 1
    assert maps[0].images[0].get_array().shape[:2] == space.shape[across : across + 2][::-1]
    assert curve.lines[0].get_ydata()[-1] == pytest.approx(portfolio(space).mean_return * 10)


def test_one_policy_alone():
    *_, curve = portfolio_figure(portfolio(ContextSpace(a=range(5), b=range(4)), (0,))).axes
    low, high = curve.get_xlim()
    assert [tick for tick in curve.get_xticks() if low <= tick <= high] == [1]


GRID = ContextSpace(a=range(9), b=range(5), c=range(5))


def of_sources(space, *sources):
    """Policies that are good where they were trained; the first one everywhere a little."""
    members = []
    for number, source in enumerate(sources):
        returns = np.where(space.targets_in(source), 6.0 + number, 1.0)[:, None]
        context = space.context(source.vector)
        members.append(Member(number, context, None, returns, source))
    return Portfolio(space, members, return_range=(0.0, 10.0))


def shown(figure):
    """For each slice its title, and the numbers and outlines in it."""
    *maps, _ = figure.axes
    return {
        axes.get_title(): (
            [text.get_text() for text in axes.texts],
            [patch for patch in axes.patches if not patch.get_hatch()],
        )
        for axes in maps
    }


def test_a_region_is_drawn_in_the_slices_that_it_reaches():
    wide = Source.at([2.0, 2.0, 0.0], width=0.5, parent=0, steps=50)
    figure = portfolio_figure(of_sources(GRID, GRID.whole(steps=100), wide))
    found = shown(figure)
    # It reaches from 0 to 4.
    assert {title: numbers for title, (numbers, _) in found.items()} == {
        "a 0": ["1"],
        "a 3": ["1"],
        "a 5": [],
        "a 8": [],
    }
    (outline,) = found["a 3"][1]
    assert (outline.get_x(), outline.get_width()) == (1.0, 2.0), "levels are cells"
    assert outline.get_y() == pytest.approx(-0.44), "the edge of the map"
    assert outline.get_y() + outline.get_height() == 1.0
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["policy 0", "policy 1", "badly covered"]
    curve = figure.axes[-1]
    kinds = [text.get_text() for text in curve.get_legend().get_texts()]
    assert kinds == ["generalist", "specialist"]
    assert curve.lines[1].get_marker() != curve.lines[2].get_marker()


def test_a_region_between_two_levels_is_in_the_nearest_slice():
    narrow = Source.at([2.6, 2.0, 2.0], width=0.05, parent=0)
    found = shown(portfolio_figure(of_sources(GRID, GRID.whole(), narrow)))
    assert [title for title, (numbers, _) in found.items() if numbers] == ["a 3"]


def test_a_region_beside_the_middle_of_further_dimensions_is_not_drawn():
    space = ContextSpace(a=range(3), b=range(3), c=range(3), d=range(5))
    beside = Source.at([1.0, 1.0, 1.0, 0.0], width=0.5)
    through = Source.at([1.0, 1.0, 1.0, 2.0], width=0.5)
    for source, slices in ((beside, []), (through, ["a 1"])):
        found = shown(portfolio_figure(of_sources(space, space.whole(), source)))
        assert [title for title, (numbers, _) in found.items() if numbers] == slices


@pytest.mark.parametrize(
    "space", [ContextSpace(a=range(5)), ContextSpace.sample(9, a=Interval(0, 1), b=Interval(0, 1))]
)
def test_what_cannot_be_drawn(space):
    with pytest.raises(PortfolioError, match="a grid of two dimensions or more"):
        portfolio_figure(portfolio(space))
