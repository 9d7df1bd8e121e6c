"""Progress reports of training runs and evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
