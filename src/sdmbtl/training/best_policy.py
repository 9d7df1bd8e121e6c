"""Selection of the best policy of a training run."""

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
    """The best policy so far, by its mean return on the training contexts.

    Attributes:
        policy: The policy; None before the first evaluation.
        mean_return: Its mean return.
        curve: (steps, mean return) of each evaluation.
    """

    policy: Policy | None = None
    mean_return: float = -math.inf
    curve: list[tuple[int, float]] = field(default_factory=list)
    _reported: int = 0

    def consider(
        self,
        trainer: Trainer,
        job: TrainingJob,
        policy: Policy,
        steps: int,
        *,
        episodes: int,
        seed: int,
    ) -> None:
        """Play a policy on its training contexts; keep it if it is the best so far.

        Args:
            trainer: The trainer.
            job: The training run.
            policy: The policy after `steps` environment steps.
            steps: Environment steps so far.
            episodes: Episodes in all; at least one on each evaluated context.
            seed: Seed of the episodes.

        Raises:
            TrainingError: If its weights or its returns are not finite.
        """
        if not all(np.isfinite(array).all() for array in policy.arrays().values()):
            raise trainer.failed(job, f"weights are not finite after {steps} steps")
        # Some contexts, evenly among all, and the same episodes each time: otherwise these, and
        # not the policy, would decide which one is the best.
        number = min(len(job.contexts), MOST_EVALUATED)
        rows = np.linspace(0, len(job.contexts) - 1, number).astype(np.intp)
        played = trainer.play(
            trainer.family,
            policy,
            job.contexts[rows],
            episodes=-(-episodes // number),
            seed=seed,
        )
        mean_return = float(played.complete().mean())
        if not math.isfinite(mean_return):
            raise trainer.failed(job, f"the mean return is {mean_return} after {steps} steps")
        self.curve.append((steps, mean_return))
        if mean_return >= self.mean_return:  # of equally good ones the one trained longer
            self.policy, self.mean_return = policy, mean_return

    def take_new_evaluations(self) -> tuple[tuple[int, float], ...]:
        """Return the evaluations since the last call, for a report of progress."""
        new, self._reported = tuple(self.curve[self._reported :]), len(self.curve)
        return new
