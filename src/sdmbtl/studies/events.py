"""What happens in a study, told as it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sdmbtl.selectors import Trial

Stage = Literal["asked", "training", "saved", "trained", "evaluating", "failed", "finished"]


@dataclass(frozen=True)
class Event:
    """What happens in a study, told as it happens.

    Attributes:
        stage: "asked": a context was chosen. "training": steps were done. "saved": the policy
            file is written, "trained": and recorded. "evaluating": on the targets. "finished":
            the row is recorded. "failed": an attempt at training went wrong.
        trial: The policy it is about, as recorded.
        steps: Steps done, while training.
        total_steps: Steps to do, while training.
        mean_return: Latest mean return, while training.
    """

    stage: Stage
    trial: Trial
    steps: int = 0
    total_steps: int = 0
    mean_return: float = float("nan")


Observer = Callable[[Event], None]
