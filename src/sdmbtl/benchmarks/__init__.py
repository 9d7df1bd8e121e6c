"""Benchmarks: synthetic matrices, baselines, metrics, tables."""

from sdmbtl.benchmarks.real_benchmark import RealBenchmark
from sdmbtl.benchmarks.simulate import Run, simulate
from sdmbtl.benchmarks.synthetic import (
    SyntheticConfiguration,
    further_configurations,
    paper_configurations,
)
from sdmbtl.benchmarks.synthetic_benchmark import SyntheticBenchmark
from sdmbtl.matrices.shipped import load_matrix, matrix_names

__all__ = [
    "RealBenchmark",
    "Run",
    "SyntheticBenchmark",
    "SyntheticConfiguration",
    "further_configurations",
    "load_matrix",
    "matrix_names",
    "paper_configurations",
    "simulate",
]
