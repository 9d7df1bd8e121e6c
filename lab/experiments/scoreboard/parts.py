"""Everything that a selector is judged by, in parts that are run one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scoreboard.cost_benchmark import CostBenchmark
from scoreboard.variations import CHECK, DEVELOPMENT, Variation
from sdmbtl.checks import check_int, did_you_mean
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks import (
    Benchmark,
    further_configurations,
    real_benchmark,
    synthetic_benchmark,
)
from sdmbtl_lab.benchmarks.columns import RANDOM, with_both_ends, without_baselines
from sdmbtl_lab.benchmarks.paper_benchmarks import short_names

#: The default selector, and the paper's.
COMPARED = ("auto", "m/gp-mbtl", "gp-mbtl", "m-mbtl")
#: Part -> dimensions and noise of the paper's configurations.
SYNTHETIC_PARTS = {
    "synthetic-3d-noise0": (3, 0.0),
    "synthetic-3d-noise5": (3, 5.0),
    "synthetic-3d-noise30": (3, 30.0),
    "synthetic-5d": (5, 5.0),
    "synthetic-7d": (7, 5.0),
}
VARIATION_PARTS = {"development": DEVELOPMENT, "check": CHECK}
PARTS = (*SYNTHETIC_PARTS, "further", "real", *VARIATION_PARTS, "cost")
#: Matrices of the further configurations, which the paper does not have, and of the variations.
FURTHER_TRIALS, VARIATION_TRIALS = 20, 10
#: Matrices drawn from the seeds of each real data set.
MATRICES = 50
#: K of the variations, at most half of the contexts.
VARIATION_ROUNDS = 50


@dataclass(frozen=True)
class Scope:
    """Which selectors are judged, and how thoroughly.

    Attributes:
        selectors: Names; random and the Myopic Oracle always take part, they set the scale.
        trials: W of the synthetic parts and of the variations; their usual numbers if None.
        matrices: Matrices drawn from the seeds of each real data set.
        data: Names or paths of real data sets; all shipped ones if left out.
    """

    selectors: tuple[str, ...] = COMPARED
    trials: int | None = None
    matrices: int = MATRICES
    data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.trials is not None:
            check_int("trials", self.trials, low=1, error=BenchmarkError)
        check_int("matrices", self.matrices, low=1, error=BenchmarkError)
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))

    @property
    def name(self) -> str:
        """Name of the result file, without ending."""
        name = "selectors"  # a quick look must not replace the full run
        if set(self.selectors) != set(with_both_ends(COMPARED)):
            name += f"-{short_names(without_baselines(self.selectors) or [RANDOM])}"
        if self.data:
            name += f"-{short_names([p.name for p in real_benchmark(self.data).problems])}"
        if self.trials is not None:
            name += f"-w{self.trials}"
        return name if self.matrices == MATRICES else f"{name}-m{self.matrices}"

    def benchmark(self, part: str) -> Benchmark | CostBenchmark:
        """What is run for one of the parts; for the real one it reads the matrices."""
        if part in SYNTHETIC_PARTS:
            dim, noise = SYNTHETIC_PARTS[part]
            return synthetic_benchmark(dim, noise, self.trials, selectors=self.selectors)
        if part in VARIATION_PARTS:
            return self.variation_benchmark(part, VARIATION_PARTS[part])
        if part == "further":
            return synthetic_benchmark(
                dim=3,
                noise=5.0,
                trials=self.trials or FURTHER_TRIALS,
                selectors=self.selectors,
                configurations=further_configurations(3),
            )
        if part == "real":
            return real_benchmark(self.data, self.matrices, selectors=self.selectors)
        return CostBenchmark(self.selectors)

    def variation_benchmark(self, part: str, variations: tuple[Variation, ...]) -> Benchmark:
        """The selectors on a set of variations."""
        return Benchmark(
            problems=variations,
            selectors=self.selectors,
            trials=self.trials or VARIATION_TRIALS,
            policies=(VARIATION_ROUNDS,),
            name=part,
            title=f"{part} set",
            headers=("variation", "grid", "K", "margin"),
            settings={"kind": "variations"},
            seeds="training runs and noise of trial t: its name and t; selectors: seed t",
        )


def made_from(benchmark: Benchmark | CostBenchmark) -> dict[str, Any]:
    """What the result of a part depends on: the same again gives the same."""
    return {**benchmark.heading, "selectors": sorted(benchmark.selectors)}


def part_names(wanted: Iterable[str]) -> tuple[str, ...]:
    """The parts that are meant, in their order: "synthetic-3d" means its three, nothing means all.

    Raises:
        BenchmarkError: If there is no such part.
    """
    found: set[str] = set()
    for name in wanted:
        meant = [part for part in PARTS if part == name or part.startswith(f"{name}-")]
        if not meant:
            raise BenchmarkError(
                f"There is no part {name!r}. The parts are: {', '.join(PARTS)}."
                f"{did_you_mean(name, PARTS)}"
            )
        found.update(meant)
    return tuple(part for part in PARTS if part in found or not found)
