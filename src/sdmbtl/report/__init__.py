"""A study or a benchmark as one page: a file of its own, or live."""

from sdmbtl.report.page import make_page
from sdmbtl.report.study_data import StudyData, study_data

__all__ = ["StudyData", "make_page", "study_data"]
