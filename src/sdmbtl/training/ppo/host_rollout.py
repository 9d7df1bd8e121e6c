"""Acting on the host: NumPy is much faster than a call of JAX for a few observations."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.policies.flattening import FlatActions
from sdmbtl.policies.mlp import OBSERVATION_LIMIT
from sdmbtl.training.ppo.host_lanes import HostLanes
from sdmbtl.training.ppo.networks import TINY, Scaling, Weights
from sdmbtl.training.ppo.rollout_arrays import RolloutArrays

#: Agents that act at once, where they come and go.
BLOCK = 64


class Actor:
    """A policy that explores.

    Args:
        weights: Of the policy.
        scaling: Statistics of the observations; None if these are not normalised.
        sizes: Numbers of possibilities of each choice; None for numbers.
    """

    def __init__(
        self, weights: Weights, scaling: Scaling | None, sizes: tuple[int, ...] | None
    ) -> None:
        self._layers = [(np.asarray(w), np.asarray(b)) for w, b in weights.actor]
        self._std = np.exp(np.asarray(weights.log_std))
        self._ends = None if sizes is None else np.cumsum(sizes)[:-1]
        self._shift = self._scale = None
        if scaling is not None:
            self._shift = np.asarray(scaling.mean)
            self._scale = 1 / np.sqrt(np.asarray(scaling.variance) + np.float32(TINY))

    def draw_noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """(*shape, K) what decides between actions, for many steps at once."""
        size = (*shape, len(self._std))
        if self._ends is None:
            return rng.standard_normal(size, dtype=np.float32)
        # The largest of outputs with such noise is distributed as the softmax says.
        drawn = rng.standard_exponential(size, dtype=np.float32) + np.float32(TINY**2)
        noise: NDArray[np.float32] = -np.log(drawn)
        return noise

    def act(self, obs: NDArray[np.float32], noise: NDArray[np.float32]) -> NDArray[Any]:
        """(S, D) actions, as they are learned, for (S, I) observations and (S, K) noise."""
        x = obs
        if self._shift is not None:
            x = (x - self._shift) * self._scale
            np.minimum(np.maximum(x, -OBSERVATION_LIMIT, out=x), OBSERVATION_LIMIT, out=x)
        for weight, bias in self._layers[:-1]:
            x = x @ weight
            x += bias
            np.tanh(x, out=x)
        weight, bias = self._layers[-1]
        outputs = x @ weight + bias
        if self._ends is None:
            noisy: NDArray[np.float32] = outputs + self._std * noise
            return noisy
        outputs += noise
        parts = np.split(outputs, self._ends, axis=-1) if len(self._ends) else [outputs]
        return np.stack([part.argmax(axis=-1) for part in parts], axis=-1)


class ActionScale:
    """Between actions as they are learned, and as the environment takes them.

    What is learned has its bounds at -1 and 1 wherever it has any.

    Args:
        actions: The space of actions.
    """

    def __init__(self, actions: FlatActions) -> None:
        self._actions = actions
        self.centre = self.half_width = np.zeros(0, np.float32)
        space = actions.space
        if isinstance(space, spaces.Box):
            low, high = (x.ravel().astype(np.float64) for x in (space.low, space.high))
            bounded = np.isfinite(low) & np.isfinite(high)
            low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
            self.centre = ((low + high) / 2).astype(np.float32)
            # An entry that can only be one number has it by its bounds, whatever is chosen.
            half_width = np.where(low == high, 1.0, (high - low) / 2)
            self.half_width = half_width.astype(np.float32)

    @property
    def is_trivial(self) -> bool:
        """Whether both are the same."""
        return bool((self.centre == 0).all() and (self.half_width == 1).all())

    def to_space(self, chosen: NDArray[Any]) -> NDArray[Any]:
        """(S, ...) actions of the space for (S, D) that are learned."""
        if self._actions.sizes is None:
            chosen = chosen * self.half_width + self.centre
        found: NDArray[Any] = self._actions.to_space(chosen)
        return found


def collect(lanes: HostLanes, actor: Actor, scale: ActionScale, noise: NDArray[np.float32]) -> None:
    """Play as many steps as there is (T, S, K) noise, into the arrays of the lanes."""
    arrays = lanes.arrays
    for t, own in enumerate(noise):
        if lanes.has_empty_slots:
            _act_where_present(arrays, t, actor, scale, own)
        else:
            chosen = actor.act(arrays.obs[t], own)
            arrays.action[t] = chosen
            arrays.env_action[...] = scale.to_space(chosen)
        lanes.step(t)


def _act_where_present(
    arrays: RolloutArrays, t: int, actor: Actor, scale: ActionScale, noise: NDArray[np.float32]
) -> None:
    """Choose the actions of those who are there.

    In blocks of one size: the last digits of a product depend on the size of a batch, and what an
    agent does must not depend on who else is there.
    """
    who = np.flatnonzero(arrays.present[t])
    for first in range(0, len(who), BLOCK):
        part = who[first : first + BLOCK]
        padded = np.resize(part, BLOCK)
        chosen = actor.act(arrays.obs[t, padded], noise[padded])[: len(part)]
        arrays.action[t, part] = chosen
        arrays.env_action[part] = scale.to_space(chosen)


def carry_over(lanes: HostLanes) -> None:
    """Begin the next rollout where the last one ended."""
    arrays = lanes.arrays
    arrays.obs[0] = arrays.obs[-1]
    arrays.present[0] = arrays.present[-1]
