"""Benchmarks: problems, the simulation of a selector on them, metrics, tables."""

from sdmbtl.benchmarks.benchmark import Benchmark
from sdmbtl.benchmarks.matrix_problem import MatrixProblem
from sdmbtl.benchmarks.paper_benchmarks import real_benchmark, synthetic_benchmark
from sdmbtl.benchmarks.problem import Problem
from sdmbtl.benchmarks.result import BenchmarkResult
from sdmbtl.benchmarks.simulate import Run, simulate
from sdmbtl.benchmarks.synthetic import (
    SyntheticProblem,
    further_configurations,
    paper_configurations,
)

__all__ = [
    "Benchmark",
    "BenchmarkResult",
    "MatrixProblem",
    "Problem",
    "Run",
    "SyntheticProblem",
    "further_configurations",
    "paper_configurations",
    "real_benchmark",
    "simulate",
    "synthetic_benchmark",
]
