"""Everything that a selector is judged by, in parts that are run one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sdmbtl.benchmarks import cost_benchmark, real_results, synthetic_results, variation_results
from sdmbtl.benchmarks.cost_benchmark import CostBenchmark
from sdmbtl.benchmarks.journal import Journal, code_fingerprint
from sdmbtl.benchmarks.layout import choosing
from sdmbtl.benchmarks.real_benchmark import BUDGETS, RealBenchmark, short_names
from sdmbtl.benchmarks.runner import RANDOM, with_both_ends
from sdmbtl.benchmarks.summary import without_trials
from sdmbtl.benchmarks.synthetic import further_configurations
from sdmbtl.benchmarks.synthetic_benchmark import SyntheticBenchmark
from sdmbtl.benchmarks.variation_benchmark import TRIALS, VariationBenchmark
from sdmbtl.benchmarks.variations import CHECK, DEVELOPMENT
from sdmbtl.checks import did_you_mean, whole_number
from sdmbtl.errors import BenchmarkError

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
#: Trials of the further configurations, which the paper does not have.
FURTHER_TRIALS = 20
#: Matrices drawn from the seeds of each real data set.
MATRICES = 50

PartBenchmark = SyntheticBenchmark | RealBenchmark | VariationBenchmark | CostBenchmark


@dataclass(frozen=True)
class Part:
    """One of the parts.

    Attributes:
        name: One of `PARTS`.
        benchmark: What is run for it.
    """

    name: str
    benchmark: PartBenchmark

    @property
    def made_from(self) -> dict[str, Any]:
        """What its result depends on: the same again gives the same."""
        return {
            **self.benchmark.settings,
            "selectors": sorted(self.benchmark.selectors),
            "code": code_fingerprint(),
        }

    def summarise(self, journal: Journal) -> dict[str, Any]:
        """Its result, as JSON data, from the journal of a finished run."""
        match self.benchmark:
            case SyntheticBenchmark():
                result = synthetic_results.summarise(self.benchmark, journal)
                return without_trials(result)  # type: ignore[no-any-return]
            case RealBenchmark():
                return real_results.summarise(self.benchmark, journal)
            case VariationBenchmark():
                return variation_results.summarise(self.benchmark, journal)
            case CostBenchmark():
                return cost_benchmark.summarise(self.benchmark, journal)


@dataclass(frozen=True)
class SelectorsBenchmark:
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
            whole_number("trials", self.trials, low=1, error=BenchmarkError)
        whole_number("matrices", self.matrices, low=1, error=BenchmarkError)
        object.__setattr__(self, "selectors", with_both_ends(self.selectors))

    @property
    def name(self) -> str:
        """Name of the result file, without ending."""
        name = "selectors"  # a quick look must not take the place of the whole
        if set(self.selectors) != set(with_both_ends(COMPARED)):
            name += f"-{short_names(choosing(self.selectors) or [RANDOM])}"
        if self.data:
            name += f"-{short_names([d.name for d in RealBenchmark(self.data).every_data()])}"
        if self.trials is not None:
            name += f"-w{self.trials}"
        return name if self.matrices == MATRICES else f"{name}-m{self.matrices}"

    def part(self, name: str) -> Part:
        """One of the parts; a real one reads its matrices."""
        return Part(name, self._benchmark(name))

    def _benchmark(self, name: str) -> PartBenchmark:
        if name in SYNTHETIC_PARTS:
            dim, noise = SYNTHETIC_PARTS[name]
            return SyntheticBenchmark(dim, noise, self.trials, selectors=self.selectors)
        if name in VARIATION_PARTS:
            trials = TRIALS if self.trials is None else self.trials
            return VariationBenchmark(VARIATION_PARTS[name], self.selectors, trials)
        if name == "further":
            return SyntheticBenchmark(
                dim=3,
                noise=5.0,
                trials=FURTHER_TRIALS if self.trials is None else self.trials,
                selectors=self.selectors,
                configurations=further_configurations(3),
            )
        if name == "real":
            return RealBenchmark(self.data, self.matrices, BUDGETS, self.selectors)
        return CostBenchmark(self.selectors)


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
