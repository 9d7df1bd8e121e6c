"""All figures of a data set or a benchmark, each with its name and its caption."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from sdmbtl_lab.figures import benchmark_figures as of_benchmark
from sdmbtl_lab.figures import transfer_figures as of_matrix
from sdmbtl_lab.matrices import TransferDataset

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.measures import CpuTime, Distribution
    from sdmbtl_lab.benchmarks.result import BenchmarkResult
    from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem

#: Kind of figure and data -> the paper's figure that shows the same kind of data.
PAPER = {
    ("f-g-h", "cartpole"): 2,
    ("f-g-h", "bipedal-walker"): 2,
    ("cpu-time", "selectors"): 4,
    ("transfer-matrix", "cartpole"): 5,
    ("transfer-by-dimension", "cartpole"): 6,
    ("transfer-matrix", "bipedal-walker"): 7,
    ("transfer-by-dimension", "bipedal-walker"): 8,
    ("transfer-matrices", "synthetic"): 13,
    ("choices", "synthetic-3d-noise5"): 14,
    ("curves", "synthetic-3d-noise5"): 15,
    ("score", "synthetic-3d-noise5"): 16,
    ("policies-to-epsilon", "real"): 17,
    ("curves", "real"): 18,
    ("intervals", "real"): 19,
    ("choices", "real"): 20,
    ("score", "real"): 21,
    ("seeds-and-drawn", "cartpole"): 23,
    ("seeds-and-drawn", "cartpole-wide"): 23,
    ("seeds-and-drawn", "bipedal-walker"): 23,
}
#: Kind of figure -> its caption.
CAPTIONS = {
    "transfer-matrix": "the return of every policy on every target, mean over the seeds.",
    "transfer-by-dimension": "the mean return by the value of one dimension in source and target, "
    "the others equal.",
    "f-g-h": "policy quality f, task difficulty g and dissimilarity h of the means by dimension.",
    "curves": "performance against the number of policies, with 95 % intervals.",
    "score": "aggregated score against the number of policies; 0 is random choice, 1 the oracle.",
    "choices": "strategies of M/GP-MBTL in each round, as shares of the matrices.",
    "policies-to-epsilon": "policies until performance is within epsilon of the best, median over "
    "the matrices.",
    "intervals": "mean, median and interquartile mean of the performance, with 95 % intervals.",
    "seeds-and-drawn": "performance on the seeds, and on matrices whose rows are drawn from them.",
    "transfer-matrices": "the return of every policy on every target, by configuration; brighter "
    "is higher.",
    "cpu-time": "CPU time of each round on this machine, without training: the choice and its row.",
}
#: Selectors that detect a structure in each round: the choices of the first one are shown.
DETECTING = ("m/gp-mbtl", "m/gp-mbtl-unbiased")


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be drawn."""

    kind: str
    data: str
    draw: Callable[[], Figure]

    @property
    def name(self) -> str:
        """Name of its file, without the ending; data may come from somebody else's file."""
        return re.sub(r"[^\w.-]", "-", f"{self.kind}-{self.data}")

    @property
    def caption(self) -> str:
        """Caption, with the number of the paper's figure if there is one."""
        number = PAPER.get((self.kind, self.data))
        paper = "" if number is None else f" Compare with Figure {number} of the paper."
        return f"{self.data}: {CAPTIONS[self.kind]}{paper}"


def transfer_figures(dataset: TransferDataset) -> Iterator[PaperFigure]:
    """Yield the figures of a data set; those by dimension if its contexts are a grid."""
    figures = {"transfer-matrix": of_matrix.transfer_matrix_figure}
    if dataset.space.is_grid:
        figures["transfer-by-dimension"] = of_matrix.mean_transfer_figure
        figures["f-g-h"] = of_matrix.decomposition_figure
    for kind, draw in figures.items():
        yield PaperFigure(kind, dataset.name, partial(draw, dataset))


def benchmark_figures(result: BenchmarkResult) -> Iterator[PaperFigure]:
    """Yield the figures of a benchmark."""
    fewest = min(problem.rounds for problem in result.problems)
    most = max((k for k in result.policies if k <= fewest), default=min(result.policies))
    shown = [selector for selector in result.selectors if selector != "independent"]
    figures: dict[str, Callable[[], Figure]] = {
        "curves": partial(of_benchmark.curves_figure, result),
        "intervals": partial(of_benchmark.intervals_figure, result, shown, most),
    }
    if of_benchmark.score_curves(result):
        figures["score"] = partial(of_benchmark.score_figure, result)
    detecting = (s for s in DETECTING if any(p.of(s).strategies for p in result.problems))
    if (selector := next(detecting, None)) is not None:
        figures["choices"] = partial(of_benchmark.choices_figure, result, selector)
    if any(p.of(selector).rounds_to for p in result.problems for selector in shown):
        figures["policies-to-epsilon"] = partial(of_benchmark.rounds_figure, result, shown)
    for kind, draw in figures.items():
        yield PaperFigure(kind, result.name, draw)


def distribution_figure(name: str, measure: Callable[[], Distribution]) -> PaperFigure:
    """Return the figure of a selector on the seeds of a data set, and on resampled matrices."""
    return PaperFigure("seeds-and-drawn", name, lambda: of_benchmark.distribution_figure(measure()))


def synthetic_figure(problems: Sequence[SyntheticProblem]) -> PaperFigure:
    """Return the figure of one matrix of each configuration of synthetic data."""
    draw = partial(of_matrix.synthetic_matrices_figure, problems)
    return PaperFigure("transfer-matrices", "synthetic", draw)


def cpu_time_figure(measure: Callable[[], Sequence[CpuTime]]) -> PaperFigure:
    """Return the figure of the cost of selectors on some data sets."""
    return PaperFigure("cpu-time", "selectors", lambda: of_benchmark.cpu_time_figure(measure()))
