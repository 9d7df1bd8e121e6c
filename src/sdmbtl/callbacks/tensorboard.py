"""Learning curves and coverage as TensorBoard scalars."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sdmbtl.errors import MissingPackageError, StudyError

if TYPE_CHECKING:
    from sdmbtl.callbacks.event import Event
    from sdmbtl.selectors import Trial
    from sdmbtl.studies import Study

#: Seconds after which scalars are on disk, for a TensorBoard that watches.
FLUSH_EVERY = 5


class TensorBoardWriter:
    """A callback that writes scalars as a run goes: one run of TensorBoard for each policy.

    Over the steps of a policy "eval/mean_return", once for each evaluation on the training
    contexts, "train/steps_per_second" and the other metrics of the trainer, such as
    "train/mean_return". In the run "study", "study/mean_best_return" and, where the range of
    returns is known, "study/coverage" over the steps of all policies. A resumed run continues in
    the same directory; scalars of an interrupted training run are replaced.

    Args:
        study: The study that is run.
        directory: Directory of TensorBoard.

    Raises:
        MissingPackageError: If tensorboard is not installed.
        StudyError: If the directory is a file.
    """

    def __init__(self, study: Study, directory: str | Path) -> None:
        check_tensorboard(Path(directory))
        self._study, self._directory = study, Path(directory)
        self._runs: dict[str, Any] = {}

    def __enter__(self) -> Self:
        rows = self._study.selector.expected_returns
        best = np.maximum.accumulate(rows, axis=0) if len(rows) else rows
        for steps, returns in zip(self._steps(), best, strict=True):
            self._write_study(steps, float(self._study.space.mean(returns)))
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._runs):
            self._runs.pop(name).close()

    def __call__(self, event: Event) -> None:
        """Write the scalars of an event."""
        name = _run_name(event.trial)
        if event.stage in ("continued", "training") and event.policies == 1:
            self._write_evaluations(name, event.evaluations)
            metrics = {**event.metrics, "steps_per_second": event.steps_per_second}
            self._write(name, event.steps, {f"train/{k}": v for k, v in metrics.items()})
        elif event.stage == "trained":
            if name not in self._runs and event.trial.run is not None:  # one of a batch
                self._write_evaluations(name, event.trial.run.curve)
            if name in self._runs:
                self._runs.pop(name).close()
        elif event.stage == "finished":
            self._write_study(self._steps()[-1], self._study.performance)

    def _steps(self) -> list[int]:
        """Environment steps up to each finished policy, of training and evaluation."""
        random = self._study.random_actions
        runs = [t.run for t in self._study.trials if t.row is not None]
        steps = [0 if run is None else (run.steps or 0) + run.evaluation_steps for run in runs]
        return list(accumulate(steps, initial=0 if random is None else random.steps))[1:]

    def _write_evaluations(self, name: str, evaluations: Iterable[tuple[int, float]]) -> None:
        for steps, mean_return in evaluations:
            self._write(name, steps, {"eval/mean_return": mean_return})

    def _write_study(self, steps: int, performance: float) -> None:
        coverage = self._study.share(performance)
        scalars = {"study/mean_best_return": performance}
        scalars |= {} if coverage is None else {"study/coverage": coverage}
        self._write("study", steps, scalars)

    def _write(self, name: str, step: int, scalars: Mapping[str, float]) -> None:
        """Write those scalars that are numbers; an earlier process's file of the run is void."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary

        if name not in self._runs:
            file = _import_writer()(str(self._directory / name), flush_secs=FLUSH_EVERY)
            start = SessionLog(status=SessionLog.START)
            file.add_event(Event(wall_time=time.time(), step=0, session_log=start))
            self._runs[name] = file
        values = [
            Summary.Value(tag=tag, simple_value=value)
            for tag, value in scalars.items()
            if not math.isnan(value)
        ]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        self._runs[name].add_event(event)


def check_tensorboard(directory: Path) -> None:
    """Refuse a directory that could not be written to, before anything is trained.

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
