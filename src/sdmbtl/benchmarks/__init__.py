"""Benchmarks: synthetic matrices, baselines, metrics, tables."""

from sdmbtl.benchmarks.runner import SyntheticBenchmark
from sdmbtl.benchmarks.simulate import Run, simulate
from sdmbtl.benchmarks.synthetic import (
    SyntheticConfiguration,
    further_configurations,
    paper_configurations,
)

__all__ = [
    "Run",
    "SyntheticBenchmark",
    "SyntheticConfiguration",
    "further_configurations",
    "paper_configurations",
    "simulate",
]
