"""One long training run, and what shorter ones would have given."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from sdmbtl.policies import Policy
from sdmbtl.training import TrainingJob
from sdmbtl.training.ppo.jax_env import JaxEnvPPO


class LongRuns(JaxEnvPPO):
    """Batched PPO that also gives the policies with which shorter runs would have ended."""

    def policies_after(
        self, jobs: Sequence[TrainingJob], steps: Sequence[int]
    ) -> list[list[Policy]]:
        """Train side by side; for each number of steps, the best policy of each job so far.

        With a constant learning rate a shorter run with the same seed is the beginning of a
        longer one: all of them cost as much as the longest. A run ends at an evaluation, at most
        one interval late.

        Args:
            jobs: The policies; their own steps do not count.
            steps: Environment steps, rising.

        Raises:
            ValueError: If the learning rate depends on the length of the run.
        """
        settings = self.ppo_settings
        if settings.anneal_lr:
            raise ValueError("With a falling learning rate each length needs a separate run.")
        every = settings.eval_every
        ends = [-(-settings.num_iterations(n) // every) * every for n in steps]
        tasks = self._stacked_tasks(jobs)
        begin = [self.form.begin(job) for job in jobs]
        states = self._ppo.start(tasks, [job.seed for job in jobs], begin)
        found: list[list[Policy]] = []
        for first in range(0, ends[-1], every):
            numbers = jnp.arange(first, first + every)
            states, _ = self._ppo.advance(states, tasks, numbers, jnp.int32(ends[-1]))
            while len(found) < len(ends) and ends[len(found)] == first + every:
                found.append(
                    [
                        self._make_training(states, i, job, 0, []).policy
                        for i, job in enumerate(jobs)
                    ]
                )
        return found
