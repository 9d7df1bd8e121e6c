"""What PPO learns from a rollout on the host, compiled as one function."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sdmbtl.trainers.ppo.distributions import Distribution
from sdmbtl.trainers.ppo.learner import (
    Optimiser,
    Played,
    Transition,
    estimate_advantages,
    learn,
    make_shuffles,
    start_optimiser,
)
from sdmbtl.trainers.ppo.networks import (
    TINY,
    Scaling,
    Weights,
    forward,
    initial_scaling,
    normalize,
    update_scaling,
)
from sdmbtl.trainers.ppo.rollout_arrays import RolloutArrays
from sdmbtl.trainers.ppo.settings import PPOSettings

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
        self._compiled = jax.jit(self._update)
        self.is_compiled = False

    def start(
        self, weights: Weights, scaling: Scaling, returns: tuple[float, float] | None, slots: int
    ) -> LearnerState:
        """The state of a new training run.

        Args:
            weights: With what it begins.
            scaling: Statistics of the observations so far.
            returns: Variance and number of discounted returns so far; None if there are none.
            slots: S, the number of slots.
        """
        statistics = initial_scaling(1)
        if returns is not None:
            variance, number = jnp.float32(returns[0]), jnp.float32(returns[1])
            statistics = statistics._replace(variance=variance[None], number=number)
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
        rollout, numbers = Rollout.of(arrays), (jnp.int32(iteration), jnp.int32(total))
        learned: LearnerState = self._compiled(state, rollout, *numbers)
        learned.discounted.block_until_ready()
        self.is_compiled = True
        return learned

    def _update(
        self, state: LearnerState, rollout: Rollout, iteration: jax.Array, total: jax.Array
    ) -> LearnerState:
        """All of `update`, to be compiled."""
        settings = self.settings
        steps, slots = rollout.reward.shape
        present = jnp.float32(rollout.present[:-1]) if self.has_empty_slots else None
        obs, next_obs, scaling = self._observations(state, rollout, present)
        reward, done = jnp.float32(rollout.reward), rollout.terminated | rollout.truncated
        returns, discounted = state.returns, state.discounted
        if self.norm_reward:
            reward, returns, discounted = self._scale_rewards(state, reward, done, present)
        weights = state.optimiser.weights
        outputs = forward(weights.actor, obs)
        log_prob, _ = self.distribution.evaluate(outputs, weights.log_std, rollout.action)
        played = Played(obs, next_obs, reward, rollout.terminated, done)
        advantage, value_target = estimate_advantages(weights.critic, played, settings)
        seen = Transition(obs, rollout.action, log_prob, advantage, value_target, present)
        flat = jax.tree.map(lambda x: x.reshape(steps * slots, *x.shape[2:]), seen)
        shuffles = make_shuffles(iteration, settings.update_epochs, steps * slots)
        optimiser = learn(
            state.optimiser, flat, shuffles, iteration / total, self.distribution, settings
        )
        return LearnerState(optimiser, scaling, returns, discounted)

    def _observations(
        self, state: LearnerState, rollout: Rollout, present: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, Scaling]:
        """(T, S, I) observations before and after each action, and the statistics with them."""
        seen = rollout.obs[:-1]
        next_seen = jnp.where(rollout.truncated[..., None], rollout.last_obs, rollout.obs[1:])
        if not self.settings.norm_obs:
            return seen, next_seen, state.scaling
        n = seen.shape[0] * seen.shape[1]
        updated = update_scaling(
            state.scaling,
            seen.reshape(n, -1),
            None if present is None else present.reshape(n),
        )
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


@lru_cache(maxsize=8)
def compile_learner(
    settings: PPOSettings, distribution: Distribution, norm_reward: bool, has_empty_slots: bool
) -> HostLearner:
    """The same functions for the same settings: compiling them takes seconds."""
    return HostLearner(
        settings, distribution, norm_reward=norm_reward, has_empty_slots=has_empty_slots
    )
