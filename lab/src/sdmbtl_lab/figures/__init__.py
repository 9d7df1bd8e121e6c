"""Figures of benchmarks and transfer matrices. Needs Matplotlib."""

from sdmbtl_lab.figures.panels import matrix_figure
from sdmbtl_lab.figures.paper_figures import PaperFigure, benchmark_figures, transfer_figures

__all__ = ["PaperFigure", "benchmark_figures", "matrix_figure", "transfer_figures"]
