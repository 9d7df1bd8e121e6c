"""One long training run, and what shorter ones would have given."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import jax.numpy as jnp

from sdmbtl.policies import Policy
from sdmbtl.training import Trainer, TrainingJob
from sdmbtl.training.ppo.compiled import Tasks
from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO
from sdmbtl.training.ppo.jax_env import JaxEnvPPO
from sdmbtl.training.ppo.settings import PPOSettings


class LongRuns(Trainer):
    """PPO that also gives the policies with which shorter runs would have ended."""

    ppo_settings: PPOSettings

    @abstractmethod
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

    def _ends(self, steps: Sequence[int], every: int = 1) -> list[int]:
        """Iterations after which the runs end: multiples of a number."""
        if self.ppo_settings.anneal_lr:
            raise ValueError("With a falling learning rate each length needs a separate run.")
        return [-(-self.ppo_settings.num_iterations(n) // every) * every for n in steps]


class JaxLongRuns(LongRuns, JaxEnvPPO):
    """Of environments that are compiled: the jobs are trained side by side."""

    def policies_after(
        self, jobs: Sequence[TrainingJob], steps: Sequence[int]
    ) -> list[list[Policy]]:
        """Return for each number of steps the best policy of each job so far."""
        every = self.ppo_settings.eval_every
        ends = self._ends(steps, every)
        each = [self._tasks(job.contexts, job.sees_context) for job in jobs]
        tasks = Tasks(*[jnp.stack(x) for x in zip(*each, strict=True)])
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


class GymnasiumLongRuns(LongRuns, GymnasiumPPO):
    """Of environments that are stepped by Python: one job after another."""

    def policies_after(
        self, jobs: Sequence[TrainingJob], steps: Sequence[int]
    ) -> list[list[Policy]]:
        """Return for each number of steps the best policy of each job so far."""
        ends = self._ends(steps)
        of_jobs = [self._policies_of(job, ends) for job in jobs]
        return [list(policies) for policies in zip(*of_jobs, strict=True)]

    def _policies_of(self, job: TrainingJob, ends: Sequence[int]) -> list[Policy]:
        state, slots = self.begin(job), self.open_slots(job)
        found: list[Policy] = []
        try:
            slots.start(state.env_states)
            while state.iteration < ends[-1]:
                self.iterate(state, slots, job, ends[-1])
                if state.iteration in ends or state.iteration % self.ppo_settings.eval_every == 0:
                    self._add_to_curve(state, job)
                if state.iteration in ends:
                    assert state.best.policy is not None  # noqa: S101 (it was just added)
                    found.append(state.best.policy)
        finally:
            slots.close()
        return found
