"""Proximal policy optimisation as pure functions, for one policy or a batch of them.

Everything here is compiled by JAX. A training run is a `TrainState` that `PPO.advance` takes a few
iterations further; `PPO.play` plays full episodes with the policy as it will be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import finite_number, truth_value, whole_number
from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.errors import TrainerError
from sdmbtl.policies.mlp import OBSERVATION_LIMIT

Layers = list[tuple[jax.Array, jax.Array]]

ADAM_MEAN, ADAM_SQUARE, ADAM_EPSILON = 0.9, 0.999, 1e-5
TINY = 1e-8
#: Seed of the order in which samples are learned from, in every training run.
SHUFFLES = 0x5EED
#: At most this many training contexts are evaluated during training, always the same ones.
MOST_EVALUATED = 64


@dataclass(frozen=True)
class PPOSettings:
    """Hyperparameters, under the names that CleanRL and others give them.

    Attributes:
        total_timesteps: Environment steps for each policy, rounded up to whole iterations.
        num_envs: Environments played side by side for each policy.
        num_steps: Steps of each environment in an iteration.
        minibatch_size: Samples for one step of the optimiser.
        update_epochs: Passes over the samples of an iteration.
        learning_rate: Step size of Adam.
        anneal_lr: Whether the learning rate falls linearly to zero.
        gamma: Discount factor.
        gae_lambda: Lambda of generalised advantage estimation.
        clip_coef: Largest change of the probability ratio.
        ent_coef: Weight of the entropy bonus.
        vf_coef: Weight of the value loss.
        max_grad_norm: Largest norm of a gradient.
        hidden_sizes: Units of the hidden layers of actor and critic.
        norm_obs: Whether observations are normalised by their running mean and variance.
        reward_scale: Factor on rewards in training; returns are reported without it.
        eval_every: Iterations between two evaluations on the training contexts.
        eval_episodes: Episodes of such an evaluation; the best policy is kept.
    """

    total_timesteps: int = 61_440
    num_envs: int = 8
    num_steps: int = 256
    minibatch_size: int = 64
    update_epochs: int = 10
    learning_rate: float = 3e-4
    anneal_lr: bool = False
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    hidden_sizes: tuple[int, ...] = (64, 64)
    norm_obs: bool = False
    reward_scale: float = 1.0
    eval_every: int = 5
    eval_episodes: int = 10

    def __post_init__(self) -> None:
        counts = ("total_timesteps", "num_envs", "num_steps", "minibatch_size", "update_epochs")
        for name in (*counts, "eval_every", "eval_episodes"):
            whole_number(name, getattr(self, name), low=1, error=TrainerError)
        shares = ("gamma", "gae_lambda")
        weights = ("learning_rate", "clip_coef", "ent_coef", "vf_coef", "max_grad_norm")
        for name in (*shares, *weights):
            number = finite_number(name, getattr(self, name), low=0.0, error=TrainerError)
            if name in shares and number > 1:
                raise TrainerError(f"{name!r} must be at most 1. Got {number!r} instead.")
        finite_number("reward_scale", self.reward_scale, error=TrainerError)
        for name in ("anneal_lr", "norm_obs"):
            truth_value(name, getattr(self, name), error=TrainerError)
        if not isinstance(self.hidden_sizes, list | tuple):
            raise TrainerError(
                "'hidden_sizes' must list the units of each layer. "
                f"Got {self.hidden_sizes!r} instead."
            )
        object.__setattr__(self, "hidden_sizes", tuple(self.hidden_sizes))
        for units in self.hidden_sizes:
            whole_number("hidden_sizes", units, low=1, error=TrainerError)
        if self.batch_size % self.minibatch_size:
            raise TrainerError(
                f"'minibatch_size' must divide num_envs * num_steps = {self.batch_size}. "
                f"Got {self.minibatch_size} instead."
            )

    @property
    def batch_size(self) -> int:
        """Samples of one iteration."""
        return self.num_envs * self.num_steps

    def num_iterations(self, steps: int | None = None) -> int:
        """Iterations of a training run of so many steps; of `total_timesteps` if left out."""
        return -(-(steps or self.total_timesteps) // self.batch_size)


class Weights(NamedTuple):
    """What is learned."""

    actor: Layers
    critic: Layers
    log_std: jax.Array


class Scaling(NamedTuple):
    """Running statistics of the observations."""

    mean: jax.Array
    variance: jax.Array
    number: jax.Array


class Tasks(NamedTuple):
    """The M contexts that a policy is trained on.

    Attributes:
        parameters: (M, P) for the environment.
        coordinates: (M, C) as the policy sees them; C is 0 if it does not.
    """

    parameters: jax.Array
    coordinates: jax.Array


class EnvState(NamedTuple):
    """The environments that are being played.

    Attributes:
        state: (E, S) their physical states.
        task: (E,) which of the contexts each has.
        elapsed_steps: (E,) steps since its last reset.
    """

    state: jax.Array
    task: jax.Array
    elapsed_steps: jax.Array


class Transition(NamedTuple):
    """What one iteration has seen: (T, E, ...) in a rollout, (n, ...) in a minibatch.

    Attributes:
        obs: Observations as the networks see them.
        action: Actions that were taken.
        log_prob: Log probabilities of those actions when they were taken.
        advantage: Advantages, by generalised advantage estimation.
        value_target: Returns that the critic learns to predict.
    """

    obs: jax.Array
    action: jax.Array
    log_prob: jax.Array
    advantage: jax.Array
    value_target: jax.Array


class Optimiser(NamedTuple):
    """The weights, and what Adam knows of their gradients: mean, mean square, number."""

    weights: Weights
    mean: Weights
    square: Weights
    updates: jax.Array


class TrainState(NamedTuple):
    """Everything a training run needs to continue."""

    optimiser: Optimiser
    scaling: Scaling
    env_state: EnvState
    key: jax.Array
    best: tuple[Weights, Scaling]
    best_return: jax.Array


class PPO:
    """Trains policies in one functional environment.

    Args:
        environment: The physics.
        settings: The settings.
        n_coordinates: C, the number of context coordinates that a policy sees.
    """

    def __init__(
        self, environment: FunctionalEnvironment, settings: PPOSettings, n_coordinates: int = 0
    ) -> None:
        self.environment = environment
        self.settings = settings
        self.n_coordinates = n_coordinates
        self.n_inputs = environment.observation_size + n_coordinates
        actions = environment.actions
        self.bounds: tuple[float, float] | None = None
        if isinstance(actions, spaces.Discrete):
            self.n_outputs = int(actions.n)
        else:
            (self.n_outputs,) = actions.shape
            self.bounds = float(actions.low[0]), float(actions.high[0])
        self.advance = jax.jit(self._advance)
        self.evaluate = jax.jit(self._evaluate)
        self.play = jax.jit(self._play)

    # -- the beginning -----------------------------------------------------------------------

    def start(
        self, tasks: Tasks, seeds: list[int], begin: Sequence[tuple[Weights, Scaling]]
    ) -> TrainState:
        """States of new training runs.

        Args:
            tasks: With a leading axis for the runs.
            seeds: Of each run.
            begin: What each begins with: `initial`, or those of a policy that exists. Either way
                Adam knows nothing yet, and no policy is the best one yet.
        """
        weights, scaling = jax.tree.map(lambda *w: jnp.stack(w), *begin)
        keys = jnp.stack([jax.random.PRNGKey(seed % 2**32) for seed in seeds])

        def one(weights: Weights, scaling: Scaling, key: jax.Array, tasks: Tasks) -> TrainState:
            key, reset_key = jax.random.split(key)
            zeros = jax.tree.map(jnp.zeros_like, weights)
            return TrainState(
                optimiser=Optimiser(weights, zeros, zeros, jnp.float32(0.0)),
                scaling=scaling,
                env_state=self._reset(reset_key, self.settings.num_envs, tasks),
                key=key,
                best=(weights, scaling),
                best_return=jnp.float32(-jnp.inf),
            )

        started: TrainState = jax.vmap(one)(weights, scaling, keys, tasks)
        return started

    def initial(self, seed: int) -> tuple[Weights, Scaling]:
        """What a policy from scratch begins with."""
        size = self.n_inputs
        scaling = Scaling(jnp.zeros(size), jnp.ones(size), jnp.float32(TINY))
        return self._initial_weights(seed), scaling

    def _initial_weights(self, seed: int) -> Weights:
        """Orthogonal matrices, drawn with NumPy: a batch of QR decompositions is slow in JAX."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        hidden = self.settings.hidden_sizes
        return Weights(
            actor=_make_layers(rng, (self.n_inputs, *hidden, self.n_outputs), last=0.01),
            critic=_make_layers(rng, (self.n_inputs, *hidden, 1), last=1.0),
            log_std=jnp.zeros(self.n_outputs),
        )

    # -- training ------------------------------------------------------------------------------

    def _advance(
        self, states: TrainState, tasks: Tasks, iterations: jax.Array, total: jax.Array
    ) -> tuple[TrainState, jax.Array]:
        """Some iterations further, then evaluate.

        Args:
            states: Of B policies.
            tasks: Of B policies.
            iterations: (n,) numbers of the iterations.
            total: Iterations of the whole run; an array, so that runs of any length share what is
                compiled.

        Returns:
            The states and (B,) mean returns on the training contexts.
        """

        def iterate(states: TrainState, iteration: jax.Array) -> tuple[TrainState, None]:
            # The shuffles are the same for every policy: one sort serves all.
            key = jax.random.fold_in(jax.random.PRNGKey(SHUFFLES), iteration)
            keys = jax.random.split(key, self.settings.update_epochs)
            shuffles = jax.vmap(lambda k: jax.random.permutation(k, self.settings.batch_size))(keys)

            def one(state: TrainState, tasks: Tasks) -> TrainState:
                return self._iteration(state, tasks, shuffles, iteration / total)

            return _apply_side_by_side(one, states, tasks), None

        states, _ = jax.lax.scan(iterate, states, iterations)
        return self._evaluate(states, tasks)

    def _evaluate(self, states: TrainState, tasks: Tasks) -> tuple[TrainState, jax.Array]:
        """Evaluate B policies on their training contexts: the states, (B,) mean returns."""
        kept: tuple[TrainState, jax.Array] = _apply_side_by_side(self._keep_best, states, tasks)
        return kept

    def _iteration(
        self, state: TrainState, tasks: Tasks, shuffles: jax.Array, share: jax.Array
    ) -> TrainState:
        """Play, then learn from what was seen.

        Args:
            state: Of one policy.
            tasks: Of one policy.
            shuffles: (update_epochs, batch_size) orders of the samples.
            share: Share of the run that is done.
        """
        settings = self.settings
        key, play_key = jax.random.split(state.key)
        env_state, transitions, seen = self._rollout(state, tasks, play_key)
        flat = jax.tree.map(lambda x: x.reshape(settings.batch_size, *x.shape[2:]), transitions)
        learning_rate = jnp.float32(settings.learning_rate)
        if settings.anneal_lr:
            learning_rate = learning_rate * (1 - share)

        def update(carry: Optimiser, minibatch: Transition) -> tuple[Optimiser, None]:
            gradient = jax.grad(self._loss)(carry.weights, minibatch)
            return _adam(*carry, gradient, learning_rate, settings.max_grad_norm), None

        def epoch(carry: Optimiser, shuffle: jax.Array) -> tuple[Optimiser, None]:
            rows = shuffle.reshape(-1, settings.minibatch_size)
            minibatches = jax.tree.map(lambda x: x[rows], flat)
            return jax.lax.scan(update, carry, minibatches)[0], None

        optimiser, _ = jax.lax.scan(epoch, state.optimiser, shuffles)
        scaling = _update_scaling(state.scaling, seen) if settings.norm_obs else state.scaling
        return state._replace(optimiser=optimiser, scaling=scaling, env_state=env_state, key=key)

    def _rollout(
        self, state: TrainState, tasks: Tasks, key: jax.Array
    ) -> tuple[EnvState, Transition, jax.Array]:
        """Play every environment for some steps.

        Returns:
            The environments afterwards, the transitions, the (n, O) observations as they were.
        """
        settings, environment = self.settings, self.environment

        def step(env_state: EnvState, key: jax.Array) -> tuple[EnvState, tuple[jax.Array, ...]]:
            act_key, reset_key = jax.random.split(key)
            parameters = _take_rows(tasks.parameters, env_state.task)
            seen = self._observe(env_state.state, env_state.task, tasks)
            obs = self._normalize(seen, state.scaling)
            action, log_prob = self._sample_action(state.optimiser.weights, obs, act_key)
            next_state, reward, terminated = jax.vmap(environment.step)(
                env_state.state, action, parameters
            )
            elapsed_steps = env_state.elapsed_steps + 1
            truncated = (elapsed_steps >= environment.max_steps) & ~terminated
            next_seen = self._observe(next_state, env_state.task, tasks)
            next_obs = self._normalize(next_seen, state.scaling)
            fresh = self._reset(reset_key, settings.num_envs, tasks)
            done = terminated | truncated
            env_state = jax.tree.map(
                lambda new, old: jnp.where(done.reshape(-1, *[1] * (old.ndim - 1)), new, old),
                fresh,
                EnvState(next_state, env_state.task, elapsed_steps),
            )
            return env_state, (seen, obs, action, log_prob, reward, terminated, done, next_obs)

        keys = jax.random.split(key, settings.num_steps)
        env_state, played = jax.lax.scan(step, state.env_state, keys)
        seen, obs, action, log_prob, reward, terminated, done, next_obs = played
        critic = state.optimiser.weights.critic
        value = _forward(critic, obs)[..., 0]
        # An episode that is truncated would have continued: its next value counts.
        next_value = jnp.where(terminated, 0.0, _forward(critic, next_obs)[..., 0])
        td_error = reward * settings.reward_scale + settings.gamma * next_value - value
        advantage = _gae(td_error, settings.gamma * settings.gae_lambda * (1.0 - done))
        transitions = Transition(obs, action, log_prob, advantage, advantage + value)
        return env_state, transitions, seen.reshape(-1, self.n_inputs)

    def _loss(self, weights: Weights, batch: Transition) -> jax.Array:
        """The clipped objective, the value loss and the entropy bonus of a minibatch."""
        settings = self.settings
        advantage = batch.advantage - batch.advantage.mean()
        advantage = advantage / (advantage.std() + TINY)
        log_prob, entropy = self._evaluate_action(weights, batch.obs, batch.action)
        ratio = jnp.exp(log_prob - batch.log_prob)
        clipped = jnp.clip(ratio, 1 - settings.clip_coef, 1 + settings.clip_coef)
        policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
        value_error = _forward(weights.critic, batch.obs)[:, 0] - batch.value_target
        value_loss = (value_error**2).mean()
        loss = settings.vf_coef * value_loss + policy_loss
        return loss - settings.ent_coef * entropy.mean() if settings.ent_coef else loss

    # -- the policy ------------------------------------------------------------------------------

    def _normalize(self, observations: jax.Array, scaling: Scaling) -> jax.Array:
        if not self.settings.norm_obs:
            return observations
        scaled = (observations - scaling.mean) * jax.lax.rsqrt(scaling.variance + TINY)
        return jnp.clip(scaled, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)

    def _observe(self, states: jax.Array, task: jax.Array, tasks: Tasks) -> jax.Array:
        """(E, O + C) observations with the context's coordinates, if they are seen."""
        parameters = _take_rows(tasks.parameters, task)
        seen = jax.vmap(self.environment.observe)(states, parameters)
        if not self.n_coordinates:
            return seen
        return jnp.concatenate([seen, _take_rows(tasks.coordinates, task)], axis=-1)

    def _sample_action(
        self, weights: Weights, obs: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Actions drawn by the policy for (E, I) observations, and their log probabilities."""
        outputs = _forward(weights.actor, obs)
        if self.bounds is not None:
            noise = jax.random.normal(key, outputs.shape, dtype=jnp.float32)
            actions = outputs + jnp.exp(weights.log_std) * noise
            return actions, _gaussian_log_prob(actions, outputs, weights.log_std)
        actions = jax.random.categorical(key, outputs)
        return actions, _log_prob_of(jax.nn.log_softmax(outputs), actions)

    def _evaluate_action(
        self, weights: Weights, obs: jax.Array, actions: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Log probabilities of the actions that were taken, and the entropies."""
        outputs = _forward(weights.actor, obs)
        if self.bounds is not None:
            entropy = (weights.log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum()
            return _gaussian_log_prob(actions, outputs, weights.log_std), entropy[None]
        log_probs = jax.nn.log_softmax(outputs)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1)
        return _log_prob_of(log_probs, actions), entropy

    def _best_action(self, weights: Weights, obs: jax.Array) -> jax.Array:
        outputs = _forward(weights.actor, obs)
        if self.bounds is not None:
            return jnp.clip(outputs, *self.bounds)
        return outputs.argmax(axis=-1)

    # -- episodes ----------------------------------------------------------------------------------

    def _reset(self, key: jax.Array, n: int, tasks: Tasks) -> EnvState:
        """New episodes, each in one of the contexts."""
        task = jnp.zeros(n, jnp.int32)
        if len(tasks.parameters) > 1:
            key, task_key = jax.random.split(key)
            task = jax.random.randint(task_key, (n,), 0, len(tasks.parameters))
        parameters = _take_rows(tasks.parameters, task)
        state = jax.vmap(self.environment.reset)(jax.random.split(key, n), parameters)
        return EnvState(state, task, jnp.zeros(n, jnp.int32))

    def _play(self, weights: Weights, scaling: Scaling, tasks: Tasks, keys: jax.Array) -> jax.Array:
        """(n,) returns of one episode in each of n contexts, with an (n, 2) key for each."""
        parameters = tasks.parameters
        states = jax.vmap(self.environment.reset)(keys, parameters)
        each = jnp.arange(len(keys))

        def unfinished(carry: _Episodes) -> jax.Array:
            return (carry[0] < self.environment.max_steps) & ~carry[3].all()

        def step(carry: _Episodes) -> _Episodes:
            elapsed_steps, states, total, done = carry
            obs = self._normalize(self._observe(states, each, tasks), scaling)
            actions = self._best_action(weights, obs)
            states, rewards, terminated = jax.vmap(self.environment.step)(
                states, actions, parameters
            )
            total = total + jnp.where(done, 0.0, rewards)
            return elapsed_steps + 1, states, total, done | terminated

        begin = (jnp.int32(0), states, jnp.zeros(len(keys)), jnp.zeros(len(keys), bool))
        return jax.lax.while_loop(unfinished, step, begin)[2]

    def _keep_best(self, state: TrainState, tasks: Tasks) -> tuple[TrainState, jax.Array]:
        """Evaluate the policy on its training contexts; remember it if it is the best so far."""
        key, play_key = jax.random.split(state.key)
        rows = self._evaluated_rows(len(tasks.parameters))
        evaluated = jax.tree.map(lambda x: x[rows], tasks)
        keys = jax.random.split(play_key, len(rows))
        mean = self._play(state.optimiser.weights, state.scaling, evaluated, keys).mean()
        better = mean >= state.best_return  # of equally good ones the one trained longer
        now = (state.optimiser.weights, state.scaling)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, state.best)
        best_return = jnp.where(better, mean, state.best_return)
        return state._replace(key=key, best=best, best_return=best_return), mean

    def _evaluated_rows(self, n: int) -> NDArray[np.intp]:
        """Which of n training contexts each episode of an evaluation is played in."""
        if n == 1:
            return np.zeros(self.settings.eval_episodes, dtype=np.intp)
        # Evenly among all, the same each time: otherwise the random draw, and not the policy,
        # would decide which one is the best.
        number = max(self.settings.eval_episodes, min(n, MOST_EVALUATED))
        return np.linspace(0, n - 1, number).astype(np.intp)


