"""The figure of a portfolio."""

import numpy as np
import pytest
from PIL import Image

from sdmbtl import ContextSpace, Interval
from sdmbtl.errors import PortfolioError
from sdmbtl.plots import portfolio_figure, save_figure
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
    assert sum(len(axes.lines) for axes in maps) == 2, "a star for each policy"
    across = 0 if space.n_dimensions == 2 else 1
    assert maps[0].images[0].get_array().shape[:2] == space.shape[across : across + 2][::-1]
    assert curve.lines[0].get_ydata()[-1] == pytest.approx(
        np.max([m.returns[:, 0] for m in portfolio(space)], axis=0).mean() / 10
    )


def test_colours_say_who_serves_and_how_well():
    space = ContextSpace(a=range(5), b=range(4))
    picture = portfolio_figure(portfolio(space)).axes[0].images[0].get_array()
    ends = picture[0, 0], picture[-1, -1]
    assert not np.allclose(*ends), "two policies, two colours"
    middle = picture[1, 2]
    assert middle.mean() > max(end.mean() for end in ends), "paler where nobody does well"


def test_the_file_keeps_the_colours(tmp_path):
    space = ContextSpace(a=range(5), b=range(4), c=range(3))
    save_figure(portfolio_figure(portfolio(space)), tmp_path / "a.png", reduced=False)
    save_figure(portfolio_figure(portfolio(space)), tmp_path / "b.png", reduced=False)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        found = {colour for _, colour in image.convert("RGB").getcolors(10_000)}
    assert {(0, 114, 178), (230, 159, 0)} <= found


@pytest.mark.parametrize(
    "space", [ContextSpace(a=range(5)), ContextSpace.sample(9, a=Interval(0, 1), b=Interval(0, 1))]
)
def test_what_cannot_be_drawn(space):
    with pytest.raises(PortfolioError, match="a grid of two dimensions or more"):
        portfolio_figure(portfolio(space))
