"""Learning curves and coverage as TensorBoard scalars."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sdmbtl.errors import MissingPackageError, StudyError
from sdmbtl.transfer import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sdmbtl.callbacks.event import Event
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study

#: Scalars are on disk after so many seconds, for a TensorBoard that watches.
FLUSH_EVERY = 5


class TensorBoardWriter:
    """A callback that writes scalars as a run goes: one run of TensorBoard for each policy.

    Over the steps of a policy "eval/mean_return", once for each evaluation on the training
    contexts, and of the training itself "train/steps_per_second" and what else the trainer reports
    of it, such as the "train/mean_return" of episodes that explore. In the run "study" its
    "study/mean_best_return" and, where the range of returns is known, "study/coverage" over the
    steps of all policies. A run that is resumed continues in the same directory; what an
    interrupted training run wrote before is replaced, with all its evaluations.

    Args:
        study: The study that is run.
        directory: Where TensorBoard looks.

    Raises:
        MissingPackageError: If tensorboard is not installed.
    """

    def __init__(self, study: Study, directory: str | Path) -> None:
        check_tensorboard(Path(directory))
        self._study, self._directory = study, Path(directory)
        self._runs: dict[str, _ScalarWriter] = {}

    def __enter__(self) -> Self:
        rows = self._study.selector.rows.returns
        steps = np.cumsum([_steps(t) for t in self._study.trials if t.row is not None])
        best = np.fmax.accumulate(rows, axis=0) if len(rows) else rows
        for taken, returns in zip(steps.tolist(), best, strict=True):
            self._write_study(taken, mean_of(returns))
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._runs):
            self._close(name)

    def __call__(self, event: Event) -> None:
        """Write what an event tells."""
        if event.stage in ("continued", "training") and event.policies == 1:
            self._write_training(event)
        elif event.stage == "trained":
            self._write_curve(event.trial)
        elif event.stage == "finished":
            self._write_study(self._study.steps, self._study.performance)

    def _write_training(self, event: Event) -> None:
        name = _run_name(event.trial)
        self._write_evaluations(name, event.evaluations)
        figures = {**event.metrics, "steps_per_second": event.steps_per_second}
        self._write(name, event.steps, _named("train", figures))

    def _write_evaluations(self, name: str, evaluations: Iterable[tuple[int, float]]) -> None:
        for steps, mean_return in evaluations:
            self._write(name, steps, {"eval/mean_return": mean_return})

    def _write_curve(self, trial: Trial) -> None:
        """Of a policy that was trained beside others, what is known of it alone."""
        name = _run_name(trial)
        if name not in self._runs and trial.run is not None:
            self._write_evaluations(name, trial.run.curve)
        self._close(name)

    def _write_study(self, steps: int, performance: float) -> None:
        coverage = self._study.share(performance)
        figures = {"mean_best_return": performance, "coverage": math.nan}
        if coverage is not None:
            figures["coverage"] = coverage
        self._write("study", steps, _named("study", figures))

    def _write(self, name: str, steps: int, scalars: Mapping[str, float]) -> None:
        if name not in self._runs:
            self._runs[name] = _ScalarWriter(self._directory / name)
        self._runs[name].write(steps, scalars)

    def _close(self, name: str) -> None:
        if name in self._runs:
            self._runs.pop(name).close()


class _ScalarWriter:
    """Writes one run of TensorBoard; what an earlier process wrote of it is void.

    Args:
        directory: Of the run.
    """

    def __init__(self, directory: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import SessionLog

        self._file = _import_writer()(str(directory), flush_secs=FLUSH_EVERY)
        self._add(0, session_log=SessionLog(status=SessionLog.START))

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write those scalars that are numbers."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [
            Summary.Value(tag=tag, simple_value=value)
            for tag, value in scalars.items()
            if not math.isnan(value)
        ]
        self._add(step, summary=Summary(value=values))

    def close(self) -> None:
        """Write what is waiting and end."""
        self._file.close()

    def _add(self, step: int, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._file.add_event(Event(wall_time=time.time(), step=step, **content))


def check_tensorboard(directory: Path) -> None:
    """Refuse what could not be written to, before anything is trained.

    Raises:
        MissingPackageError: If tensorboard is not installed.
        StudyError: If this is a file.
    """
    _import_writer()
    if directory.exists() and not directory.is_dir():
        raise StudyError(
            f"TensorBoard needs a directory to write to. Got the file {str(directory)!r} instead."
        )


def _import_writer() -> Any:
    try:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Scalars for TensorBoard need tensorboard, which is not installed. Install it with: "
            "pip install 'sdmbtl[tensorboard]'"
        ) from error
    return EventFileWriter


def _run_name(trial: Trial) -> str:
    attempt = 0 if trial.run is None else trial.run.attempt
    return f"policy-{trial.id:04d}" + (f"-attempt-{attempt}" if attempt else "")


def _steps(trial: Trial) -> int:
    return 0 if trial.run is None or trial.run.steps is None else trial.run.steps


def _named(group: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{group}/{name}": value for name, value in figures.items()}
