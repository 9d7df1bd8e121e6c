"""Progress reports of training runs and evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True)
class Report:
    """Progress of a training run.

    Attributes:
        steps: Environment steps done.
        total_steps: Environment steps of the whole run; 0 while that is not known.
        mean_return: Latest mean return, to be shown; NaN before there is one.
        stage: "compiling" while it waits for its code, "continued" when it starts at a
            checkpoint at `steps`, otherwise "training".
        evaluations: Steps and mean return on the training contexts of evaluations that were made
            since the last report; of a run that continues, of all so far.
        metrics: Numbers of the training itself by name, such as the mean return of episodes that
            explore.
    """

    steps: int
    total_steps: int
    mean_return: float = math.nan
    stage: Literal["compiling", "continued", "training"] = "training"
    evaluations: tuple[tuple[int, float], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


#: Called now and then during training.
Progress = Callable[[Report], None]

#: Called during an evaluation with contexts done and contexts in all.
EvaluationProgress = Callable[[int, int], None]


class ProgressError(BaseException):
    """Carries an error of the progress callback past those who handle errors of a training run."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


class JointProgress:
    """Turns the progress of one chunk after another into that of all jobs.

    What `progress` raises comes as a `ProgressError`, which is not an `Exception`.
    """

    def __init__(self, progress: Progress | None, jobs: int) -> None:
        self._progress = progress
        self._left = self._jobs = jobs
        self._done = self._latest = 0

    def part(self, size: int) -> Progress | None:
        """Return the callback of the next chunk, of `size` jobs."""
        if self._progress is None:
            return None
        progress = self._progress
        self._left -= size
        self._done += self._latest

        def report(own: Report) -> None:
            total = self._latest = own.total_steps
            joint = replace(
                own,
                steps=self._done + own.steps,
                # Jobs to come are taken to be as long as those of this chunk.
                total_steps=self._done + total + self._left * (total // size),
                evaluations=own.evaluations if self._jobs == 1 else (),
            )
            try:
                progress(joint)
            except Exception as error:
                raise ProgressError(error) from error

        return report
