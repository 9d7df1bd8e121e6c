"""Benchmarks: problems, the simulation of a selector on them, metrics, tables."""

from sdmbtl_lab.benchmarks.benchmark import Benchmark
from sdmbtl_lab.benchmarks.paper_benchmarks import real_benchmark, synthetic_benchmark
from sdmbtl_lab.benchmarks.problem import MatrixProblem, Problem
from sdmbtl_lab.benchmarks.result import BenchmarkResult
from sdmbtl_lab.benchmarks.simulate import Run, simulate
from sdmbtl_lab.benchmarks.simulate_regions import (
    RegionSimulation,
    greedy_sources,
    simulate_regions,
)
from sdmbtl_lab.benchmarks.synthetic import (
    SyntheticProblem,
    further_configurations,
    illustrated_configurations,
    paper_configurations,
)

__all__ = [
    "Benchmark",
    "BenchmarkResult",
    "MatrixProblem",
    "Problem",
    "RegionSimulation",
    "Run",
    "SyntheticProblem",
    "further_configurations",
    "greedy_sources",
    "illustrated_configurations",
    "paper_configurations",
    "real_benchmark",
    "simulate",
    "simulate_regions",
    "synthetic_benchmark",
]
