"""What a study shows of itself: its status, figures, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sdmbtl.errors import MissingPackageError
from sdmbtl.markup import html_lines, html_table
from sdmbtl.studies.status import study_status
from sdmbtl.summary import known_span, summary
from sdmbtl.wording import figure, gain_figure

if TYPE_CHECKING:
    from pandas import DataFrame

    from sdmbtl.plots import StudyPlots
    from sdmbtl.studies.study import Study

#: What of a round is a column of the data frame as it is.
_COLUMNS = (
    *("id", "status", "trained_on", "width", "parent", "steps", "strategy", "structure", "model"),
    *("expected_gain", "gain", "performance", "coverage", "source_return", "training_return"),
    *("evaluated_targets", "failed_targets", "attempts", "probably_failed", "reason"),
)


class StudyViews:
    """The part of a study that is for looking."""

    @property
    def _study(self) -> Study:
        return cast("Study", self)

    def status(self) -> dict[str, Any]:
        """Where the study stands, as JSON data: the rounds, the coverage, what is pending."""
        return study_status(self._study)

    @property
    def plot(self) -> StudyPlots:
        """Its figures: `study.plot.coverage()`, `.map()`, `.rows()`, `.curves()`, `.forecasts()`.

        Each is drawn on `ax`, or on a figure of its own, and returns the Matplotlib axes.
        """
        from sdmbtl.plots import StudyPlots

        return StudyPlots(self._study)

    def trials_dataframe(self) -> DataFrame:
        """Every trial as a row of a pandas data frame, with the id as its index.

        Columns: the context as `context.NAME`, what was chosen and why, what came of it, and
        the seconds of each stage as `seconds.STAGE`.

        Raises:
            MissingPackageError: If pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            raise MissingPackageError(
                "A data frame needs pandas, which is not installed. Install it with: "
                "pip install 'sdmbtl[pandas]'; or use study.status()['rounds'], the same as JSON.",
                name="pandas",
            ) from None
        status = self.status()
        times = status["timing"]["by_trial"]
        rows = [
            {name: entry[name] for name in _COLUMNS}
            | {f"context.{name}": value for name, value in entry["context"].items()}
            | {f"seconds.{stage}": v for stage, v in times.get(str(entry["id"]), {}).items()}
            for entry in status["rounds"]
        ]
        contexts = [f"context.{name}" for name in self._study.space.names]
        frame = DataFrame(rows, columns=None if rows else [*_COLUMNS, *contexts])
        return frame.set_index("id")

    def _repr_html_(self) -> str:
        status = self.status()
        span = known_span(status)
        rows = [
            (
                entry["id"],
                entry["trained_on"],
                entry["status"],
                figure(entry["performance"] if span is None else entry["coverage"]),
                gain_figure(entry["gain"], span),
                entry["reason"],
            )
            for entry in status["rounds"]
        ]
        level = "mean best" if span is None else "coverage"
        table = html_table(["policy", "trained on", "status", level, "gain", "why"], rows)
        return html_lines(str(self._study.path), summary(status)) + (table if rows else "")

    def __repr__(self) -> str:
        study = self._study
        return (
            f"Study({str(study.path)!r}: {study.n_finished} policies, {len(study.space)} targets, "
            f"mean best return {study.performance:.4g})"
        )
