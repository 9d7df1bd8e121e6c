"""A study as one HTML page: a file, or live."""

from sdmbtl.report.page import make_page
from sdmbtl.report.study_data import study_data

__all__ = ["make_page", "study_data"]
