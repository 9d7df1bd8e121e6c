"""Batched PPO: one context or hundreds at once, for environments that are pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import known_options, whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.parallel import available_cores, environment_variables
from sdmbtl.policies import MlpPolicy, Policy
from sdmbtl.policies.mlp import OBSERVATION_LIMIT
from sdmbtl.trainers.base import (
    Evaluation,
    EvaluationProgress,
    Progress,
    Trainer,
    Training,
    TrainingJob,
)
from sdmbtl.trainers.ppo import PPO, TINY, Layers, PPOSettings, Scaling, Tasks, TrainState, Weights

#: Episodes that are played side by side in an evaluation: as many as stay in the cache.
EPISODES_AT_ONCE = 1024


class BatchedPPOTrainer(Trainer):
    """PPO with small networks, compiled by JAX.

    Args:
        family: Environments that have a pure-function twin.
        space: The context space.
        observe_context: Whether policies see their context; see `Trainer`.
        chunk: Policies trained side by side; about ten stay in the cache.
        processes: Processes for several chunks; as many as there are cores if left out.
        **settings: Of `PPOSettings`.

    Raises:
        TrainerError: If the family has no pure-function twin, or a setting is unusable.
    """

    name = "ppo"
    starts_from_parent = True
    settings_class = PPOSettings

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        observe_context: bool = False,
        chunk: int = 8,
        processes: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(family, space, observe_context=observe_context)
        environment = family.functional()
        if environment is None:
            raise TrainerError(
                f"{family.name} has no pure-function twin, so it cannot be trained in batches. "
                "Use the trainer 'sb3'."
            )
        processes = available_cores() if processes is None else processes
        self.chunk = whole_number("chunk", chunk, low=1, error=TrainerError)
        self.processes = whole_number("processes", processes, low=1, error=TrainerError)
        known = [f.name for f in fields(PPOSettings)]
        known_options(self.name, settings, [*known, *self.own_settings()], error=TrainerError)
        self.ppo_settings = PPOSettings(**settings)
        _start_backend()
        self._ppo, self._compiled = _compile(
            environment, self.ppo_settings, space.n_dimensions if observe_context else 0
        )

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
        settings = {**super().settings(), **asdict(self.ppo_settings)}
        return {**settings, "hidden_sizes": list(self.ppo_settings.hidden_sizes)}

    def train_chunk(
        self, jobs: Sequence[TrainingJob], progress: Progress | None = None
    ) -> list[Training]:
        """Train one policy for each job, side by side.

        The same chunk gives the same policies. In another chunk a policy comes out a little
        different: the rounding of products depends on how many are computed at once.

        A policy that starts from a parent has its weights, its critic and its statistics of the
        observations, but explores as one from scratch. The parent itself is the first candidate
        for the best policy: nothing worse is returned, by the evaluations during training.
        """
        settings, size = self.ppo_settings, self.ppo_settings.batch_size
        tasks = self._stacked_tasks(jobs)
        iterations = settings.num_iterations(jobs[0].steps)
        total = iterations * size * len(jobs)
        block = min(settings.eval_every, iterations)
        shape = (tasks.parameters.shape, block, jobs[0].parent is None)
        if progress is not None and shape not in self._compiled:
            progress(0, total, math.nan)
        self._compiled.add(shape)
        begin = [self._begin(job) for job in jobs]
        states = self._ppo.start(tasks, [job.seed for job in jobs], begin)
        curve: list[tuple[int, NDArray[np.float64]]] = []
        if jobs[0].parent is not None:
            states, means = self._ppo.evaluate(states, tasks)
            curve.append((0, np.asarray(means, dtype=np.float64)))
        for first in range(0, iterations, settings.eval_every):
            last = min(first + settings.eval_every, iterations)
            states, means = self._ppo.advance(
                states, tasks, jnp.arange(first, last), jnp.int32(iterations)
            )
            curve.append((last * size, np.asarray(means, dtype=np.float64)))
            if progress is not None:
                progress(last * size * len(jobs), total, float(curve[-1][1].mean()))
        return [
            Training(
                policy=self._make_policy(states, number, job),
                steps=iterations * size,
                source_return=float(states.best_return[number]),
                curve=[(steps, float(returns[number])) for steps, returns in curve],
            )
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
        episodes = whole_number("episodes", episodes, low=1, error=TrainerError)
        weights, scaling = self._load_policy(policy)
        repeated = [np.repeat(np.asarray(x), episodes, axis=0) for x in self._tasks(contexts)]
        total = len(repeated[0])
        keys = np.asarray(
            jax.random.split(jax.random.PRNGKey(seed % 2**32), total), dtype=np.uint32
        )
        numbers = np.arange(total // episodes) if only is None else np.array(only, dtype=np.intp)
        todo = (numbers[:, None] * episodes + np.arange(episodes)).ravel()
        size = min(total, EPISODES_AT_ONCE)
        returns = np.full(total, np.nan)
        for first in range(0, len(todo), size):
            # The last block is filled up with episodes that are then dropped: one shape, one
            # compilation.
            rows = todo[np.minimum(np.arange(first, first + size), len(todo) - 1)]
            block = Tasks(*[jnp.asarray(x[rows]) for x in repeated])
            played = self._ppo.play(weights, scaling, block, jnp.asarray(keys[rows]))
            returns[rows] = np.asarray(played)
            if progress is not None:
                progress(min(first + size, len(todo)) // episodes, len(numbers))
        return Evaluation(returns.reshape(-1, episodes))

    # -- between contexts and arrays -----------------------------------------------------------

    def _tasks(self, contexts: ArrayLike) -> Tasks:
        vectors = self.usable_contexts(contexts)
        if not len(vectors):
            raise TrainerError("There are no contexts: give at least one.")
        parameters = self._ppo.environment.parameters(self.space.names, vectors)
        seen = self.space.to_unit(vectors) if self.observe_context else np.empty((len(vectors), 0))
        return Tasks(parameters, seen.astype(np.float32))  # type: ignore[arg-type]

    def _stacked_tasks(self, jobs: Sequence[TrainingJob]) -> Tasks:
        shapes = {job.shape for job in jobs}
        if len(shapes) != 1:
            raise TrainerError(
                "Jobs that are trained side by side need the same number of contexts and of "
                "steps, and all a parent or none. Got (contexts, steps, parent) = "
                f"{sorted(shapes, key=str)} instead. train() groups them."
            )
        each = [self._tasks(job.contexts) for job in jobs]
        return Tasks(*[jnp.asarray(np.stack(x)) for x in zip(*each, strict=True)])

    def _make_policy(self, states: TrainState, number: int, job: TrainingJob) -> MlpPolicy:
        weights, scaling = jax.tree.map(lambda x: np.asarray(x[number]), states.best)
        values = (states.best_return[number], weights, scaling)
        if not all(np.isfinite(x).all() for x in jax.tree.leaves(values)):
            raise TrainingError(
                f"The training run on {self.shown(job)} with seed {job.seed} gave returns or "
                "weights that are not finite. A smaller learning_rate may help."
            )
        norm_obs = self.ppo_settings.norm_obs
        size = self._ppo.n_inputs
        return MlpPolicy(
            [w for w, _ in weights.actor],
            [b for _, b in weights.actor],
            shift=scaling.mean if norm_obs else np.zeros(size, np.float32),
            scale=1 / np.sqrt(scaling.variance + TINY) if norm_obs else np.ones(size, np.float32),
            bounds=self._ppo.bounds,
            limit=OBSERVATION_LIMIT if norm_obs else None,
            critic=weights.critic,
            observations_seen=float(scaling.number) if norm_obs else None,
        )

    def _begin(self, job: TrainingJob) -> tuple[Weights, Scaling]:
        """What a training run begins with: from scratch, or from a parent.

        Raises:
            TrainerError: If the parent does not fit.
        """
        fresh, unseen = self._ppo.initial(job.seed)
        if job.parent is None:
            return fresh, unseen
        parent, settings = self._check_own(job.parent, "starts from"), self.ppo_settings
        weights, scaling = self._load_policy(parent)
        fits = [w.shape for w, _ in parent.critic] == [w.shape for w, _ in fresh.critic]
        if (parent.critic and not fits) or (parent.limit is not None) != settings.norm_obs:
            raise TrainerError(
                "The parent was trained with another critic, or another norm_obs "
                f"(here {settings.norm_obs}), so training cannot start from it. Make the trainer "
                "with its settings, or start from scratch."
            )
        # Of an older file it is not known how much was seen: as much as is usual.
        usual = settings.num_iterations() * settings.batch_size
        seen = parent.observations_seen or usual
        return (
            Weights(weights.actor, _as_layers(parent.critic) or fresh.critic, fresh.log_std),
            scaling._replace(number=jnp.float32(seen)) if settings.norm_obs else unseen,
        )

    def _check_own(self, policy: Policy, does: str) -> MlpPolicy:
        sizes = (self._ppo.n_inputs, *self.ppo_settings.hidden_sizes, self._ppo.n_outputs)
        shapes = list(pairwise(sizes))
        if not isinstance(policy, MlpPolicy) or [w.shape for w in policy.weights] != shapes:
            got = (
                f"one with layers {[len(policy.shift), *[len(b) for b in policy.biases]]}"
                if isinstance(policy, MlpPolicy)
                else repr(policy)
            )
            raise TrainerError(
                f"This trainer {does} its own policies, with layers {list(sizes)}. "
                f"Got {got} instead. Make the trainer with the settings of that policy."
            )
        return policy

    def _load_policy(self, policy: Policy) -> tuple[Weights, Scaling]:
        """A policy as the compiled functions take it."""
        own = self._check_own(policy, "evaluates")
        layers = _as_layers(zip(own.weights, own.biases, strict=True))
        scaling = Scaling(
            jnp.asarray(own.shift), jnp.asarray(own.scale**-2.0 - TINY), jnp.float32(1.0)
        )
        return Weights(layers, [], jnp.zeros(0)), scaling


def _as_layers(arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> Layers:
    return [(jnp.asarray(weight), jnp.asarray(bias)) for weight, bias in arrays]


@lru_cache(maxsize=8)
def _compile(
    environment: FunctionalEnvironment, settings: PPOSettings, n_coordinates: int
) -> tuple[PPO, set[tuple[object, ...]]]:
    """The same functions for the same settings: compiling them, for each shape, takes seconds.

    Returns:
        The functions, and the shapes of training runs for which they have been compiled.
    """
    return PPO(environment, settings, n_coordinates), set()


def _start_backend() -> None:
    """Start JAX as small networks need it; without effect if it has been started before."""
    # Computations in the background outlive a Ctrl-C, and crash at the exit.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    # XLA's number of threads: a second one only costs time here.
    with environment_variables({"NPROC": "1"}):
        jax.devices()
