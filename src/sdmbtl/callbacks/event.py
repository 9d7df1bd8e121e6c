"""Events of a study, which callbacks are called with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sdmbtl.selectors import Trial

Stage = Literal[
    "asked",
    "compiling",
    "continued",
    "training",
    "saved",
    "trained",
    "evaluating",
    "lost",
    "waiting",
    "failed",
    "finished",
]


@dataclass(frozen=True)
class Event:
    """Something that happens in a study.

    Attributes:
        stage: "asked": a context was chosen. "compiling": training waits for its code.
            "continued": training continues from a checkpoint. "training": steps were done.
            "saved": the policy file is written, "trained": and recorded. "evaluating": on the
            targets. "finished": the row is recorded. "failed": an attempt at training went wrong.
            "lost": a worker died or hung; what it worked on is begun again. "waiting": another
            process works on it, and there is nothing else to do.
        trial: The policy it is about, as recorded; of several that are trained side by side the
            first, until they are saved.
        steps: Environment steps done, while training; targets done, while evaluating.
        total_steps: Their number at the end; 0 if that is not known.
        mean_return: Latest mean return, while training.
        steps_per_second: Of this training run without its compilation; NaN until that is known.
        policies: Number of policies that are trained side by side.
        evaluations: Steps and mean return of evaluations on the training contexts that were made
            since the last event; of a training run that continues, of all so far.
        metrics: Numbers of the training itself by name; see `Report`.
        warning: A problem of a finished policy, if there seems to be one.
    """

    stage: Stage
    trial: Trial
    steps: int = 0
    total_steps: int = 0
    mean_return: float = math.nan
    steps_per_second: float = math.nan
    policies: int = 1
    evaluations: tuple[tuple[int, float], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    warning: str | None = None


#: Called with each event. One that is a context manager is entered and left with the run.
Callback = Callable[[Event], None]
