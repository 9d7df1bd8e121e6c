"""Learning curves and coverage as scalars of TensorBoard, Weights & Biases or MLflow."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sdmbtl.checks import known_name
from sdmbtl.errors import MissingPackageError, StudyError

if TYPE_CHECKING:
    from sdmbtl.callbacks.event import Event
    from sdmbtl.studies import Study

#: Seconds after which scalars are on disk, for a TensorBoard that watches.
FLUSH_EVERY = 5

#: Project of Weights & Biases, and experiment of MLflow, unless a variable names another.
PROJECT = "sdmbtl"


class Tracker(ABC):
    """A callback that writes scalars as a run goes, in a group for each policy.

    Over the steps of a policy "eval/mean_return", once for each evaluation on the training
    contexts, "train/steps_per_second" and the other metrics of the trainer, such as
    "train/mean_return". In the group "study", "study/mean_best_return" and, where the range of
    returns is known, "study/coverage" over the steps of all policies.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._begun: set[str] = set()

    @abstractmethod
    def _write(self, name: str, step: int, scalars: Mapping[str, float]) -> None:
        """Write scalars of a group at a step."""

    def _end(self, name: str) -> None:  # noqa: B027 - not every tracker closes groups
        """Take note that nothing more of a group comes."""

    def __enter__(self) -> Self:
        rows = self._study.selector.expected_returns
        best = np.maximum.accumulate(rows, axis=0) if len(rows) else rows
        for steps, returns in zip(self._steps(), best, strict=True):
            self._write_study(steps, float(self._study.space.mean(returns)))
        return self

    def __exit__(self, *_: object) -> None:
        for name in sorted(self._begun):
            self._end(name)

    def __call__(self, event: Event) -> None:
        """Write the scalars of an event."""
        run = event.trial.run
        attempt = 0 if run is None else run.attempt
        name = f"policy-{event.trial.id:04d}" + (f"-attempt-{attempt}" if attempt else "")
        if event.stage in ("continued", "training") and event.policies == 1:
            self._begun.add(name)
            self._write_evaluations(name, event.evaluations)
            metrics = {**event.metrics, "steps_per_second": event.steps_per_second}
            known = {f"train/{k}": v for k, v in metrics.items() if not math.isnan(v)}
            self._write(name, event.steps, known)
        elif event.stage == "trained":
            if name not in self._begun and run is not None:  # one of a batch
                self._write_evaluations(name, run.curve)
            self._begun.discard(name)
            self._end(name)
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
            if not math.isnan(mean_return):
                self._write(name, steps, {"eval/mean_return": mean_return})

    def _write_study(self, steps: int, performance: float) -> None:
        coverage = self._study.share(performance)
        scalars = {"study/mean_best_return": performance}
        scalars |= {} if coverage is None else {"study/coverage": coverage}
        self._begun.add("study")
        self._write("study", steps, scalars)


class TensorBoardWriter(Tracker):
    """Scalars for TensorBoard in the study's directory, one of its runs for each group.

    A resumed run continues in the same directory; scalars of an interrupted training run are
    replaced.
    """

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self._directory = study.path / "tensorboard"
        self._runs: dict[str, Any] = {}
        _import("tensorboard.summary.writer.event_file_writer", "tensorboard")

    def _end(self, name: str) -> None:
        if name in self._runs:
            self._runs.pop(name).close()

    def _write(self, name: str, step: int, scalars: Mapping[str, float]) -> None:
        """Write scalars; an earlier process's file of the run is void."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary

        if name not in self._runs:
            writer = _import("tensorboard.summary.writer.event_file_writer", "tensorboard")
            folder = str(self._directory / name)
            self._runs[name] = writer.EventFileWriter(folder, flush_secs=FLUSH_EVERY)
            start = SessionLog(status=SessionLog.START)
            self._runs[name].add_event(Event(wall_time=time.time(), step=0, session_log=start))
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        self._runs[name].add_event(event)


class WandbWriter(Tracker):
    """Scalars for Weights & Biases: one run for a study, which a resumed study continues.

    `WANDB_PROJECT`, `WANDB_MODE=offline`, `WANDB_DIR` and its other variables apply.
    """

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self._wandb = _import("wandb", "wandb")
        self._run: Any = None

    def __enter__(self) -> Self:
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=str(self._study.path),
            id=_identity(self._study),
            resume="allow",
            config=asdict(self._study.configuration),
        )
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        if self._run is not None:
            self._run.finish()

    def _write(self, name: str, step: int, scalars: Mapping[str, float]) -> None:
        """Log the scalars over the steps of their group."""
        if self._run is not None:
            self._run.define_metric(f"{name}/*", step_metric=f"{name}/steps")
            self._run.log({f"{name}/steps": step, **_with_group(name, scalars)})


class MlflowWriter(Tracker):
    """Metrics for MLflow: one run for a study, which a resumed study continues.

    `MLFLOW_TRACKING_URI` and `MLFLOW_EXPERIMENT_NAME` apply.
    """

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self._client, self._run = _import("mlflow", "mlflow").MlflowClient(), ""

    def __enter__(self) -> Self:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self._client.get_experiment_by_name(name)
        at = self._client.create_experiment(name) if known is None else known.experiment_id
        own = _identity(self._study)
        found = self._client.search_runs([at], f"tags.`sdmbtl.study` = '{own}'", max_results=1)
        if not found:
            tags = {"sdmbtl.study": own, "mlflow.runName": str(self._study.path)}
            found = [self._client.create_run(at, tags=tags)]
        self._run = found[0].info.run_id
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self._client.set_terminated(self._run)

    def _write(self, name: str, step: int, scalars: Mapping[str, float]) -> None:
        """Log a metric for each scalar."""
        for tag, value in _with_group(name, scalars).items():
            self._client.log_metric(self._run, tag, value, step=step)


#: Trackers by name.
TRACKERS: dict[str, type[TensorBoardWriter | WandbWriter | MlflowWriter]] = {
    "tensorboard": TensorBoardWriter,
    "wandb": WandbWriter,
    "mlflow": MlflowWriter,
}


def make_trackers(study: Study, names: Iterable[str]) -> list[Tracker]:
    """Make trackers by their names."""
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        known_name("log", name, TRACKERS, error=StudyError)
    return [TRACKERS[name](study) for name in chosen]


def _with_group(name: str, scalars: Mapping[str, float]) -> dict[str, float]:
    """Begin the names of scalars with their group, once."""
    return {f"{name}/{tag.removeprefix(f'{name}/')}": value for tag, value in scalars.items()}


def _identity(study: Study) -> str:
    """Return a name of a study that stays when it is resumed."""
    place = json.dumps([str(study.path.resolve()), asdict(study.configuration)], sort_keys=True)
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _import(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingPackageError.of(f"--log {package}", package, package) from error
