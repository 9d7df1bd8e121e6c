"""One PPO update from a rollout in Gymnasium environments, compiled as one function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl.policies.mlp import OBSERVATION_LIMIT, ReturnStatistics
from sdmbtl.training.ppo.distributions import Distribution
from sdmbtl.training.ppo.env_slots import RolloutArrays
from sdmbtl.training.ppo.learner import (
    Optimiser,
    Trajectory,
    Transition,
    estimate_advantages,
    learn,
    make_shuffles,
    start_optimiser,
)
from sdmbtl.training.ppo.networks import (
    TINY,
    RunningStats,
    Weights,
    initial_stats,
    normalize,
    remember,
    remember_along,
    update_stats,
)
from sdmbtl.training.ppo.settings import PPOSettings

#: Bound of scaled rewards.
REWARD_LIMIT = 10.0


class Rollout(NamedTuple):
    """The arrays of that name of `RolloutArrays`."""

    obs: jax.Array
    last_obs: jax.Array
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    present: jax.Array


class LearnerState(NamedTuple):
    """Weights, optimiser and the statistics that learning depends on.

    Attributes:
        return_stats: Statistics of the discounted returns, by which rewards are scaled.
        discounted: (S,) discounted return so far of each episode that is being played.
        hidden: (S, H) hidden numbers of a recurrent policy in each slot; None of others.
    """

    optimiser: Optimiser
    obs_stats: RunningStats
    return_stats: RunningStats
    discounted: jax.Array
    hidden: jax.Array | None = None


class RolloutLearner:
    """Learns from rollouts of one shape.

    With `norm_reward`, rewards are divided by the standard deviation of discounted returns. With
    `has_empty_slots`, agents come and go. `is_compiled` is True after the first update.
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
        self._compiled = jax.jit(self._update_present if has_empty_slots else self._update)
        self.is_compiled = False

    def start(
        self,
        weights: Weights,
        obs_stats: RunningStats,
        returns: ReturnStatistics | None,
        slots: int,
    ) -> LearnerState:
        """Return the state of a new training run in S slots."""
        return_stats = initial_stats(1)
        if returns is not None:
            mean, variance, number = map(jnp.float32, returns)
            return_stats = RunningStats(mean[None], variance[None], number)
        memory = weights.memory
        hidden = None if memory is None else jnp.zeros((slots, len(memory.candidate_bias)))
        optimiser = start_optimiser(weights)
        return LearnerState(optimiser, obs_stats, return_stats, jnp.zeros(slots), hidden)

    def update(
        self, state: LearnerState, arrays: RolloutArrays, iteration: int, total: int
    ) -> LearnerState:
        """Learn from one rollout, in one of `total` iterations."""
        # Numbers as arrays, so that runs of any length share what is compiled.
        numbers: list[Any] = [jnp.int32(iteration), jnp.int32(total)]
        if self.has_empty_slots:
            numbers += list_samples(arrays.present[:-1], self.settings.minibatch_size)
        rollout = Rollout(*[getattr(arrays, name) for name in Rollout._fields])
        learned: LearnerState = self._compiled(state, rollout, *numbers)
        learned.discounted.block_until_ready()
        self.is_compiled = True
        return learned

    def _update(
        self, state: LearnerState, rollout: Rollout, iteration: jax.Array, total: jax.Array
    ) -> LearnerState:
        """Learn from a rollout in which every slot has its agent."""
        settings = self.settings
        steps, slots = rollout.reward.shape
        seen, next_seen = _pair_observations(rollout)
        obs, next_obs, obs_stats = self._normalize(state, seen, next_seen, None)
        reward, done, return_stats, discounted = self._scale_rewards(state, rollout, None)
        memory, hidden = state.optimiser.weights.memory, state.hidden
        if memory is None or hidden is None:
            trajectory = Trajectory(obs, next_obs, reward, rollout.terminated, done)
            samples = self._make_samples(state, trajectory, rollout.action, None)
            flat = jax.tree.map(lambda x: x.reshape(steps * slots, *x.shape[2:]), samples)
        else:
            begins = jnp.concatenate([jnp.zeros((1, slots), bool), done[:-1]])
            known = remember_along(memory, obs, hidden, begins)
            next_known = remember(memory, next_obs @ memory.inputs + memory.bias, known)
            trajectory = Trajectory(known, next_known, reward, rollout.terminated, done)
            samples = self._make_samples(state, trajectory, rollout.action, None)
            before = jnp.concatenate([hidden[None], known[:-1]])
            flat = _cut_sequences(samples._replace(obs=obs), before, begins, settings)
            hidden = jnp.where(done[-1][:, None], 0.0, known[-1])
        shuffles = make_shuffles(iteration, settings.update_epochs, len(flat.obs))
        optimiser = learn(
            state.optimiser, flat, shuffles, iteration / total, self.distribution, settings
        )
        return LearnerState(optimiser, obs_stats, return_stats, discounted, hidden)

    def _update_present(
        self,
        state: LearnerState,
        rollout: Rollout,
        iteration: jax.Array,
        total: jax.Array,
        rows: jax.Array,
        count: jax.Array,
    ) -> LearnerState:
        """Learn from a rollout with empty slots; `list_samples` gives the last two arguments."""
        slots = rollout.reward.shape[1]

        def take(x: jax.Array) -> jax.Array:
            return x.reshape(-1, *x.shape[2:])[rows]

        present = jnp.float32(jnp.arange(len(rows)) < count)
        seen, next_seen = (take(x) for x in _pair_observations(rollout))
        obs, next_obs, obs_stats = self._normalize(state, seen, next_seen, present)
        occupied = jnp.float32(rollout.present[:-1])
        reward, done, return_stats, discounted = self._scale_rewards(state, rollout, occupied)
        # The steps of one agent follow each other; then come those of the next agent.
        is_followed = jnp.append(rows[1:] == rows[:-1] + slots, False)
        ends = take(done) | ~is_followed
        trajectory = Trajectory(obs, next_obs, take(reward), take(rollout.terminated), ends)
        samples = self._make_samples(state, trajectory, take(rollout.action), present)
        settings = self.settings
        shuffles = make_shuffles(iteration, settings.update_epochs, len(rows), count)
        number = jnp.maximum(count // settings.minibatch_size, 1)
        optimiser = learn(
            *(state.optimiser, samples, shuffles, iteration / total),
            *(self.distribution, settings, number),
        )
        return LearnerState(optimiser, obs_stats, return_stats, discounted)

    def _make_samples(
        self,
        state: LearnerState,
        trajectory: Trajectory,
        action: jax.Array,
        present: jax.Array | None,
    ) -> Transition:
        """Add log probabilities, advantages and value targets to what was played."""
        weights = state.optimiser.weights
        outputs = weights.act(trajectory.obs)
        log_prob, _ = self.distribution.evaluate(outputs, weights.log_std, action)
        advantage, value_target = estimate_advantages(weights, trajectory, self.settings)
        return Transition(trajectory.obs, action, log_prob, advantage, value_target, present)

    def _normalize(
        self, state: LearnerState, seen: jax.Array, next_seen: jax.Array, present: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, RunningStats]:
        """Normalise (..., I) observations before and after each action, and update statistics."""
        if not self.settings.norm_obs:
            if self.settings.recurrent:  # as the unit of a policy does
                seen, next_seen = (
                    jnp.clip(x, -OBSERVATION_LIMIT, OBSERVATION_LIMIT) for x in (seen, next_seen)
                )
            return seen, next_seen, state.obs_stats
        updated = update_stats(state.obs_stats, seen.reshape(-1, seen.shape[-1]), present)
        # The first time nothing is known yet: what was seen just now is better than nothing. The
        # first policy acts at random, whatever it sees.
        unknown = state.obs_stats.number < 1
        used = jax.tree.map(lambda new, old: jnp.where(unknown, new, old), updated, state.obs_stats)
        return normalize(seen, used), normalize(next_seen, used), updated

    def _scale_rewards(
        self, state: LearnerState, rollout: Rollout, present: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, RunningStats, jax.Array]:
        """Scale rewards: (T, S) rewards and dones, statistics of returns, (S,) returns so far."""
        reward, done = jnp.float32(rollout.reward), rollout.terminated | rollout.truncated
        if not self.norm_reward:
            return reward, done, state.return_stats, state.discounted

        def forwards(
            discounted: jax.Array, now: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, jax.Array]:
            discounted = self.settings.gamma * discounted + now[0]
            return discounted * (1.0 - now[1]), discounted

        discounted, returns = jax.lax.scan(forwards, state.discounted, (reward, done))
        flat_present = None if present is None else present.reshape(-1)
        return_stats = update_stats(state.return_stats, returns.reshape(-1, 1), flat_present)
        scaled = reward * jax.lax.rsqrt(return_stats.var + TINY)
        return jnp.clip(scaled, -REWARD_LIMIT, REWARD_LIMIT), done, return_stats, discounted


def _cut_sequences(
    samples: Transition, before: jax.Array, begins: jax.Array, settings: PPOSettings
) -> Transition:
    """Cut (T, S, ...) samples into (n, L, ...) sequences, with the hidden numbers before each.

    `before` has the (T, S, H) hidden numbers before each sample, `begins` where episodes begin.
    """
    length = settings.sequence_length

    def cut(x: jax.Array) -> jax.Array:
        parts = x.reshape(-1, length, *x.shape[1:]).swapaxes(1, 2)
        return parts.reshape(-1, length, *x.shape[2:])

    sequences: Transition = jax.tree.map(cut, samples)
    hidden = before[::length].reshape(-1, before.shape[-1])
    return sequences._replace(memory=(hidden, cut(begins)))


def _pair_observations(rollout: Rollout) -> tuple[jax.Array, jax.Array]:
    """Return (T, S, I) observations before and after each action."""
    next_seen = jnp.where(rollout.truncated[..., None], rollout.last_obs, rollout.obs[1:])
    return rollout.obs[:-1], next_seen


def list_samples(
    present: NDArray[np.bool_], minibatch_size: int
) -> tuple[NDArray[np.int32], np.int32]:
    """List the (T, S) slots with an agent, so that learning takes no longer for empty ones.

    Returns:
        (C,) numbers t * S + s, all steps of one slot before those of the next, and their count.
        C is larger: it has few values, because functions are compiled for each.
    """
    steps, slots = present.shape
    slot, step = np.divmod(np.flatnonzero(present.T), steps)
    capacity = minibatch_size
    while capacity < len(slot):
        capacity *= 2
    rows = np.zeros(capacity, np.int32)
    rows[: len(slot)] = step * slots + slot
    return rows, np.int32(len(slot))


#: The same functions for the same settings: compiling them takes seconds.
compile_learner = lru_cache(maxsize=8)(RolloutLearner)
