"""All figures of a data set or a benchmark, each with its name and its caption."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from sdmbtl_lab.benchmarks.columns import INDEPENDENT
from sdmbtl_lab.benchmarks.result import BenchmarkResult, ProblemResult
from sdmbtl_lab.figures import benchmark_figures as of_benchmark
from sdmbtl_lab.figures import transfer_figures as of_matrix
from sdmbtl_lab.matrices import TransferDataset

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
#: Kind of figure -> reason why data sets or problems are left out of it.
REASONS = {
    "transfer-by-dimension": "contexts are a list, not a grid",
    "f-g-h": "contexts are a list, not a grid",
    "seeds-and-drawn": "one seed only",
    "score": "choosing hardly matters",
    "choices": "no selector that detects a structure",
    "policies-to-epsilon": "on half of the matrices no selector gets there",
    "intervals": "fewer policies were trained",
}
#: Selectors that detect a structure in each round: the choices of the first one are shown.
DETECTING = ("m/gp-mbtl", "m/gp-mbtl-unbiased")


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be drawn.

    Attributes:
        kind: One of `CAPTIONS`.
        data: The data set or benchmark.
        draw: Draws it; None if there is nothing to show.
        without: Problems that are left out of it.
    """

    kind: str
    data: str
    draw: Callable[[], Figure] | None
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of its file, without the ending; data may come from somebody else's file."""
        return re.sub(r"[^\w.-]", "-", f"{self.kind}-{self.data}")

    @property
    def left_out(self) -> str:
        """Everything that is not shown, and why; empty if nothing is left out."""
        if self.draw is None:
            return f"{self.name} ({REASONS[self.kind]})"
        return f"of {self.name}: {self._without}" if self.without else ""

    @property
    def caption(self) -> str:
        """Caption, with the number of the paper's figure if there is one."""
        caption = f"{self.data}: {CAPTIONS[self.kind]}"
        if self.without:
            caption += f" Left out: {self._without}."
        number = PAPER.get((self.kind, self.data))
        return caption + ("" if number is None else f" Compare with Figure {number} of the paper.")

    @property
    def _without(self) -> str:
        return f"{', '.join(self.without)} ({REASONS[self.kind]})"


def transfer_figures(dataset: TransferDataset) -> Iterator[PaperFigure]:
    """Yield the figures of a data set; those by dimension need contexts that are a grid."""
    whole = partial(of_matrix.transfer_matrix_figure, dataset)
    yield PaperFigure("transfer-matrix", dataset.name, whole)
    for kind, draw in (
        ("transfer-by-dimension", of_matrix.mean_transfer_figure),
        ("f-g-h", of_matrix.decomposition_figure),
    ):
        drawable = partial(draw, dataset) if dataset.space.is_grid else None
        yield PaperFigure(kind, dataset.name, drawable)


def benchmark_figures(result: BenchmarkResult) -> Iterator[PaperFigure]:
    """Yield the figures of a benchmark, each of the problems that have something to show."""
    problems, detecting = result.problems, DETECTING[0]
    if not any(p.of(detecting).strategies for p in problems):
        detecting = DETECTING[1]
    fewest = min(problem.rounds for problem in problems)
    most = max((k for k in result.policies if k <= fewest), default=min(result.policies))
    names = [name for name in result.selectors if name != INDEPENDENT]
    entering = {p.name for k in range(1, result.policies[-1] + 1) for p in result.entering(k)}

    def gets_there(problem: ProblemResult) -> bool:
        return any(r.median is not None for n in names for r in problem.of(n).rounds_to.values())

    plans: dict[str, tuple[Callable[[ProblemResult], Any], Callable[..., Figure], list[Any]]] = {
        "curves": (lambda _: True, of_benchmark.curves_figure, []),
        "intervals": (
            lambda p: any(p.statistics(n, most, "final") for n in names),
            *(of_benchmark.intervals_figure, [names, most]),
        ),
        "score": (lambda p: p.name in entering, of_benchmark.score_figure, []),
        "choices": (lambda p: p.of(detecting).strategies, of_benchmark.choices_figure, [detecting]),
        "policies-to-epsilon": (gets_there, of_benchmark.rounds_figure, [names]),
    }
    for kind, (has_content, draw, arguments) in plans.items():
        shown = tuple(problem for problem in problems if has_content(problem))
        without = tuple(problem.name for problem in problems if problem not in shown)
        some = replace(result, problems=shown)
        drawable = partial(draw, some, *arguments) if shown else None
        yield PaperFigure(kind, result.name, drawable, without)
