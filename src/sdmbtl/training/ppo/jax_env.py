"""PPO for JAX environments: one policy or many at once, compiled with their environments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import lru_cache
from typing import Any, Literal

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int, known_options
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError
from sdmbtl.policies import Policy
from sdmbtl.training.base import Trainer
from sdmbtl.training.checkpoint import Checkpoint, Snapshot
from sdmbtl.training.job import Evaluation, Training, TrainingJob
from sdmbtl.training.ppo.compiled import CompiledPPO, Tasks, TrainState
from sdmbtl.training.ppo.distributions import Gaussian
from sdmbtl.training.ppo.networks import arrays_of, from_arrays, start_backend
from sdmbtl.training.ppo.policy_form import PolicyForm
from sdmbtl.training.ppo.settings import PPOSettings
from sdmbtl.training.progress import EvaluationProgress, Progress, Report

#: Episodes that are played side by side in an evaluation, always as many: the last digits of a
#: product depend on the size of a batch, and returns must not. More at once are no faster.
EPISODES_AT_ONCE = 128


class JaxEnvPPO(Trainer):
    """PPO with small networks; environments and learning are compiled by JAX.

    Args:
        family: Environments with a JAX twin.
        space: The context space.
        chunk: Policies trained at once; about ten fit into the processor's cache.
        **settings: Of `PPOSettings`.

    Raises:
        TrainerError: If a setting is unusable.
    """

    name = "ppo"
    starts_from_parent = True
    adds_context = True
    evaluates_on_host = False
    settings_class = PPOSettings

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        max_episode_steps: int | None = None,
        chunk: int = 8,
        **settings: Any,
    ) -> None:
        super().__init__(family, space, max_episode_steps=max_episode_steps)
        environment = family.functional()
        assert environment is not None  # noqa: S101 (`trainer_class` has looked)
        self.chunk = check_int("chunk", chunk, low=1, error=TrainerError)
        known = [f.name for f in fields(PPOSettings)]
        known_options(self.name, settings, [*known, *self.own_settings()], error=TrainerError)
        self.ppo_settings = PPOSettings(**settings)
        if self.ppo_settings.recurrent:
            raise TrainerError(
                f"'recurrent' is for environments that are stepped by Python, and {family.name} is "
                "compiled by JAX. Use it as gym:NAME, or leave 'recurrent' out."
            )
        start_backend()
        self._ppo = _compile(
            environment,
            self.ppo_settings,
            self.max_episode_steps,
            family.for_evaluation().functional() or environment,
        )
        distribution = self._ppo.distribution
        bounds = distribution.bounds if isinstance(distribution, Gaussian) else None
        self.form = PolicyForm(
            environment.observation_size,
            space.n_units,
            distribution.n_outputs,
            self.ppo_settings,
            bounds,
        )

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
        settings = {**super().settings(), **self.ppo_settings.to_dict()}
        if self.max_episode_steps is None:  # recipes and studies without one do not name it
            del settings["max_episode_steps"]
        return settings

    def check_start(self, policy: Policy) -> None:
        """Refuse a policy with another network."""
        self.form.check_policy(policy, "starts from")

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy for each job, side by side.

        The same chunk gives the same policies. In another chunk a policy comes out a little
        different: the rounding of products depends on how many are computed at once.

        With evaluations, the parent of a policy is the first candidate for the best one.
        """
        settings, size = self.ppo_settings, self.ppo_settings.batch_size
        each = [self._tasks(job.contexts, job.sees_context) for job in jobs]
        tasks = Tasks(*[jax.device_put(np.stack(x)) for x in zip(*each, strict=True)])
        iterations = settings.num_iterations(jobs[0].steps)
        total = iterations * size * len(jobs)
        block = min(settings.eval_every, iterations)
        shape = (tasks.parameters.shape, tasks.coordinates.shape, block, jobs[0].parent is None)
        if progress is not None and shape not in self._ppo.compiled:
            progress(Report(0, total, stage="compiling"))
        self._ppo.compiled.add(shape)
        begin = [self.form.begin(job) for job in jobs]
        states = self._ppo.start(tasks, [job.seed for job in jobs], begin)
        curve: _Curve = []
        done = reported = 0

        def report(stage: Literal["continued", "training"] = "training") -> None:
            nonlocal reported
            if progress is not None:
                means = tuple((steps, float(each.mean())) for steps, each in curve)
                steps, new, reported = done * size * len(jobs), means[reported:], len(means)
                progress(Report(steps, total, means[-1][1], stage, new))

        def take_snapshot() -> Snapshot:
            """Return everything that the chunk needs to continue."""
            data = {"iterations": done, "curve": [[at, means.tolist()] for at, means in curve]}
            return Snapshot(data, arrays_of(states, "states"))

        saved = None if checkpoint is None else checkpoint.load()
        if saved is not None:
            states = from_arrays(states, "states", saved.arrays)
            curve = [(steps, np.array(means)) for steps, means in saved.data["curve"]]
            done = saved.data["iterations"]
            report("continued")
        elif jobs[0].parent is not None and settings.eval_episodes:
            states, means = self._ppo.evaluate(states, tasks)
            curve.append((0, np.asarray(means, dtype=np.float64)))
        for first in range(done, iterations, settings.eval_every):
            done = min(first + settings.eval_every, iterations)
            states, means = self._ppo.advance(
                states, tasks, np.arange(first, done, dtype=np.int32), np.int32(iterations)
            )
            curve.append((done * size, np.asarray(means, dtype=np.float64)))
            with nullcontext() if checkpoint is None else checkpoint.kept(take_snapshot):
                report()
        return [
            self._make_training(states, number, job, iterations * size, curve)
            for number, job in enumerate(jobs)
        ]

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
        episodes = check_int("episodes", episodes, low=1, error=TrainerError)
        weights, obs_stats = self.form.read_policy(policy)
        tasks = self._tasks(contexts, policy.sees_context)
        repeated = [np.repeat(np.asarray(x), episodes, axis=0) for x in tasks]
        total = len(repeated[0])
        keys = np.asarray(
            jax.random.split(jax.random.PRNGKey(seed % 2**32), total), dtype=np.uint32
        )
        numbers = np.arange(total // episodes) if only is None else np.array(only, dtype=np.intp)
        todo = (numbers[:, None] * episodes + np.arange(episodes)).ravel()
        size = EPISODES_AT_ONCE
        returns, steps = np.full(total, np.nan), 0
        for first in range(0, len(todo), size):
            # The last block is filled up with episodes that are then dropped.
            wanted = todo[first : first + size]
            rows = np.resize(wanted, size)
            block = Tasks(*[jax.device_put(x[rows]) for x in repeated])
            played, lengths = self._ppo.play(weights, obs_stats, block, keys[rows])
            returns[wanted] = np.asarray(played)[: len(wanted)]
            steps += int(np.asarray(lengths)[: len(wanted)].sum())
            if progress is not None:
                progress(min(first + size, len(todo)) // episodes, len(numbers))
        return Evaluation(returns.reshape(-1, episodes), steps=steps)

    # -- between contexts and arrays -----------------------------------------------------------

    def _tasks(self, contexts: ArrayLike, sees_context: bool) -> Tasks:
        vectors = self.usable_contexts(contexts)
        if not len(vectors):
            raise TrainerError("There are no contexts: give at least one.")
        parameters = self._ppo.environment.parameters(self.space.names, vectors)
        seen = self.space.to_unit(vectors) if sees_context else np.empty((len(vectors), 0))
        return Tasks(parameters, seen.astype(np.float32))  # type: ignore[arg-type]

    def _make_training(
        self, states: TrainState, number: int, job: TrainingJob, steps: int, curve: _Curve
    ) -> Training:
        """Return the finished run of one of the jobs."""
        best = states.best, states.best_return, states.evaluation_steps
        (weights, obs_stats), mean, played = jax.tree.map(lambda x: np.asarray(x)[number], best)
        if not all(np.isfinite(part).all() for part in jax.tree.leaves((weights, obs_stats, mean))):
            raise self.failed(job, "returns or weights are not finite")
        entries = [(at, float(returns[number])) for at, returns in curve]
        policy = self.form.make_policy(weights, obs_stats)
        return Training(policy, steps, float(mean), entries, int(played))


_Curve = list[tuple[int, NDArray[np.float64]]]

#: The same functions for the same settings: compiling them takes seconds.
_compile = lru_cache(maxsize=8)(CompiledPPO)
