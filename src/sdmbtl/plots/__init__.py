"""Figures. Needs Matplotlib: `pip install 'sdmbtl[plots]'`."""

from sdmbtl.errors import MissingPackageError as _MissingPackageError

try:
    import matplotlib as _matplotlib  # noqa: F401, ICN001 - first of all, for the message
except ModuleNotFoundError as _error:
    if _error.name != "matplotlib":
        raise
    raise _MissingPackageError.of("A figure", "matplotlib", "plots") from None

from sdmbtl.plots.files import save_axes
from sdmbtl.plots.portfolio_figure import portfolio_figure
from sdmbtl.plots.study_plots import StudyPlots

__all__ = [
    "StudyPlots",
    "portfolio_figure",
    "save_axes",
]
