"""Learning of PPO as pure functions: advantages, loss and optimiser."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from sdmbtl.training.ppo.distributions import Distribution
from sdmbtl.training.ppo.networks import TINY, Weights, remember_along
from sdmbtl.training.ppo.settings import PPOSettings

ADAM_EPSILON = 1e-5
#: Seed of the order in which samples are learned from, in every training run.
SHUFFLES = 0x5EED


class Trajectory(NamedTuple):
    """(T, E) steps to compute advantages from; observations (T, E, O) as the networks see them.

    Attributes:
        next_obs: After the action; of an episode that ended, its last one.
        terminated: True where the episode ended, so that nothing would have followed.
        done: True where it ended or was truncated, or where the next row is another episode.
    """

    obs: jax.Array
    next_obs: jax.Array
    reward: jax.Array
    terminated: jax.Array
    done: jax.Array


class Transition(NamedTuple):
    """Samples to learn from: (T, E, ...) in a rollout, (n, ...) in a minibatch.

    A recurrent policy learns from sequences of L samples: (n, L, ...). `log_prob` is that of the
    action when it was taken.

    Attributes:
        present: 1 where an agent acted, 0 in empty slots; None if there are no empty ones.
        memory: (n, H) hidden numbers before each sequence, and (n, L) True where an episode
            begins; None without sequences.
    """

    obs: jax.Array
    action: jax.Array
    log_prob: jax.Array
    advantage: jax.Array
    value_target: jax.Array
    present: jax.Array | None = None
    memory: tuple[jax.Array, jax.Array] | None = None

    def recall(self, weights: Weights) -> Transition:
        """Return (n * L, ...) samples with the hidden numbers that actor and critic see."""
        assert self.memory is not None  # noqa: S101 (the caller has looked)
        assert weights.memory is not None  # noqa: S101 (as they come together)
        hidden, begins = self.memory
        obs, begins = self.obs.swapaxes(0, 1), begins.swapaxes(0, 1)
        seen = remember_along(weights.memory, obs, hidden, begins).swapaxes(0, 1)
        parts = seen, self.action, self.log_prob, self.advantage, self.value_target
        obs, action, log_prob, advantage, target = (x.reshape(-1, *x.shape[2:]) for x in parts)
        return Transition(obs, action, log_prob, advantage, target)


class Optimiser(NamedTuple):
    """Weights, and the state of Adam."""

    weights: Weights
    opt_state: optax.OptState


@jax.jit
def start_optimiser(weights: Weights) -> Optimiser:
    """Return weights with a fresh state of Adam."""
    return Optimiser(weights, optax.scale_by_adam(eps=ADAM_EPSILON).init(weights))


def make_shuffles(
    iteration: jax.Array, epochs: int, n: int, count: jax.Array | None = None
) -> jax.Array:
    """Draw (epochs, n) orders in which the samples of an iteration are learned from.

    With `count`, only the first `count` are samples, and they come first in every order.
    """
    key = jax.random.fold_in(jax.random.PRNGKey(SHUFFLES), iteration)
    keys = jax.random.split(key, epochs)
    if count is None:
        return jax.vmap(lambda k: jax.random.permutation(k, n))(keys)
    is_empty = jnp.arange(n) >= count
    return jax.vmap(lambda k: jnp.argsort(jax.random.uniform(k, (n,)) + is_empty))(keys)


def estimate_advantages(
    weights: Weights, trajectory: Trajectory, settings: PPOSettings
) -> tuple[jax.Array, jax.Array]:
    """Compute (T, E) advantages, and the values that the critic learns to predict."""
    value = weights.value(trajectory.obs)
    # An episode that is truncated would have continued: its next value counts.
    next_value = jnp.where(trajectory.terminated, 0.0, weights.value(trajectory.next_obs))
    td_error = trajectory.reward * settings.reward_scale + settings.gamma * next_value - value
    advantage = gae(td_error, settings.gamma * settings.gae_lambda * (1.0 - trajectory.done))
    return advantage, advantage + value


def gae(td_error: jax.Array, decay: jax.Array) -> jax.Array:
    """Compute (T, E) advantages: sums of later errors, each weighted with the decays up to it."""

    def backwards(
        advantage: jax.Array, now: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        advantage = now[0] + now[1] * advantage
        return advantage, advantage

    return jax.lax.scan(backwards, jnp.zeros_like(td_error[0]), (td_error, decay), reverse=True)[1]


def learn(
    optimiser: Optimiser,
    samples: Transition,
    shuffles: jax.Array,
    share: jax.Array,
    distribution: Distribution,
    settings: PPOSettings,
    num_minibatches: jax.Array | None = None,
) -> Optimiser:
    """Take all epochs over the (n, ...) samples of an iteration.

    `shuffles` are (update_epochs, n) orders of the samples, `share` is that of the run that is
    done. With `num_minibatches`, only so many of each order are learned from.
    """
    learning_rate = jnp.float32(settings.learning_rate)
    if settings.anneal_lr:
        learning_rate = learning_rate * (1 - share)

    def update(carry: Optimiser, minibatch: Transition) -> tuple[Optimiser, None]:
        gradient = jax.grad(loss)(carry.weights, minibatch, distribution, settings)
        return take_step(carry, gradient, learning_rate, settings.max_grad_norm), None

    def epoch(carry: Optimiser, shuffle: jax.Array) -> tuple[Optimiser, None]:
        length = 1 if samples.memory is None else samples.advantage.shape[1]
        rows = shuffle.reshape(-1, settings.minibatch_size // length)
        if num_minibatches is not None:

            def update_next(number: jax.Array, carry: Optimiser) -> Optimiser:
                return update(carry, jax.tree.map(lambda x: x[rows[number]], samples))[0]

            learned: Optimiser = jax.lax.fori_loop(0, num_minibatches, update_next, carry)
            return learned, None
        minibatches = jax.tree.map(lambda x: x[rows], samples)
        return jax.lax.scan(update, carry, minibatches)[0], None

    return jax.lax.scan(epoch, optimiser, shuffles)[0]


def loss(
    weights: Weights, batch: Transition, distribution: Distribution, settings: PPOSettings
) -> jax.Array:
    """Compute the clipped objective, value loss and entropy bonus of a minibatch."""
    if batch.memory is not None:
        batch = batch.recall(weights)
    advantage = batch.advantage - _mean(batch.advantage, batch.present)
    present = batch.present
    std = advantage.std() if present is None else jnp.sqrt(_mean(advantage**2, present))
    advantage = advantage / (std + TINY)
    outputs = weights.act(batch.obs)
    log_prob, entropy = distribution.evaluate(outputs, weights.log_std, batch.action)
    ratio = jnp.exp(log_prob - batch.log_prob)
    clipped = jnp.clip(ratio, 1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = -_mean(jnp.minimum(ratio * advantage, clipped * advantage), batch.present)
    value_error = weights.value(batch.obs) - batch.value_target
    value_loss = _mean(value_error**2, batch.present)
    total = settings.vf_coef * value_loss + policy_loss
    if not settings.ent_coef:
        return total
    return total - settings.ent_coef * _mean(entropy, batch.present)


def take_step(
    optimiser: Optimiser, gradient: Weights, learning_rate: jax.Array, max_grad_norm: float
) -> Optimiser:
    """Take one step of Adam, with the gradient clipped to a largest norm."""
    clipped, _ = optax.clip_by_global_norm(max_grad_norm).update(gradient, optax.EmptyState())
    scaled, opt_state = optax.scale_by_adam(eps=ADAM_EPSILON).update(clipped, optimiser.opt_state)
    steps = jax.tree.map(lambda x: -learning_rate * x, scaled)
    return Optimiser(optax.apply_updates(optimiser.weights, steps), opt_state)


def _mean(values: jax.Array, present: jax.Array | None) -> jax.Array:
    """Mean of (n,) values, or of those that are present; (1,) stands for n equal ones."""
    if present is None or len(values) == 1:
        return values.mean()
    return (values * present).sum() / jnp.maximum(present.sum(), 1.0)