_Episodes = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _apply_side_by_side(function: Callable[..., Any], *batches: Any) -> Any:
    """A function of one policy, for B of them: arguments and results get a leading axis.

    One policy alone is faster without that axis.
    """
    if len(jax.tree.leaves(batches)[0]) > 1:
        return jax.vmap(function)(*batches)
    single = jax.tree.map(lambda x: x[0], batches)
    return jax.tree.map(lambda x: x[None], function(*single))


def _make_layers(rng: np.random.Generator, sizes: tuple[int, ...], *, last: float) -> Layers:
    """Layers with orthogonal matrices, zero biases; gain sqrt(2), `last` for the last one."""
    gains = [2**0.5] * (len(sizes) - 2) + [last]
    return [
        (jnp.asarray(gain * _orthogonal(rng, n, m)), jnp.zeros(m, jnp.float32))
        for (n, m), gain in zip(pairwise(sizes), gains, strict=True)
    ]


def _orthogonal(rng: np.random.Generator, n: int, m: int) -> NDArray[np.float32]:
    """(n, m) a random matrix with orthonormal rows or columns, whichever are fewer."""
    q, r = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))
    q = q * np.sign(np.diagonal(r))
    return np.asarray(q if n >= m else q.T, dtype=np.float32)


def _forward(layers: Layers, x: jax.Array) -> jax.Array:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def _take_rows(rows: jax.Array, index: jax.Array) -> jax.Array:
    """(n, ...) rows by index; without a look-up if there is only one."""
    if len(rows) == 1:
        return jnp.broadcast_to(rows[0], (len(index), *rows.shape[1:]))
    return rows[index]


