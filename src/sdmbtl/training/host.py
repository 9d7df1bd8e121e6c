"""What trainers share whose environments are stepped by Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.policies import Policy
from sdmbtl.training.base import Evaluation, Trainer
from sdmbtl.training.progress import EvaluationProgress
from sdmbtl.training.rollout import evaluate_in_gymnasium


class HostTrainer(Trainer):
    """Plays policies in environments of any kind, in this process."""

    evaluates_on_host = True

    def evaluate(
        self,
        policy: Policy,
        contexts: ArrayLike,
        *,
        episodes: int,
        seed: int,
        only: Sequence[int] | None = None,
        progress: EvaluationProgress | None = None,
    ) -> Evaluation:
        """Play a policy on (n, D) contexts; see `Trainer.evaluate`."""
        kept = self.family.for_evaluation()
        how = {"episodes": episodes, "seed": seed, "only": only, "progress": progress}
        return self.play(kept, policy, contexts, **how)

    def play(
        self, family: EnvironmentFamily, policy: Policy, contexts: ArrayLike, **how: Any
    ) -> Evaluation:
        """Play a policy in a family's environments: those of training may have other episodes.

        Args:
            family: The environments, with the spaces of this trainer's.
            policy: The policy.
            contexts: (n, D) contexts.
            **how: As for `evaluate`.
        """
        return self.player(family)(
            policy,
            family,
            self.space,
            self.usable_contexts(contexts),
            observe_context=self.observe_context,
            max_episode_steps=self.max_episode_steps,
            endless_after=self.endless_after,
            **how,
        )

    def player(self, family: EnvironmentFamily) -> Callable[..., Evaluation]:
        """What plays episodes of a family's environments."""
        del family
        return evaluate_in_gymnasium
