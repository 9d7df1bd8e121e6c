"""Acting in Gymnasium environments: NumPy is much faster than JAX for a few observations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.policies.action_code import ActionCode, find_largest
from sdmbtl.policies.distilled import GatedUnit
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, forward
from sdmbtl.training.ppo.env_slots import EnvSlots
from sdmbtl.training.ppo.networks import TINY, RunningStats, Weights

#: Agents that act at once, where they come and go.
BLOCK = 64


class ExploringActor:
    """A policy that explores: with noise on its outputs, before the largest of choices is taken.

    `obs_stats` is None if observations are not normalised, `sizes` for continuous actions.
    """

    def __init__(
        self,
        weights: Weights,
        obs_stats: RunningStats | None,
        sizes: tuple[int, ...] | None,
        hidden: Any = None,
    ) -> None:
        self.hidden = None if hidden is None else np.array(hidden)
        self._image = weights.image
        self._layers = [(np.asarray(w), np.asarray(b)) for w, b in weights.actor]
        self._std = np.exp(np.asarray(weights.log_std))
        self._sizes = sizes
        self._shift: NDArray[Any] | None = None
        self._scale: NDArray[Any] | None = None
        if obs_stats is not None:
            self._shift = np.asarray(obs_stats.mean)
            self._scale = 1 / np.sqrt(np.asarray(obs_stats.var) + np.float32(TINY))
        if weights.memory is not None:
            size = len(weights.memory.inputs)
            shift: NDArray[Any] = np.zeros(size, np.float32) if self._shift is None else self._shift
            scale: NDArray[Any] = np.ones(size, np.float32) if self._scale is None else self._scale
            self._memory = GatedUnit(shift, scale, *map(np.asarray, weights.memory))

    def draw_noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Draw (*shape, K) noise that decides between actions, for many steps at once."""
        size = (*shape, len(self._std))
        if self._sizes is None:
            return rng.standard_normal(size, dtype=np.float32)
        # Gumbel noise: the argmax of outputs with it has the distribution of the softmax.
        drawn = rng.standard_exponential(size, dtype=np.float32) + np.float32(TINY**2)
        noise: NDArray[np.float32] = -np.log(drawn)
        return noise

    def act(self, obs: NDArray[np.float32], noise: NDArray[np.float32]) -> NDArray[Any]:
        """Choose (S, D) actions, as they are learned, for (S, I) observations and (S, K) noise."""
        x = obs
        if self.hidden is not None:
            x = self.hidden = self._memory(x, self.hidden)
        elif self._shift is not None and self._scale is not None:
            x = (x - self._shift) * self._scale
            np.minimum(np.maximum(x, -OBSERVATION_LIMIT, out=x), OBSERVATION_LIMIT, out=x)
        outputs = forward(self._layers, x, self._image)
        if self._sizes is None:
            noisy: NDArray[np.float32] = outputs + self._std * noise
            return noisy
        outputs += noise
        return find_largest(outputs, self._sizes)


def collect_rollout(
    slots: EnvSlots, actor: ExploringActor, code: ActionCode, noise: NDArray[np.float32]
) -> None:
    """Play a step for each of the (T, S, K) noise, into the arrays of the slots."""
    arrays = slots.arrays
    for t, own in enumerate(noise):
        if not slots.has_empty_slots:
            chosen = actor.act(arrays.obs[t], own)
            arrays.action[t] = chosen
            arrays.env_action[...] = code.decode(chosen)
        else:
            # In blocks of one size: the last digits of a product depend on the size of a batch,
            # and what an agent does must not depend on which others are there.
            occupied = np.flatnonzero(arrays.present[t])
            for first in range(0, len(occupied), BLOCK):
                part = occupied[first : first + BLOCK]
                padded = np.resize(part, BLOCK)
                chosen = actor.act(arrays.obs[t, padded], own[padded])[: len(part)]
                arrays.action[t, part] = chosen
                arrays.env_action[part] = code.decode(chosen)
        slots.step(t)
        if actor.hidden is not None:
            # The policy sees its own last action, which the first of an episode does not have.
            last = code(arrays.env_action)
            done = arrays.terminated[t] | arrays.truncated[t]
            arrays.last_obs[t, :, -code.size :] = last
            arrays.obs[t + 1, :, -code.size :] = np.where(done[:, None], 0.0, last)
            actor.hidden = np.where(done[:, None], np.float32(0.0), actor.hidden)
