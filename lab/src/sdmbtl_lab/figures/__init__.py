"""Figures of benchmarks and transfer matrices. Needs Matplotlib."""

from sdmbtl_lab.figures.panels import matrix_figure
from sdmbtl_lab.figures.paper_figures import (
    PaperFigure,
    benchmark_figures,
    cpu_time_figure,
    distribution_figure,
    synthetic_figure,
    transfer_figures,
)

__all__ = [
    "PaperFigure",
    "benchmark_figures",
    "cpu_time_figure",
    "distribution_figure",
    "matrix_figure",
    "synthetic_figure",
    "transfer_figures",
]
