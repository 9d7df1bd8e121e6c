"""The paper's figures: what they show is what the data say."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdmbtl import ContextSpace, Interval, make_selector
from sdmbtl.errors import FigureError
from sdmbtl_lab.benchmarks import BenchmarkResult, illustrated_configurations, simulate
from sdmbtl_lab.benchmarks.result import ProblemResult, RoundsTo, SelectorResult, Statistics
from sdmbtl_lab.figures import benchmark_figures, paper_figures, transfer_figures
from sdmbtl_lab.figures.benchmark_figures import (
    cpu_time_figure,
    distribution_figure,
    round_seconds,
    seeds_and_drawn,
)
from sdmbtl_lab.figures.transfer_figures import (
    mean_transfer,
    mean_transfer_figure,
    synthetic_matrices_figure,
)
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices, load_matrix

GRID = ContextSpace(a=[0.0, 1.0, 2.0], b=[0.0, 1.0, 2.0, 3.0], c=[5.0, 6.0])


def data_set(space, name="mine"):
    returns = np.random.default_rng(0).normal(size=(2, len(space), len(space)))
    own = returns.diagonal(axis1=1, axis2=2).copy()
    card = {"name": name}
    return TransferDataset(TransferMatrices(space, returns), own, np.zeros(own.shape), card=card)


def result(name="mine", **curves):
    """A benchmark with one problem of three rounds; a curve for each selector."""
    selectors = {
        key: SelectorResult(
            at={3: {"final": Statistics(curve[-1], 0.1, curve[-1], 0.1, curve[-1], 0.1)}},
            curve=tuple(curve),
            rounds_to={
                "0.1": RoundsTo(1.0, 2.0, 2.0),
                "0.05": RoundsTo(0.2, 3.0, 3.0 if key == "random" else None),
                "0.02": RoundsTo(0.0),
            },
            strategies={"m-mbtl": (1.0, 0.5, 0.0), "gp-mbtl": (0.0, 0.5, 1.0)}
            if key == "m/gp-mbtl"
            else {},
        )
        for key, curve in curves.items()
    }
    problem = ProblemResult("first", {"data": "first"}, 3, 0.0, 1.0, selectors)
    return BenchmarkResult(name, "data", ("data",), 4, (3,), tuple(selectors), (problem,), {})


MEASURED = result(
    **{
        "random": [0.1, 0.2, 0.3],
        "m/gp-mbtl": [0.2, 0.4, 0.8],
        "myopic-oracle": [0.3, 0.6, 0.9],
    }
)


def test_transfer_by_dimension_is_the_mean_of_pairs_that_differ_in_it_alone():
    dataset = data_set(GRID)
    whole = dataset.returns.mean(axis=0)
    found = mean_transfer(dataset)
    assert {name: matrix.shape for name, matrix in found.items()} == {
        "a": (3, 3),
        "b": (4, 4),
        "c": (2, 2),
    }
    for kept, name in enumerate(GRID.names):
        levels = GRID.dimensions[name].values
        others = [d for d in range(3) if d != kept]
        for row, source in enumerate(levels):
            for column, target in enumerate(levels):
                pairs = [
                    whole[i, j]
                    for i, x in enumerate(GRID.targets)
                    for j, y in enumerate(GRID.targets)
                    if (x[kept], y[kept]) == (source, target) and (x[others] == y[others]).all()
                ]
                assert found[name][row, column] == pytest.approx(np.mean(pairs))


def test_a_list_has_the_whole_matrix_alone():
    listed = data_set(ContextSpace.sample(8, a=Interval(0, 1), b=Interval(0, 1)))
    figures = list(transfer_figures(listed))
    assert [figure.kind for figure in figures if figure.draw] == ["transfer-matrix"]
    assert figures[-1].left_out == "f-g-h-mine (contexts are a list, not a grid)"
    with pytest.raises(FigureError, match=r"'mine' are a list\. Draw the whole matrix"):
        mean_transfer_figure(listed)


def test_a_matrix_is_taken_apart_into_what_it_is_made_of():
    figures = {figure.kind: figure for figure in transfer_figures(data_set(GRID))}
    assert set(figures) == {"transfer-matrix", "transfer-by-dimension", "f-g-h"}
    images = [axes.images[0].get_array() for axes in figures["f-g-h"].draw().axes if axes.images]
    assert len(images) == 4 * GRID.n_dimensions
    whole, f, g, h = images[:4]
    np.testing.assert_allclose(f + g + h + whole.mean(), whole)
    assert (f[:, :1] == f).all()
    assert (g[:1] == g).all()
    assert (h.diagonal() == 0).all()


def test_a_caption_has_the_number_of_the_papers_figure_where_there_is_one():
    captions = {f.kind: f.caption for f in transfer_figures(data_set(GRID, "cartpole"))}
    assert captions["transfer-by-dimension"].endswith("Compare with Figure 6 of the paper.")
    assert all("paper" not in f.caption for f in transfer_figures(data_set(GRID)))


def test_a_name_from_elsewhere_is_no_path():
    names = {f.name for f in transfer_figures(data_set(GRID, "../../etc/x y"))}
    assert {Path(name).name for name in names} == names
    assert all("/" not in name and " " not in name for name in names)


def test_curves_and_scores_are_those_of_the_result():
    figures = {f.kind: f for f in benchmark_figures(MEASURED)}
    assert set(figures) == {"curves", "score", "choices", "policies-to-epsilon", "intervals"}
    lines = {line.get_label(): line for line in figures["curves"].draw().axes[0].lines}
    assert list(lines["m/gp-mbtl"].get_ydata()) == [0.2, 0.4, 0.8]
    (score, *_) = figures["score"].draw().axes[0].lines
    assert score.get_ydata() == pytest.approx([0.5, 0.5, 5 / 6])
    assert len({lines[name].get_color() for name in MEASURED.selectors}) == 3
    assert lines["m/gp-mbtl"].get_color() == score.get_color()


def test_rounds_that_were_not_reached_are_not_drawn():
    figures = {f.kind: f for f in benchmark_figures(MEASURED)}
    axes = figures["policies-to-epsilon"].draw().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.05", "0.1"]
    for name, line in zip(MEASURED.selectors, axes.lines, strict=True):
        first = 3.0 if name == "random" else np.nan
        np.testing.assert_array_equal(line.get_ydata(), [first, 2.0])


def test_problems_without_anything_to_show_are_left_out_and_named():
    (first,) = MEASURED.problems
    never = {"0.1": RoundsTo(0.0)}
    selectors = {
        name: replace(found, rounds_to=never, strategies={})
        for name, found in first.selectors.items()
    }
    other = replace(first, name="other", selectors=selectors, matters=False)
    both = replace(MEASURED, problems=(first, other), least_margin=0.01)
    figures = {figure.kind: figure for figure in benchmark_figures(both)}
    assert {kind for kind, f in figures.items() if f.without} == {
        *("score", "choices", "policies-to-epsilon"),
    }
    for figure in figures.values():
        assert all(axes.has_data() for axes in figure.draw().axes)
    assert "Left out: other (choosing hardly matters)." in figures["score"].caption
    alone = {f.kind: f for f in benchmark_figures(replace(both, problems=(other,)))}
    assert alone["choices"].draw is None
    assert alone["choices"].left_out == "choices-mine (no selector that detects a structure)"


def test_drawn_matrices_are_a_histogram_and_seeds_are_lines():
    returns = np.random.default_rng(0).uniform(0, 1, (3, len(GRID), len(GRID)))
    returns[0, 0, :2] = 0, 1  # so that 0 and 1 are the range already
    own = returns.diagonal(axis1=1, axis2=2).copy()
    dataset = TransferDataset(TransferMatrices(GRID, returns), own, np.zeros(own.shape))
    numbers = {"policies": 4, "matrices": 5}
    real, drawn = seeds_and_drawn(dataset, "m-mbtl", **numbers)
    runs = [simulate(make_selector("m-mbtl", GRID, seed=0), one, 4).curve[-1] for one in returns]
    np.testing.assert_allclose(real, runs)
    assert drawn.shape == (5,)
    assert len(set(drawn)) > 1
    (axes,) = distribution_figure(dataset, "m-mbtl", **numbers).axes
    np.testing.assert_array_equal([line.get_xdata()[0] for line in axes.lines], real)
    assert sum(bar.get_height() for bar in axes.patches) == 5


def test_the_synthetic_matrices_are_those_of_the_configurations():
    problems = illustrated_configurations()
    assert [problem.noise for problem in problems] == [0.0] * 4 + [30.0] * 4
    panels = synthetic_matrices_figure(problems).axes
    for panel, problem in zip(panels, problems, strict=True):
        np.testing.assert_array_equal(panel.images[0].get_array(), problem.matrix(0))
        assert f"f(x) {problem.f.capitalize()}" in panel.get_title()
    assert panels[5].get_title().startswith("noise 30\n")


def test_cpu_time_is_that_of_ask_and_tell(monkeypatch):
    """The clock only moves while the selector works."""
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])

    def slow_selector(name, space, seed):
        selector = make_selector(name, space, seed=seed)
        ask, tell = selector.ask, selector.tell

        def slow(function, seconds):
            def called(*given):
                clock[0] += seconds
                return function(*given)

            return called

        selector.ask, selector.tell = slow(ask, 1.0), slow(tell, 0.5)
        return selector

    monkeypatch.setattr(paper_figures.of_benchmark, "make_selector", slow_selector)
    dataset = load_matrix("bipedal-walker")
    np.testing.assert_array_equal(round_seconds(dataset, "random", 4), [1.5] * 4)
    (panel,) = cpu_time_figure([dataset], ("random", "m-mbtl"), 30).axes
    assert [list(line.get_ydata()) for line in panel.lines] == [[1500.0] * 27] * 2
    assert panel.get_title() == "bipedal-walker, 27 targets"
