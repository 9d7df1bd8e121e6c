"""Selection of the policy that a training run returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sdmbtl.policies import Policy
from sdmbtl.training.base import Trainer
from sdmbtl.training.job import TrainingJob

#: At most this many training contexts are evaluated during training, always the same ones.
MOST_EVALUATED = 16


@dataclass
class BestPolicy:
    """The best policy so far, by evaluations on the training contexts; without them the latest.

    Attributes:
        policy: The policy; None before the first entry of the learning curve.
        mean_return: Its mean return.
        curve: (steps, mean return) of each evaluation, or of the episodes of training.
        evaluation_steps: Environment steps of all evaluations.
    """

    policy: Policy | None = None
    mean_return: float = -math.inf
    curve: list[tuple[int, float]] = field(default_factory=list)
    evaluation_steps: int = 0
    _reported: int = 0

    def consider(
        self,
        trainer: Trainer,
        job: TrainingJob,
        policy: Policy,
        steps: int,
        *,
        training_return: float,
        episodes: int,
        seed: int,
    ) -> None:
        """Add a policy to the learning curve; keep it if it is the best so far.

        With `episodes`, it plays that many, at least one on each evaluated context. Without, its
        return is that of the latest episodes of training, and it is kept.

        Raises:
            TrainingError: If its weights or its returns are not finite.
        """
        if not all(np.isfinite(array).all() for array in policy.arrays().values()):
            raise trainer.failed(job, f"weights are not finite after {steps} steps")
        mean_return = training_return
        if episodes:
            # Some contexts, evenly among all, and the same episodes each time: otherwise these, and
            # not the policy, would decide which one is the best.
            number = min(len(job.contexts), MOST_EVALUATED)
            rows = np.linspace(0, len(job.contexts) - 1, number).astype(np.intp)
            how = {"episodes": -(-episodes // number), "seed": seed}
            played = trainer.play(trainer.family, policy, job.contexts[rows], **how)
            self.evaluation_steps += played.steps
            mean_return = float(played.complete().mean())
        if not math.isfinite(mean_return):
            raise trainer.failed(job, f"the mean return is {mean_return} after {steps} steps")
        self.curve.append((steps, mean_return))
        # Of equally good ones the one trained longer. Returns of training are too noisy to choose.
        if not episodes or mean_return >= self.mean_return:
            self.policy, self.mean_return = policy, mean_return

    def take_new_evaluations(self) -> tuple[tuple[int, float], ...]:
        """Return the evaluations since the last call, for a report of progress."""
        new, self._reported = tuple(self.curve[self._reported :]), len(self.curve)
        return new
