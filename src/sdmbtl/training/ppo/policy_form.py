"""Conversion between the weights that PPO learns and policies with their files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import TrainerError
from sdmbtl.policies import MlpPolicy, Policy
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.policies.distilled import DistilledPolicy, GatedUnit
from sdmbtl.policies.images import ImageShape, image_shape
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, ReturnStatistics
from sdmbtl.training.job import TrainingJob
from sdmbtl.training.ppo.networks import (
    TINY,
    Layers,
    Recurrent,
    RunningStats,
    Weights,
    initial_stats,
    initial_weights,
    layer_shapes,
    to_jax,
)
from sdmbtl.training.ppo.settings import PPOSettings


@dataclass(frozen=True)
class PolicyForm:
    """Architecture that all policies of a trainer share.

    Attributes:
        observation_size: O, the entries of an observation after it was flattened.
        n_coordinates: C, coordinates of a context, which some policies see after the observation.
        n_outputs: K, the outputs of the actor.
        bounds: Bounds of continuous actions; None for discrete ones, or with a space.
        observation_space: If observations have to be flattened.
        action_space: If actions are of another form than numbers from 0 or plain vectors.
        action_scale: (K,) centre and half the width of the actions, if they are learned between -1
            and 1. The file of a policy has the last layer for the environment's actions.
        image: Shape of the image that observations begin with; None if nothing is convolved.
    """

    observation_size: int
    n_coordinates: int
    n_outputs: int
    settings: PPOSettings
    bounds: tuple[float, float] | None = None
    observation_space: spaces.Space[Any] | None = None
    action_space: spaces.Space[Any] | None = None
    action_scale: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
    image: ImageShape | None = None

    @classmethod
    def of_spaces(
        cls,
        observations: FlatObservations,
        actions: ActionCode,
        n_coordinates: int,
        settings: PPOSettings,
    ) -> Self:
        """Return the form for an environment's spaces, kept only where they are needed."""
        space, bounds = actions.space, None
        match space:
            case spaces.Discrete() if space.start == 0:
                is_plain = True
            case spaces.Box(shape=[_], dtype=np.float32) if space.is_bounded():
                is_plain = len({*space.low.tolist()}) == len({*space.high.tolist()}) == 1
                bounds = (float(space.low[0]), float(space.high[0])) if is_plain else None
            case _:
                is_plain = False
        return cls(
            observations.size,
            n_coordinates,
            actions.size,
            settings,
            bounds,
            None if observations.is_plain else observations.space,
            None if is_plain and not settings.recurrent else space,
            None if actions.is_plain else (actions.centre, actions.half_width),
            None if settings.recurrent else image_shape(observations.space),
        )

    def n_inputs(self, sees_context: bool) -> int:
        """Return I, the inputs of a network that sees the context, or of one that does not."""
        own = self.n_outputs if self.settings.recurrent else 0  # its last action
        return self.observation_size + (self.n_coordinates if sees_context else 0) + own

    def make_policy(
        self,
        weights: Weights,
        obs_stats: RunningStats,
        return_statistics: ReturnStatistics | None = None,
    ) -> MlpPolicy | DistilledPolicy:
        """Make the policy of these weights, in arrays of NumPy."""
        norm_obs, size = self.settings.norm_obs, len(obs_stats.mean)
        *actor, (last, bias) = [(np.asarray(w), np.asarray(b)) for w, b in weights.actor]
        if self.action_scale is not None:
            centre, half_width = self.action_scale
            last, bias = last * half_width, bias * half_width + centre
        mean: NDArray[np.float32] = np.asarray(obs_stats.mean)
        variance: NDArray[np.float32] = np.asarray(obs_stats.var)
        shift, scale = np.zeros(size, np.float32), np.ones(size, np.float32)
        if norm_obs:
            shift, scale = mean, (1 / np.sqrt(variance + TINY)).astype(np.float32)
        memory, sees_context = None, size > self.n_inputs(sees_context=False)
        if weights.memory is not None:
            memory = GatedUnit(shift, scale, *map(np.asarray, weights.memory))
            shift, scale = np.zeros(memory.size, np.float32), np.ones(memory.size, np.float32)
        network = MlpPolicy(
            [*(w for w, _ in actor), last],
            [*(b for _, b in actor), bias],
            shift=shift,
            scale=scale,
            bounds=self.bounds,
            limit=OBSERVATION_LIMIT if norm_obs and memory is None else None,
            critic=[(np.asarray(w), np.asarray(b)) for w, b in weights.critic],
            observations_seen=float(obs_stats.number) if norm_obs else None,
            return_statistics=return_statistics,
            observation_space=self.observation_space if memory is None else None,
            action_space=self.action_space,
            sees_context=sees_context and memory is None,
            image=self.image,
        )
        if memory is None:
            return network
        return DistilledPolicy(
            network,
            memory=memory,
            observation_space=self.observation_space,
            sees_context=sees_context,
        )

    def read_policy(self, policy: Policy) -> tuple[Weights, RunningStats]:
        """Read from a policy what acting needs, as the compiled functions take it.

        Raises:
            TrainerError: If it is of another form.
        """
        own = self.check_policy(policy, "evaluates")
        head, memory = (own.head, own.memory) if isinstance(own, DistilledPolicy) else (own, None)
        shift, scale, *unit = memory or (head.shift, head.scale)
        recurrent = Recurrent(*map(to_jax, unit)) if unit else None
        layers = jax.tree.map(to_jax, [*zip(head.weights, head.biases, strict=True)])
        obs_stats = RunningStats(to_jax(shift), to_jax(scale**-2.0 - TINY), to_jax(1.0))
        return Weights(layers, [], to_jax(np.zeros(0)), recurrent, self.image), obs_stats

    def begin(self, job: TrainingJob) -> tuple[Weights, RunningStats]:
        """Return the weights and statistics that a training run begins with.

        A parent gives its weights, its critic and its statistics of the observations; exploration
        is that of a start from scratch. Where the parent does not see the context and the new
        policy does, it begins to act as the parent did: with weights of 0 on the context.

        Raises:
            TrainerError: If the parent does not fit.
        """
        settings = self.settings
        n_inputs = self.n_inputs(job.sees_context)
        sizes = n_inputs, settings.hidden_sizes, self.n_outputs
        fresh = initial_weights(job.seed, *sizes, recurrent=settings.recurrent, image=self.image)
        unseen = initial_stats(n_inputs)
        if job.parent is None:
            return fresh, unseen
        own = self.check_policy(job.parent, "starts from")
        weights, obs_stats = self.read_policy(own)
        if self.action_scale is not None:
            centre, half_width = self.action_scale
            *actor, (last, bias) = weights.actor
            weights = weights._replace(
                actor=[*actor, (last / half_width, (bias - centre) / half_width)]
            )
        head = own.head if isinstance(own, DistilledPolicy) else own
        critic = jax.tree.map(to_jax, head.critic)
        more, memory = n_inputs - len(obs_stats.mean), weights.memory
        if more:
            at = self.observation_size
            if memory is not None:
                inputs = _insert(memory.inputs, at, np.zeros((more, memory.inputs.shape[1])))
                memory = memory._replace(inputs=inputs)
            else:
                weights = weights._replace(actor=_with_inputs(weights.actor, more))
                critic = critic and _with_inputs(critic, more)
            # Coordinates between 0 and 1.
            obs_stats = obs_stats._replace(
                mean=_insert(obs_stats.mean, at, np.full(more, 0.5)),
                var=_insert(obs_stats.var, at, np.full(more, 1 / 12)),
            )
        # An exported policy has no count of samples: take as much as is usual.
        usual = settings.num_iterations() * settings.batch_size
        seen = head.observations_seen or usual
        return (
            Weights(weights.actor, critic or fresh.critic, fresh.log_std, memory, self.image),
            obs_stats._replace(number=to_jax(seen)) if settings.norm_obs else unseen,
        )

    def check_policy(self, policy: Policy, does: str) -> MlpPolicy | DistilledPolicy:
        """Refuse a policy of another form; `does` is what the trainer does with its own."""
        settings, seen = self.settings, self.n_inputs(policy.sees_context)
        sizes = seen, settings.hidden_sizes, self.n_outputs
        shapes = layer_shapes(*sizes, recurrent=settings.recurrent, image=self.image)
        wanted = shapes, settings.norm_obs, seen if settings.recurrent else 0
        got: tuple[Any, ...] = ([], False, 0)
        match policy:
            case MlpPolicy():
                got = [w.shape for w in policy.weights], policy.limit is not None, 0
            case DistilledPolicy(memory=GatedUnit() as unit):
                norm_obs = bool((unit.scale != 1).any())
                got = [w.shape for w in policy.head.weights], norm_obs, len(unit.inputs)
        if isinstance(policy, MlpPolicy | DistilledPolicy) and got == wanted:
            return policy
        described = "layers of shapes {}, norm_obs {} and {} inputs of a memory"
        raise TrainerError(
            f"This trainer {does} its own policies, with {described.format(*wanted)}. Got "
            f"{type(policy).__name__} with {described.format(*got)} instead. Make the trainer with "
            "the settings of that policy."
        )


def _with_inputs(layers: Layers, more: int) -> Layers:
    """Return layers that take more inputs, with weights of 0."""
    first = next(number for number, (weight, _) in enumerate(layers) if weight.ndim == 2)
    weight, bias = layers[first]
    wider = _insert(weight, len(weight), np.zeros((more, weight.shape[1])))
    return [*layers[:first], (wider, bias), *layers[first + 1 :]]


def _insert(array: jax.Array, at: int, more: NDArray[np.float64]) -> jax.Array:
    own = np.asarray(array)
    return to_jax(np.concatenate([own[:at], more, own[at:]]))
