"""Between the weights that PPO learns and policies with their files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.errors import TrainerError
from sdmbtl.policies import MlpPolicy, Policy
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, ReturnStatistics
from sdmbtl.training.ppo.networks import (
    TINY,
    Layers,
    Scaling,
    Weights,
    initial_scaling,
    initial_weights,
)
from sdmbtl.training.ppo.settings import PPOSettings


@dataclass(frozen=True)
class PolicyForm:
    """The form that all policies of a trainer have.

    Attributes:
        n_inputs: I, the entries of an observation, with the context's if it is seen.
        n_outputs: K, the outputs of the actor.
        settings: Hidden layers, and whether observations are normalised.
        bounds: Of each entry of a continuous action; None for discrete ones, or with a space.
        observation_space: If observations have to be flattened.
        action_space: If actions are of another form than numbers from 0 or plain vectors.
        action_scale: (K,) centre and half the width of the actions, which are learned between -1
            and 1; None if they are learned as they are. The file of a policy has the last layer
            for the environment's actions.
    """

    n_inputs: int
    n_outputs: int
    settings: PPOSettings
    bounds: tuple[float, float] | None = None
    observation_space: spaces.Space[Any] | None = None
    action_space: spaces.Space[Any] | None = None
    action_scale: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    def initial(self, seed: int) -> tuple[Weights, Scaling]:
        """What a policy from scratch begins with."""
        hidden = self.settings.hidden_sizes
        weights = initial_weights(seed, self.n_inputs, hidden, self.n_outputs)
        return weights, initial_scaling(self.n_inputs)

    def make_policy(
        self,
        weights: Weights,
        scaling: Scaling,
        return_statistics: ReturnStatistics | None = None,
    ) -> MlpPolicy:
        """The policy of these weights, in arrays of NumPy."""
        norm_obs, size = self.settings.norm_obs, self.n_inputs
        *actor, (last, bias) = [(np.asarray(w), np.asarray(b)) for w, b in weights.actor]
        if self.action_scale is not None:
            centre, half_width = self.action_scale
            last, bias = last * half_width, bias * half_width + centre
        mean: NDArray[np.float32] = np.asarray(scaling.mean)
        variance: NDArray[np.float32] = np.asarray(scaling.variance)
        return MlpPolicy(
            [*(w for w, _ in actor), last],
            [*(b for _, b in actor), bias],
            shift=mean if norm_obs else np.zeros(size, np.float32),
            scale=(1 / np.sqrt(variance + TINY)).astype(np.float32)
            if norm_obs
            else np.ones(size, np.float32),
            bounds=self.bounds,
            limit=OBSERVATION_LIMIT if norm_obs else None,
            critic=[(np.asarray(w), np.asarray(b)) for w, b in weights.critic],
            observations_seen=float(scaling.number) if norm_obs else None,
            return_statistics=return_statistics,
            observation_space=self.observation_space,
            action_space=self.action_space,
        )

    def read_policy(self, policy: Policy) -> tuple[Weights, Scaling]:
        """A policy as the compiled functions take it, with what acting needs.

        Raises:
            TrainerError: If it is of another form.
        """
        own = self.check_policy(policy, "evaluates")
        layers = _as_layers(zip(own.weights, own.biases, strict=True))
        scaling = Scaling(
            jnp.asarray(own.shift), jnp.asarray(own.scale**-2.0 - TINY), jnp.float32(1.0)
        )
        return Weights(layers, [], jnp.zeros(0)), scaling

    def begin(self, seed: int, parent: Policy | None) -> tuple[Weights, Scaling]:
        """What a training run begins with: from scratch, or from a parent.

        A parent gives its weights, its critic and its statistics of the observations; exploration
        is that of a start from scratch.

        Raises:
            TrainerError: If the parent does not fit.
        """
        fresh, unseen = self.initial(seed)
        if parent is None:
            return fresh, unseen
        own, settings = self.check_policy(parent, "starts from"), self.settings
        weights, scaling = self.read_policy(own)
        if self.action_scale is not None:
            centre, half_width = self.action_scale
            *actor, (last, bias) = weights.actor
            weights = weights._replace(
                actor=[*actor, (last / half_width, (bias - centre) / half_width)]
            )
        fits = [w.shape for w, _ in own.critic] == [w.shape for w, _ in fresh.critic]
        if own.critic and not fits:
            raise TrainerError(
                "The parent was trained with another critic, so training cannot start from it. "
                "Make the trainer with its settings, or start from scratch."
            )
        # Of an older file it is not known how much was seen: as much as is usual.
        usual = settings.num_iterations() * settings.batch_size
        seen = own.observations_seen or usual
        return (
            Weights(weights.actor, _as_layers(own.critic) or fresh.critic, fresh.log_std),
            scaling._replace(number=jnp.float32(seen)) if settings.norm_obs else unseen,
        )

    def check_policy(self, policy: Policy, does: str) -> MlpPolicy:
        """Refuse a policy of another form.

        Raises:
            TrainerError: Says what the trainer does with its own ones only.
        """
        sizes = (self.n_inputs, *self.settings.hidden_sizes, self.n_outputs)
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
        norm_obs = self.settings.norm_obs
        if (policy.limit is not None) != norm_obs:
            raise TrainerError(
                f"This trainer {does} policies with norm_obs {norm_obs}. Got one with norm_obs "
                f"{not norm_obs} instead. Make the trainer with the settings of that policy."
            )
        return policy


def _as_layers(arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> Layers:
    return [(jnp.asarray(weight), jnp.asarray(bias)) for weight, bias in arrays]
