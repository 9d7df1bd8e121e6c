"""Views of a study: its snapshot, figures and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sdmbtl.studies.snapshot import StudySnapshot, take_snapshot
from sdmbtl.studies.tables import study_html, trials_dataframe

if TYPE_CHECKING:
    from pandas import DataFrame

    from sdmbtl.plots import StudyPlots
    from sdmbtl.studies.study import Study


class StudyViews:
    """The part of a study that is for looking."""

    @property
    def _study(self) -> Study:
        return cast("Study", self)

    def snapshot(self) -> StudySnapshot:
        """Return the study at this moment: policies, coverage, gaps, forecasts, problems."""
        return take_snapshot(self._study)

    def status(self) -> dict[str, Any]:
        """Return the snapshot as JSON data."""
        return self.snapshot().to_dict()

    @property
    def plot(self) -> StudyPlots:
        """Figures: `study.plot.coverage()`, `.map()`, `.rows()`, `.curves()`, `.forecasts()`.

        Each is drawn on `ax`, or on a figure of its own, and returns the Matplotlib axes.
        """
        from sdmbtl.plots import StudyPlots

        return StudyPlots(self._study)

    def trials_dataframe(self) -> DataFrame:
        """Return every trial as a row of a pandas data frame, with the id as its index.

        Columns: the context as `context.NAME`, choice, reason and result, and the seconds of each
        stage as `seconds.STAGE`.

        Raises:
            MissingPackageError: If pandas is not installed.
        """
        return trials_dataframe(self._study)

    def _repr_html_(self) -> str:
        return study_html(self._study)

    def __repr__(self) -> str:
        study = self._study
        return (
            f"Study({str(study.path)!r}: {study.n_finished} policies, {len(study.space)} targets, "
            f"mean best return {study.performance:.4g})"
        )
