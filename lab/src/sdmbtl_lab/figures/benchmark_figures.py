"""Figures of a benchmark as in the paper: curves, scores, choices and intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from sdmbtl.palette import LINES
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks.columns import INDEPENDENT, RANDOM, without_baselines
from sdmbtl_lab.benchmarks.simulate import simulate
from sdmbtl_lab.matrices import TransferDataset

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.result import BenchmarkResult, ProblemResult

#: Panels side by side, at most, and their size in inches.
COLUMNS, WIDTH, HEIGHT = 4, 3.1, 2.5
SMALL = 8
#: Names with the same colour in every figure; other names get the remaining colours.
COLOURED = (
    *("m/gp-mbtl", "gp-mbtl", "m-mbtl", "m+random", "gp+random", "random", "predictive"),
    *("myopic-oracle", "sequential-oracle"),
)
#: Names with the colour of another one, and another line.
VARIANTS = {
    "m/gp-mbtl-unbiased": ("m/gp-mbtl", "--"),
    "gp-mbtl-original": ("gp-mbtl", "--"),
    INDEPENDENT: ("predictive", ":"),
}
#: Rounds after which every part of a selector was used once.
WARM_UP = 8
#: The statistics that intervals are shown of.
STATISTICS = ("mean", "median", "iqm")


def curves_figure(result: BenchmarkResult) -> Figure:
    """Draw performance against the number of policies: a panel for each problem."""
    names = [n for n in result.selectors if any(p.of(n).curve for p in result.problems)]
    styles = _styles(names)

    def draw(panel: Axes, number: int) -> None:
        problem = result.problems[number]
        for name in names:
            if problem.of(name).curve:
                _band(panel, problem.of(name).curve, _half_widths(problem, name), styles[name])
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
    styles = _styles(list(scores))
    figure = Figure(figsize=(2 * WIDTH, 1.6 * HEIGHT), layout="constrained")
    axes = figure.subplots()
    for name, curve in scores.items():
        found = {k: by_name[name].get("final") for k, by_name in result.aggregated.items()}
        widths = {k: one.half_width for k, one in found.items() if one and one.half_width}
        _band(axes, curve.tolist(), widths, styles[name])
    axes.axhline(0, color="grey", lw=0.8, ls=":")
    axes.axhline(1, color="grey", lw=0.8, ls=":")
    axes.set_xlabel("policies")
    axes.set_ylabel("aggregated score")
    figure.legend(fontsize=SMALL, frameon=False, loc="outside upper center", ncols=4)
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
    found = [problem.of(selector).strategies for problem in result.problems]
    styles = _styles([strategy for choices in found for strategy in choices])

    def draw(panel: Axes, number: int) -> None:
        choices = found[number]
        rounds = np.arange(1, len(next(iter(choices.values()))) + 1)
        shades = [styles[strategy]["color"] for strategy in choices]
        panel.stackplot(rounds, *choices.values(), labels=list(choices), colors=shades, step="mid")
        panel.set_xlim(1, len(rounds))
        panel.set_ylim(0, 1)
        panel.set_xlabel("round", fontsize=SMALL)

    figure = _panels([problem.name for problem in result.problems], draw)
    figure.supylabel("share of the matrices", fontsize=SMALL + 1)
    return figure


def rounds_figure(result: BenchmarkResult, selectors: Sequence[str]) -> Figure:
    """Draw the policies until performance is within epsilon of the best: median over matrices.

    Nothing is drawn where half of the matrices do not get there.
    """
    problems, styles = result.problems, _styles(selectors)
    found = [problem.of(name).rounds_to for problem in problems for name in selectors]
    reached = {epsilon for to in found for epsilon, one in to.items() if one.median is not None}
    epsilons = sorted(reached, key=float)

    def draw(panel: Axes, number: int) -> None:
        for name in selectors:
            to = problems[number].of(name).rounds_to
            medians = [to[epsilon].median if epsilon in to else None for epsilon in epsilons]
            if any(count is not None for count in medians):
                panel.plot(np.array(medians, dtype=np.float64), marker=".", **styles[name])
        panel.set_xticks(range(len(epsilons)), epsilons)
        panel.set_xlim(-0.1, len(epsilons) - 0.9)
        panel.set_xlabel("epsilon", fontsize=SMALL)
        panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))

    figure = _panels([problem.name for problem in problems], draw)
    figure.supylabel("policies", fontsize=SMALL + 1)
    return figure


def intervals_figure(result: BenchmarkResult, selectors: Sequence[str], policies: int) -> Figure:
    """Draw mean, median and interquartile mean of the performance, with 95 % intervals."""
    colours = dict(zip(STATISTICS, LINES, strict=False))

    def draw(panel: Axes, number: int) -> None:
        found = {n: result.problems[number].statistics(n, policies, "final") for n in selectors}
        measured = {name: one for name, one in found.items() if one is not None}
        for place, statistic in enumerate(STATISTICS):
            values, widths = zip(*(m.interval(statistic) for m in measured.values()), strict=True)
            panel.errorbar(
                np.array(values, dtype=np.float64),
                np.arange(len(measured)) + (place - 1) * 0.2,
                xerr=[width or 0.0 for width in widths],
                fmt="o",
                ms=3,
                color=colours[statistic],
                label=statistic,
            )
        panel.set_yticks(range(len(measured)), list(measured), fontsize=SMALL - 1)
        panel.set_ylim(len(measured) - 0.5, -0.5)
        panel.xaxis.set_major_locator(MaxNLocator(3))
        panel.ticklabel_format(axis="x", useOffset=False)

    figure = _panels([problem.name for problem in result.problems], draw)
    figure.supxlabel(f"performance with {policies} policies", fontsize=SMALL + 1)
    return figure


def distribution_figure(
    dataset: TransferDataset, selector: str, *, policies: int, matrices: int
) -> Figure:
    """Draw performance on the seeds as lines, on matrices drawn from them as a histogram."""
    real, drawn = seeds_and_drawn(dataset, selector, policies=policies, matrices=matrices)
    figure = Figure(figsize=(1.6 * WIDTH, 1.3 * HEIGHT), layout="constrained")
    axes = figure.subplots()
    axes.hist(drawn, bins=20, color=LINES[4], label=f"{len(drawn)} drawn matrices")
    for number, value in enumerate(real):
        label = f"{len(real)} seeds" if number == 0 else None
        axes.axvline(value, color=LINES[5], lw=1.5, label=label)
    axes.set_xlabel(f"performance of {selector} with {policies} policies")
    axes.set_ylabel("matrices")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    # Outside: lines and bars may be anywhere.
    figure.legend(fontsize=SMALL, frameon=False, loc="outside upper center", ncols=2)
    return figure


def seeds_and_drawn(
    dataset: TransferDataset, selector: str, *, policies: int, matrices: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (W,) performance on each seed, and (n,) on matrices whose rows come from any."""
    scaled = dataset.matrices.normalised()
    seeds = [derived_seed(0, f"rows of {dataset.name}", number) for number in range(matrices)]

    def performance(returns: NDArray[np.floating]) -> float:
        made = make_selector(selector, dataset.space, seed=0)
        return simulate(made, returns, policies).curve[-1]

    real = [performance(returns) for returns in scaled.returns]
    return np.array(real), np.array([performance(scaled.resampled(seed)) for seed in seeds])


