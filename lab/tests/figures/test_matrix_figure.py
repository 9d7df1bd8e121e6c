"""The figure of a matrix: what it shows, and that it can be read."""

import functools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from sdmbtl import ContextSpace, Interval
from sdmbtl_lab.figures import matrix_figure
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.anatomy import anatomy

CUBE = ContextSpace(length=[0.05, 0.0965, 5.0], masscart=[0.1, 0.193, 10.0, 11.0], g=[1.0, 2.0])
SPACES = {
    "cube": CUBE,
    "square": ContextSpace(a=range(5), b=range(4)),
    "line": ContextSpace(a=range(5)),
    "7 slices": ContextSpace(length=range(7), masspole=range(7), masscart=0.0123 * np.arange(1, 8)),
    "5d": ContextSpace(**{f"dimension_{d}": [0.123, 4.56] for d in range(5)}),
    "list": ContextSpace.sample(20, length=Interval(0.1, 9), mass=Interval(0.1, 10, "log")),
}


def made(space, seeds=2):
    rng = np.random.default_rng(0)
    units = space.unit_targets
    distances = np.abs(units[:, None] - units).sum(axis=2)
    returns = 3 * rng.normal(size=(seeds, len(space), 1)) - 10 * distances + units[:, 0]
    return TransferDataset(
        TransferMatrices(space, returns),
        returns.diagonal(axis1=1, axis2=2).copy(),
        np.zeros(returns.shape[:2]),
        {3: returns.mean(axis=1), 50: returns.mean(axis=1)},
        {"name": "made-up"},
    )


@functools.cache
def drawn(space, seeds=2):
    dataset = made(space, seeds)
    found = anatomy(dataset)
    return matrix_figure(dataset, found), found


def panels(figure, title=None):
    """All panels, or those of the part with this title."""
    for part in figure.subfigs:
        heading = part._suptitle.get_text() if part._suptitle else ""
        if title is None or heading.startswith(title):
            yield from part.axes


def line(panel, label):
    (found,) = [one for one in panel.lines if one.get_label() == label]
    return found.get_xydata()


def titled(figure, start):
    (panel,) = [p for p in panels(figure) if p.get_title(loc="left").startswith(start)]
    return panel


def shown_texts(figure):
    """Every text that can be seen, with its box on the canvas."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    # Beyond the ends of an axis there are ticks that are never drawn.
    hidden = {
        id(label)
        for panel in panels(figure)
        for axis in (panel.xaxis, panel.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not within(tick.get_loc(), *axis.get_view_interval())
    }
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            yield text.get_text(), text.get_window_extent(renderer)


def within(value, one, other):
    return min(one, other) - 1e-9 <= value <= max(one, other) + 1e-9


@pytest.mark.parametrize(
    "name",
    [
        "cube",
        "line",
        *(pytest.param(n, marks=pytest.mark.slow) for n in SPACES if n not in ("cube", "line")),
    ],
)
def test_no_text_covers_another_or_leaves_the_canvas(name):
    figure, _ = drawn(SPACES[name], seeds=1 if name == "5d" else 2)
    width, height = figure.get_size_inches() * figure.dpi
    boxes = list(shown_texts(figure))
    assert len(boxes) > 20
    for number, (text, box) in enumerate(boxes):
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0, text
        for other_text, other in boxes[:number]:
            assert not box.padded(-0.5).overlaps(other), (text, other_text)


def test_slices_of_a_grid():
    figure, found = drawn(CUBE)
    for title, effect in (("Policies", found.quality), ("Targets", found.difficulty)):
        first, second = [p for p in panels(figure, title) if p.images]
        values = (effect.values + found.few_policies.random[0]).reshape(3, 4, 2)
        assert first.get_title() == "g = 1"
        assert second.get_title() == "g = 2"
        assert np.allclose(first.images[0].get_array(), values[:, :, 0])
        assert np.allclose(second.images[0].get_array(), values[:, :, 1])
        assert first.images[0].get_clim() == second.images[0].get_clim()
        assert first.get_ylabel() == "length"
        assert [t.get_text() for t in first.get_xticklabels()] == ["0.1", "11"]
        assert [t.get_text() for t in first.get_yticklabels()] == ["0.05", "5"]


@pytest.mark.parametrize("name", ["line", "5d", "list"])
def test_lines_where_there_are_no_maps(name):
    space = SPACES[name]
    figure, found = drawn(space)
    for title, effect in (("Policies", found.quality), ("Targets", found.difficulty)):
        for panel, main in zip(panels(figure, title), effect.main_effects, strict=True):
            points = panel.lines[0].get_xydata()
            unit = space.dimensions[main.name].to_unit(main.values)
            assert np.allclose(points[:, 0], unit)
            assert np.allclose(points[:, 1], main.means + found.few_policies.random[0])
            scale = " (log)" if main.name == "mass" else ""
            assert panel.get_xlabel() == f"{main.name}{scale}"


def test_run_variance():
    figure, found = drawn(CUBE)
    panel = titled(figure, "Run to run")
    returns = made(CUBE).returns
    scaled = (returns - found.size.lowest) / (found.size.highest - found.size.lowest)
    assert np.allclose(panel.lines[1].get_xydata(), scaled.mean(axis=2).T)
    assert panel.texts[0].get_text() == f"correlation {found.run_variance.row_correlation:.2f}"
    alone = titled(drawn(CUBE, seeds=1)[0], "Run to run")
    assert alone.texts[0].get_text() == "one seed:\nnothing to compare"
    assert not alone.lines
