"""Figures of a benchmark as in the paper: curves, scores, choices and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from sdmbtl.errors import FigureError
from sdmbtl.palette import LINES
from sdmbtl_lab.benchmarks.columns import RANDOM, without_baselines

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.measures import CpuTime, Distribution
    from sdmbtl_lab.benchmarks.result import BenchmarkResult, ProblemResult

#: Panels side by side, at most, and their size in inches.
COLUMNS, WIDTH, HEIGHT = 4, 3.1, 2.5
SMALL = 8
#: Names with the same colour in every figure; other names get the remaining colours.
COLOURED = (
    *("m/gp-mbtl", "gp-mbtl", "m-mbtl", "m+random", "gp+random", "random", "predictive"),
    *("myopic-oracle", "sequential-oracle", "independent", "multi-task"),
)
#: The statistics that intervals are shown of.
STATISTICS = ("mean", "median", "iqm")


def curves_figure(result: BenchmarkResult) -> Figure:
    """Draw performance against the number of policies: a panel for each problem."""
    names = [n for n in result.selectors if any(p.of(n).curve for p in result.problems)]
    colours = _colours(names)

    def draw(panel: Axes, number: int) -> None:
        problem = result.problems[number]
        for name in names:
            if problem.of(name).curve:
                widths = _half_widths(problem, name)
                _band(panel, problem.of(name).curve, widths, colours[name], name)
        panel.set_xlabel("policies", fontsize=SMALL)

    figure = _panels([problem.name for problem in result.problems], draw)
    figure.supylabel("performance", fontsize=SMALL + 1)
    return figure


def _half_widths(problem: ProblemResult, selector: str) -> dict[int, float]:
    """Return number of policies -> half the width of the 95 % interval, where known."""
    by_round = problem.of(selector).half_widths
    if by_round:
        return dict(enumerate(by_round, start=1))
    found = {k: at.get("final") for k, at in problem.of(selector).at.items()}
    return {k: one.half_width for k, one in found.items() if one is not None and one.half_width}


def score_figure(result: BenchmarkResult) -> Figure:
    """Draw the aggregated score against the number of policies: 0 random, 1 Myopic Oracle."""
    scores = score_curves(result)
    if not scores:
        raise FigureError(f"The benchmark {result.name!r} has no score: no problem enters it.")
    colours = _colours(list(scores))
    figure = Figure(figsize=(2 * WIDTH, 1.6 * HEIGHT), layout="constrained")
    axes = figure.subplots()
    for name, curve in scores.items():
        found = {k: by_name[name].get("final") for k, by_name in result.aggregated.items()}
        widths = {k: one.half_width for k, one in found.items() if one and one.half_width}
        _band(axes, curve.tolist(), widths, colours[name], name)
    axes.axhline(0, color="grey", lw=0.8, ls=":")
    axes.axhline(1, color="grey", lw=0.8, ls=":")
    axes.set_xlabel("policies")
    axes.set_ylabel("aggregated score")
    axes.legend(fontsize=SMALL, frameon=False)
    return figure


def score_curves(result: BenchmarkResult) -> dict[str, NDArray[np.float64]]:
    """Return selector -> (K,) aggregate for 1..K policies; NaN where no problem enters."""
    rounds = max(problem.rounds for problem in result.problems)
    names = without_baselines(result.selectors)
    curves = {name: np.full(rounds, np.nan) for name in names}
    for k in range(1, rounds + 1):
        entering = [(p, p.margin_at(k) or 0.0) for p in result.entering(k)]
        for name in names:
            scores = [
                (p.of(name).curve[k - 1] - p.of(RANDOM).curve[k - 1]) / margin
                for p, margin in entering
                if margin > 0
            ]
            if scores:
                curves[name][k - 1] = np.mean(scores)
    return {name: curve for name, curve in curves.items() if not np.isnan(curve).all()}


def choices_figure(result: BenchmarkResult, selector: str) -> Figure:
    """Draw the strategy that a selector used in each round, as shares of the matrices."""
    found = {
        p.name: p.of(selector).strategies for p in result.problems if p.of(selector).strategies
    }
    if not found:
        raise FigureError(f"The benchmark {result.name!r} has no choices of {selector!r}.")
    colours = _colours([strategy for choices in found.values() for strategy in choices])

    def draw(panel: Axes, number: int) -> None:
        choices = list(found.values())[number]
        rounds = np.arange(1, len(next(iter(choices.values()))) + 1)
        shades = [colours[strategy] for strategy in choices]
        panel.stackplot(rounds, *choices.values(), labels=list(choices), colors=shades, step="mid")
        panel.set_ylim(0, 1)
        panel.set_xlabel("round", fontsize=SMALL)

    figure = _panels(list(found), draw)
    figure.supylabel("share of the matrices", fontsize=SMALL + 1)
    return figure


def rounds_figure(result: BenchmarkResult, selectors: Sequence[str]) -> Figure:
    """Draw the policies until performance is within epsilon of the best: median over matrices.

    Nothing is drawn where half of the matrices do not get there.
    """
    problems = [p for p in result.problems if any(p.of(name).rounds_to for name in selectors)]
    if not problems:
        raise FigureError(f"The benchmark {result.name!r} has no rounds to epsilon-suboptimal.")
    colours = _colours(selectors)
    measured = {epsilon for p in problems for n in selectors for epsilon in p.of(n).rounds_to}
    epsilons = sorted(measured, key=float)

    def draw(panel: Axes, number: int) -> None:
        for name in selectors:
            found = problems[number].of(name).rounds_to
            medians = [found[epsilon].median if epsilon in found else None for epsilon in epsilons]
            known = [np.nan if count is None else count for count in medians]
            if found:
                panel.plot(known, ".-", color=colours[name], label=name)
        panel.set_xticks(range(len(epsilons)), epsilons)
        panel.set_xlabel("epsilon", fontsize=SMALL)

    figure = _panels([problem.name for problem in problems], draw)
    figure.supylabel("policies", fontsize=SMALL + 1)
    return figure


def intervals_figure(result: BenchmarkResult, selectors: Sequence[str], policies: int) -> Figure:
    """Draw mean, median and interquartile mean of the performance, with 95 % intervals."""
    colours = dict(zip(STATISTICS, LINES, strict=False))

    def draw(panel: Axes, number: int) -> None:
        for place, statistic in enumerate(STATISTICS):
            measured = {
                name: found.interval(statistic)
                for name in selectors
                if (found := result.problems[number].statistics(name, policies, "final"))
            }
            known = {name: one for name, one in measured.items() if one[0] is not None}
            panel.errorbar(
                [value for value, _ in known.values() if value is not None],
                [selectors.index(name) + (place - 1) * 0.2 for name in known],
                xerr=[width or 0.0 for _, width in known.values()],
                fmt="o",
                ms=3,
                color=colours[statistic],
                label=statistic,
            )
        panel.set_yticks(range(len(selectors)), selectors, fontsize=SMALL - 1)
        panel.set_ylim(len(selectors) - 0.5, -0.5)

    figure = _panels([problem.name for problem in result.problems], draw)
    figure.supxlabel(f"performance with {policies} policies", fontsize=SMALL + 1)
    return figure


def distribution_figure(found: Distribution) -> Figure:
    """Draw performance on resampled matrices as a histogram, on the seeds as lines."""
    figure = Figure(figsize=(1.6 * WIDTH, 1.3 * HEIGHT), layout="constrained")
    axes = figure.subplots()
    axes.hist(found.drawn, bins=20, color=LINES[4], label=f"{len(found.drawn)} drawn matrices")
    for number, value in enumerate(found.real):
        label = f"{len(found.real)} seeds" if number == 0 else None
        axes.axvline(value, color=LINES[5], lw=1.5, label=label)
    axes.set_xlabel(f"performance of {found.selector} with {found.policies} policies")
    axes.set_ylabel("matrices")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    # Outside: lines and bars may be anywhere.
    figure.legend(fontsize=SMALL, frameon=False, loc="outside upper center", ncols=2)
    return figure


def cpu_time_figure(measured: Sequence[CpuTime]) -> Figure:
    """Draw the CPU time of each round: a panel per data set, a curve per selector."""
    colours = _colours([name for found in measured for name in found.seconds])

    def draw(panel: Axes, number: int) -> None:
        for name, seconds in measured[number].seconds.items():
            rounds = np.arange(1, len(seconds) + 1)
            panel.plot(rounds, 1000 * seconds, color=colours[name], lw=1.2, label=name)
        panel.set_yscale("log")
        panel.set_xlabel("round", fontsize=SMALL)

    figure = _panels([f"{found.data}, {found.targets} targets" for found in measured], draw)
    figure.supylabel("CPU time of a round, ms", fontsize=SMALL + 1)
    return figure


def _panels(names: Sequence[str], draw: Callable[[Axes, int], None]) -> Figure:
    """Draw a panel for each name, and one legend for all."""
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    size = (WIDTH * columns, HEIGHT * rows + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    labels: dict[str, Artist] = {}
    for number, panel in enumerate(panels):
        if number >= len(names):
            panel.remove()
            continue
        draw(panel, number)
        panel.set_title(names[number], fontsize=SMALL + 1)
        panel.tick_params(labelsize=SMALL - 1)
        handles, words = panel.get_legend_handles_labels()
        labels.update(zip(words, handles, strict=True))
    figure.legend(
        list(labels.values()), list(labels), loc="outside upper center", ncols=6, fontsize=SMALL
    )
    return figure


def _band(
    panel: Axes, means: Sequence[float], widths: Mapping[int, float], colour: str, name: str
) -> None:
    """Draw a curve over 1..K, with its intervals where they are known."""
    rounds = np.arange(1, len(means) + 1)
    panel.plot(rounds, means, color=colour, lw=1.2, label=name)
    known = np.array(sorted(k for k in widths if k <= len(means)), dtype=int)
    if not known.size:
        return
    middle, half = np.asarray(means)[known - 1], np.array([widths[k] for k in known])
    if len(known) == len(means):
        panel.fill_between(known, middle - half, middle + half, color=colour, alpha=0.2, lw=0)
    else:  # between rounds that lie apart a band would not follow its curve
        panel.errorbar(known, middle, yerr=half, fmt="none", ecolor=colour, capsize=2, lw=1)


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name."""
    order = dict.fromkeys((*COLOURED, *names))
    return {name: LINES[number % len(LINES)] for number, name in enumerate(order)}