def cpu_time_figure(
    datasets: Sequence[TransferDataset], selectors: Sequence[str], policies: int
) -> Figure:
    """Draw the CPU time of each round: a panel per data set, a curve per selector."""
    styles = _styles(selectors)
    for name in selectors:  # parts of SciPy are loaded at first use
        round_seconds(datasets[0], name, WARM_UP)

    def draw(panel: Axes, number: int) -> None:
        for name in selectors:
            seconds = round_seconds(datasets[number], name, policies)
            panel.plot(np.arange(1, len(seconds) + 1), 1000 * seconds, **styles[name])
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_xlabel("round", fontsize=SMALL)

    figure = _panels([f"{d.name}, {len(d.space)} targets" for d in datasets], draw)
    figure.supylabel("CPU time of a round, ms", fontsize=SMALL + 1)
    return figure


def round_seconds(dataset: TransferDataset, selector: str, policies: int) -> NDArray[np.float64]:
    """(K,) CPU seconds of each ask and its tell, on the mean matrix of a data set."""
    returns, space = dataset.matrices.normalised().mean(), dataset.space
    chooser = make_selector(selector, space, seed=0)
    seconds = np.empty(min(policies, len(space)))
    for number in range(len(seconds)):
        began = time.process_time()
        trial = chooser.ask()
        index = space.nearest(trial.context) if trial.index is None else trial.index
        chooser.tell(trial, returns[index])
        seconds[number] = time.process_time() - began
    return seconds


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
    panel: Axes, means: Sequence[float], widths: Mapping[int, float], style: dict[str, Any]
) -> None:
    """Draw a curve over 1..K, with its intervals where they are known."""
    panel.plot(np.arange(1, len(means) + 1), means, **style)
    known = np.array(sorted(k for k in widths if k <= len(means)), dtype=int)
    if not known.size:
        return
    middle, half = np.asarray(means)[known - 1], np.array([widths[k] for k in known])
    colour = style["color"]
    if len(known) == len(means):
        panel.fill_between(known, middle - half, middle + half, color=colour, alpha=0.2, lw=0)
    else:  # between rounds that lie apart a band would not follow its curve
        panel.errorbar(known, middle, yerr=half, fmt="none", ecolor=colour, capsize=2, lw=1)


def _styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the look of the line of each name, with its label."""
    like = {name: VARIANTS.get(name, (name, "-")) for name in names}
    order = list(dict.fromkeys((*COLOURED, *(colour for colour, _ in like.values()))))
    return {
        name: {
            "color": LINES[order.index(colour) % len(LINES)],
            "ls": line,
            "lw": 1.2,
            "markerfacecolor": "auto" if line == "-" else "white",
            "label": name,
        }
        for name, (colour, line) in like.items()
    }
