"""All figures of a data set or a benchmark, each with its name and its caption."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from sdmbtl_lab.figures import benchmark_figures as of_benchmark
from sdmbtl_lab.figures import transfer_figures as of_matrix
from sdmbtl_lab.matrices import TransferDataset

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.cpu_time import CpuTime
    from sdmbtl_lab.benchmarks.distribution import Distribution
    from sdmbtl_lab.benchmarks.result import BenchmarkResult
    from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem
    from sdmbtl_lab.figures.benchmark_data import BenchmarkData

#: Kind of figure and data -> the paper's figure that shows the same of the same kind of data.
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
#: Whose choices are shown: the selector that detects a structure in each round.
DETECTING = "m/gp-mbtl"


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be drawn.

    Attributes:
        kind: What it shows, in a word or two.
        data: Of which data.
        words: What it shows, in a sentence.
        draw: Draws it.
    """

    kind: str
    data: str
    words: str
    draw: Callable[[], Figure]

    @property
    def name(self) -> str:
        """Name of its file, without the ending; data may come from somebody else's file."""
        return re.sub(r"[^\w.-]", "-", f"{self.kind}-{self.data}")

    @property
    def caption(self) -> str:
        """The sentence, and the paper's figure that it stands beside, if there is one."""
        number = PAPER.get((self.kind, self.data))
        beside = "" if number is None else f" Beside Figure {number} of the paper."
        return f"{self.data}: {self.words}{beside}"


def transfer_figures(dataset: TransferDataset) -> Iterator[PaperFigure]:
    """The figures of a data set; those by dimension if its contexts are a grid."""
    name = dataset.name
    yield PaperFigure(
        "transfer-matrix",
        name,
        "the return of every policy on every target, mean over the seeds.",
        lambda: of_matrix.transfer_matrix_figure(dataset),
    )
    if not dataset.space.is_grid:
        return
    yield PaperFigure(
        "transfer-by-dimension",
        name,
        "the mean return by the value of one dimension in source and target, the others equal.",
        lambda: of_matrix.mean_transfer_figure(dataset),
    )
    yield PaperFigure(
        "f-g-h",
        name,
        "policy quality f, task difficulty g and dissimilarity h of the means by dimension.",
        lambda: of_matrix.decomposition_figure(dataset),
    )


def benchmark_figures(result: BenchmarkResult, data: BenchmarkData) -> Iterator[PaperFigure]:
    """The figures of a benchmark.

    Args:
        result: The benchmark.
        data: Its `benchmark_data`.
    """
    name = result.name
    fewest = min(problem.rounds for problem in result.problems)
    most = max((k for k in result.policies if k <= fewest), default=min(result.policies))
    shown = [selector for selector in result.selectors if selector != "independent"]
    yield PaperFigure(
        "curves",
        name,
        "performance against the number of policies, with 95 % intervals.",
        lambda: of_benchmark.curves_figure(data),
    )
    if data.scores:
        yield PaperFigure(
            "score",
            name,
            "aggregated score against the number of policies; 0 is random choice, 1 the oracle.",
            lambda: of_benchmark.score_figure(data),
        )
    if any(c.choices for p in data.problems for c in p.curves if c.selector == DETECTING):
        yield PaperFigure(
            "choices",
            name,
            f"what {DETECTING} chose with in each round, as shares of the matrices.",
            lambda: of_benchmark.choices_figure(data, DETECTING),
        )
    if any(p.of(selector).rounds_to for p in result.problems for selector in shown):
        yield PaperFigure(
            "policies-to-epsilon",
            name,
            "policies until performance is within epsilon of the best, median over the matrices.",
            lambda: of_benchmark.rounds_figure(result, shown),
        )
    yield PaperFigure(
        "intervals",
        name,
        f"mean, median and interquartile mean with {most} policies, with 95 % intervals.",
        lambda: of_benchmark.intervals_figure(result, shown, most),
    )


def distribution_figure(name: str, measure: Callable[[], Distribution]) -> PaperFigure:
    """The figure of a selector on the seeds of a data set, and on matrices drawn from them.

    Args:
        name: Of the data set.
        measure: Measures it, when the figure is drawn.
    """
    return PaperFigure(
        "seeds-and-drawn",
        name,
        "performance on the seeds, and on matrices whose rows are drawn from them.",
        lambda: of_benchmark.distribution_figure(measure()),
    )


def synthetic_figure(problems: Sequence[SyntheticProblem]) -> PaperFigure:
    """The figure of one matrix of each configuration of synthetic data."""
    return PaperFigure(
        "transfer-matrices",
        "synthetic",
        "the return of every policy on every target, by configuration; brighter is higher.",
        lambda: of_matrix.synthetic_matrices_figure(problems),
    )


def cpu_time_figure(measure: Callable[[], Sequence[CpuTime]]) -> PaperFigure:
    """The figure of what selectors cost on some data sets.

    Args:
        measure: Measures it, when the figure is drawn.
    """
    return PaperFigure(
        "cpu-time",
        "selectors",
        "CPU time of each round on this machine, without training: the choice and its row.",
        lambda: of_benchmark.cpu_time_figure(measure()),
    )
