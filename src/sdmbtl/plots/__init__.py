"""Figures. Needs Matplotlib: `pip install 'sdmbtl[plots]'`."""

try:
    import matplotlib as _matplotlib  # noqa: F401, ICN001 - first of all, for the message
except ModuleNotFoundError as _error:
    if _error.name != "matplotlib":
        raise
    raise ModuleNotFoundError(
        "Figures need Matplotlib, which is not installed. Install it with: "
        "pip install 'sdmbtl[plots]'",
        name="matplotlib",
    ) from None

from sdmbtl.plots.files import save_axes, save_figure
from sdmbtl.plots.panels import matrix_figure
from sdmbtl.plots.paper_figures import (
    PaperFigure,
    benchmark_figures,
    cpu_time_figure,
    distribution_figure,
    synthetic_figure,
    transfer_figures,
)
from sdmbtl.plots.portfolio_figure import portfolio_figure
from sdmbtl.plots.study_plots import StudyPlots

__all__ = [
    "PaperFigure",
    "StudyPlots",
    "benchmark_figures",
    "cpu_time_figure",
    "distribution_figure",
    "matrix_figure",
    "portfolio_figure",
    "save_axes",
    "save_figure",
    "synthetic_figure",
    "transfer_figures",
]