def _gae(td_error: jax.Array, decay: jax.Array) -> jax.Array:
    """(T, E) advantages: sums over the later errors, each weighted with the decays up to it."""

    def backwards(
        advantage: jax.Array, now: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        advantage = now[0] + now[1] * advantage
        return advantage, advantage

    return jax.lax.scan(backwards, jnp.zeros_like(td_error[0]), (td_error, decay), reverse=True)[1]


def _log_prob_of(log_probs: jax.Array, actions: jax.Array) -> jax.Array:
    """(n,) of (n, A) log probabilities those of the actions."""
    return (log_probs * jax.nn.one_hot(actions, log_probs.shape[-1])).sum(axis=-1)


def _gaussian_log_prob(x: jax.Array, mean: jax.Array, log_std: jax.Array) -> jax.Array:
    """Log density of independent Gaussians, summed over the last axis."""
    scaled = (x - mean) * jnp.exp(-log_std)
    return (-0.5 * scaled**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(axis=-1)


def _adam(
    weights: Weights,
    mean: Weights,
    square: Weights,
    updates: jax.Array,
    gradient: Weights,
    learning_rate: jax.Array,
    max_grad_norm: float,
) -> Optimiser:
    """One step of Adam with the gradient cut to a largest norm."""
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(gradient)))
    shrink = jnp.minimum(1.0, max_grad_norm / (norm + 1e-6))
    updates = updates + 1
    rate = learning_rate * jnp.sqrt(1 - ADAM_SQUARE**updates) / (1 - ADAM_MEAN**updates)
    epsilon = ADAM_EPSILON * jnp.sqrt(1 - ADAM_SQUARE**updates)
    mean = jax.tree.map(lambda m, g: m + (1 - ADAM_MEAN) * (shrink * g - m), mean, gradient)
    square = jax.tree.map(
        lambda s, g: s + (1 - ADAM_SQUARE) * ((shrink * g) ** 2 - s), square, gradient
    )
    weights = jax.tree.map(
        lambda w, m, s: w - rate * m / (jnp.sqrt(s) + epsilon), weights, mean, square
    )
    return Optimiser(weights, mean, square, updates)


def _update_scaling(scaling: Scaling, seen: jax.Array) -> Scaling:
    """The statistics with (n, O) further observations."""
    n = len(seen)
    mean, variance = seen.mean(axis=0), seen.var(axis=0)
    total = scaling.number + n
    apart = mean - scaling.mean
    spread = (
        scaling.variance * scaling.number + variance * n + apart**2 * scaling.number * n / total
    )
    return Scaling(scaling.mean + apart * n / total, spread / total, total)
