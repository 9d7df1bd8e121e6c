"""What PPO learns from a rollout on the host, compiled as one function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl.policies.mlp import ReturnStatistics
from sdmbtl.training.ppo.distributions import Distribution
from sdmbtl.training.ppo.learner import (
    Optimiser,
    Played,
    Transition,
    estimate_advantages,
    learn,
    make_shuffles,
    start_optimiser,
)
from sdmbtl.training.ppo.networks import (
    TINY,
    Scaling,
    Weights,
    forward,
    initial_scaling,
    normalize,
    update_scaling,
)
from sdmbtl.training.ppo.rollout_arrays import RolloutArrays
from sdmbtl.training.ppo.settings import PPOSettings

#: Where rewards that are scaled are cut off.
REWARD_LIMIT = 10.0


class Rollout(NamedTuple):
    """What was played: the arrays of that name of `RolloutArrays`."""

    obs: jax.Array
    last_obs: jax.Array
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    present: jax.Array

    @classmethod
    def of(cls, arrays: RolloutArrays) -> Rollout:
        """The arrays, which JAX takes as they are."""
        return cls(*[getattr(arrays, name) for name in cls._fields])


class LearnerState(NamedTuple):
    """What is learned, and the statistics it depends on.

    Attributes:
        optimiser: The weights, and what Adam knows.
        scaling: Statistics of the observations.
        returns: Statistics of the discounted returns, by which rewards are scaled.
        discounted: (S,) the discounted return so far of each episode that is being played.
    """

    optimiser: Optimiser
    scaling: Scaling
    returns: Scaling
    discounted: jax.Array


class HostLearner:
    """Learns from rollouts of one shape.

    Args:
        settings: The settings.
        distribution: Of the actions.
        norm_reward: Whether rewards are divided by the standard deviation of discounted returns.
        has_empty_slots: Whether agents come and go, so that some slots may be empty.

    Attributes:
        is_compiled: Whether it has learned before, so that the next time takes no longer than
            learning takes.
    """

    def __init__(
        self,
        settings: PPOSettings,
        distribution: Distribution,
        *,
        norm_reward: bool,
        has_empty_slots: bool,
    ) -> None:
        self.settings, self.distribution = settings, distribution
        self.norm_reward, self.has_empty_slots = norm_reward, has_empty_slots
        self._compiled = jax.jit(self._update_some if has_empty_slots else self._update)
        self.is_compiled = False

    def start(
        self, weights: Weights, scaling: Scaling, returns: ReturnStatistics | None, slots: int
    ) -> LearnerState:
        """The state of a new training run.

        Args:
            weights: With what it begins.
            scaling: Statistics of the observations so far.
            returns: Of the discounted returns so far; None if there are none.
            slots: S, the number of slots.
        """
        statistics = initial_scaling(1)
        if returns is not None:
            mean, variance, number = map(jnp.float32, returns)
            statistics = Scaling(mean[None], variance[None], number)
        return LearnerState(start_optimiser(weights), scaling, statistics, jnp.zeros(slots))

    def update(
        self, state: LearnerState, arrays: RolloutArrays, iteration: int, total: int
    ) -> LearnerState:
        """Learn from one rollout.

        Args:
            state: The state so far.
            arrays: What was played; may be changed afterwards.
            iteration: Number of the iteration.
            total: Iterations of the whole run.
        """
        # Numbers as arrays, so that runs of any length share what is compiled.
        numbers: list[Any] = [jnp.int32(iteration), jnp.int32(total)]
        if self.has_empty_slots:
            numbers += list_samples(arrays.present[:-1], self.settings.minibatch_size)
        learned: LearnerState = self._compiled(state, Rollout.of(arrays), *numbers)
        learned.discounted.block_until_ready()
        self.is_compiled = True
        return learned

    def _update(
        self, state: LearnerState, rollout: Rollout, iteration: jax.Array, total: jax.Array
    ) -> LearnerState:
        """All of `update`, to be compiled."""
        settings = self.settings
        steps, slots = rollout.reward.shape
        seen, next_seen = _pair_observations(rollout)
        obs, next_obs, scaling = self._normalise(state, seen, next_seen, None)
        reward, done, returns, discounted = self._judge_rewards(state, rollout, None)
        played = Played(obs, next_obs, reward, rollout.terminated, done)
        samples = self._make_samples(state, played, rollout.action, None)
        flat = jax.tree.map(lambda x: x.reshape(steps * slots, *x.shape[2:]), samples)
        shuffles = make_shuffles(iteration, settings.update_epochs, steps * slots)
        optimiser = learn(
            state.optimiser, flat, shuffles, iteration / total, self.distribution, settings
        )
        return LearnerState(optimiser, scaling, returns, discounted)

    def _update_some(
        self,
        state: LearnerState,
        rollout: Rollout,
        iteration: jax.Array,
        total: jax.Array,
        rows: jax.Array,
        count: jax.Array,
    ) -> LearnerState:
        """All of `update` where many slots may be empty: see `list_samples` for the last two."""
        settings = self.settings
        steps, slots = rollout.reward.shape

        def take(x: jax.Array) -> jax.Array:
            return x.reshape(steps * slots, *x.shape[2:])[rows]

        present = jnp.float32(jnp.arange(len(rows)) < count)
        seen, next_seen = (take(x) for x in _pair_observations(rollout))
        obs, next_obs, scaling = self._normalise(state, seen, next_seen, present)
        somebody = jnp.float32(rollout.present[:-1])
        reward, done, returns, discounted = self._judge_rewards(state, rollout, somebody)
        # One agent's steps are one after another; then come those of the next agent.
        is_followed = jnp.append(rows[1:] == rows[:-1] + slots, False)
        ends = take(done) | ~is_followed
        played = Played(obs, next_obs, take(reward), take(rollout.terminated), ends)
        samples = self._make_samples(state, played, take(rollout.action), present)
        shuffles = make_shuffles(iteration, settings.update_epochs, len(rows), count)
        used = jnp.maximum(count // settings.minibatch_size, 1)
        optimiser = learn(
            state.optimiser,
            samples,
            shuffles,
            iteration / total,
            self.distribution,
            settings,
            used,
        )
        return LearnerState(optimiser, scaling, returns, discounted)

    def _make_samples(
        self, state: LearnerState, played: Played, action: jax.Array, present: jax.Array | None
    ) -> Transition:
        """What is learned from, with what the policy thinks of it so far."""
        weights = state.optimiser.weights
        outputs = forward(weights.actor, played.obs)
        log_prob, _ = self.distribution.evaluate(outputs, weights.log_std, action)
        advantage, value_target = estimate_advantages(weights.critic, played, self.settings)
        return Transition(played.obs, action, log_prob, advantage, value_target, present)

    def _judge_rewards(
        self, state: LearnerState, rollout: Rollout, present: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, Scaling, jax.Array]:
        """(T, S) rewards as they are learned from, who was done, and statistics of returns."""
        reward, done = jnp.float32(rollout.reward), rollout.terminated | rollout.truncated
        if not self.norm_reward:
            return reward, done, state.returns, state.discounted
        reward, returns, discounted = self._scale_rewards(state, reward, done, present)
        return reward, done, returns, discounted

    def _normalise(
        self, state: LearnerState, seen: jax.Array, next_seen: jax.Array, present: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, Scaling]:
        """(..., I) observations before and after each action, and the statistics with them."""
        if not self.settings.norm_obs:
            return seen, next_seen, state.scaling
        updated = update_scaling(state.scaling, seen.reshape(-1, seen.shape[-1]), present)
        # The first time nothing is known yet: what was seen just now is better than nothing. The
        # first policy acts at random, whatever it sees.
        unknown = state.scaling.number < 1
        used = jax.tree.map(lambda new, old: jnp.where(unknown, new, old), updated, state.scaling)
        return normalize(seen, used), normalize(next_seen, used), updated

    def _scale_rewards(
        self,
        state: LearnerState,
        reward: jax.Array,
        done: jax.Array,
        present: jax.Array | None,
    ) -> tuple[jax.Array, Scaling, jax.Array]:
        """(T, S) scaled rewards, the statistics of returns with these, (S,) returns so far."""

        def forwards(
            discounted: jax.Array, now: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, jax.Array]:
            discounted = self.settings.gamma * discounted + now[0]
            return discounted * (1.0 - now[1]), discounted

        discounted, seen = jax.lax.scan(forwards, state.discounted, (reward, done))
        returns = update_scaling(
            state.returns,
            seen.reshape(-1, 1),
            None if present is None else present.reshape(-1),
        )
        scaled = reward * jax.lax.rsqrt(returns.variance + TINY)
        return jnp.clip(scaled, -REWARD_LIMIT, REWARD_LIMIT), returns, discounted


def _pair_observations(rollout: Rollout) -> tuple[jax.Array, jax.Array]:
    """(T, S, I) observations before and after each action."""
    next_seen = jnp.where(rollout.truncated[..., None], rollout.last_obs, rollout.obs[1:])
    return rollout.obs[:-1], next_seen


def list_samples(
    present: NDArray[np.bool_], minibatch_size: int
) -> tuple[NDArray[np.int32], np.int32]:
    """Where somebody acted, so that learning takes no longer for slots that are empty.

    Args:
        present: (T, S) whether there was somebody.
        minibatch_size: Samples of a minibatch.

    Returns:
        (C,) numbers t * S + s, all steps of one slot before those of the next, and how many there
        are. C is larger: it has few values, because functions are compiled for each.
    """
    steps, slots = present.shape
    slot, step = np.divmod(np.flatnonzero(present.T), steps)
    capacity = minibatch_size
    while capacity < len(slot):
        capacity *= 2
    rows = np.zeros(capacity, np.int32)
    rows[: len(slot)] = step * slots + slot
    return rows, np.int32(len(slot))


@lru_cache(maxsize=8)
def compile_learner(
    settings: PPOSettings, distribution: Distribution, norm_reward: bool, has_empty_slots: bool
) -> HostLearner:
    """The same functions for the same settings: compiling them takes seconds."""
    return HostLearner(
        settings, distribution, norm_reward=norm_reward, has_empty_slots=has_empty_slots
    )
