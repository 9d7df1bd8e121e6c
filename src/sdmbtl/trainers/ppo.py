"""Proximal policy optimisation as pure functions, for one policy or a batch of them.

Everything here is compiled by JAX. A training is a `TrainState` that `PPO.advance` takes a few
iterations further; `PPO.play` plays whole episodes with the policy as it will be used.
"""

from __future__ import annotations

from collections.abc import Callable
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
#: Seed of the order in which samples are learned from, in every training.
SHUFFLES = 0x5EED
#: Of several training contexts, so many are evaluated during training, always the same ones.
MOST_EVALUATED = 64


@dataclass(frozen=True)
class PPOSettings:
    """Settings of the training; the names follow the paper on PPO where it has one.

    Attributes:
        steps: Environment steps for each policy, rounded up to whole iterations.
        envs: Environments played side by side for each policy.
        rollout: Steps of each environment in an iteration.
        minibatch: Samples for one step of the optimiser.
        epochs: Passes over the samples of an iteration.
        learning_rate: Step size of Adam.
        anneal: Whether the step size falls linearly to zero.
        discount: Weight of the next step's return.
        gae: Lambda of generalised advantage estimation.
        clip: Largest change of the probability ratio.
        entropy: Weight of the entropy bonus.
        value: Weight of the value loss.
        max_gradient: Largest norm of a gradient.
        hidden: Units of the hidden layers of actor and critic.
        normalize: Whether observations are normalised by their running mean and variance.
        reward_scale: Factor on rewards in training; returns are reported without it.
        evaluate_every: Iterations between two evaluations on the training contexts.
        evaluate_episodes: Episodes of such an evaluation; the best policy is kept.
    """

    steps: int = 61_440
    envs: int = 8
    rollout: int = 256
    minibatch: int = 64
    epochs: int = 10
    learning_rate: float = 3e-4
    anneal: bool = False
    discount: float = 0.99
    gae: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    value: float = 0.5
    max_gradient: float = 0.5
    hidden: tuple[int, ...] = (64, 64)
    normalize: bool = False
    reward_scale: float = 1.0
    evaluate_every: int = 5
    evaluate_episodes: int = 10

    def __post_init__(self) -> None:
        counts = ("steps", "envs", "rollout", "minibatch", "epochs")
        for name in (*counts, "evaluate_every", "evaluate_episodes"):
            whole_number(name, getattr(self, name), low=1, error=TrainerError)
        shares = ("discount", "gae")
        for name in (*shares, "learning_rate", "clip", "entropy", "value", "max_gradient"):
            number = finite_number(name, getattr(self, name), low=0.0, error=TrainerError)
            if name in shares and number > 1:
                raise TrainerError(f"{name!r} must be at most 1. Got {number!r} instead.")
        finite_number("reward_scale", self.reward_scale, error=TrainerError)
        for name in ("anneal", "normalize"):
            truth_value(name, getattr(self, name), error=TrainerError)
        if not isinstance(self.hidden, list | tuple):
            raise TrainerError(
                f"'hidden' must list the units of each layer. Got {self.hidden!r} instead."
            )
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for units in self.hidden:
            whole_number("hidden", units, low=1, error=TrainerError)
        if (self.envs * self.rollout) % self.minibatch:
            raise TrainerError(
                f"'minibatch' must divide envs * rollout = {self.envs * self.rollout}. "
                f"Got {self.minibatch} instead."
            )

    @property
    def batch(self) -> int:
        """Samples of one iteration."""
        return self.envs * self.rollout

    @property
    def iterations(self) -> int:
        """Iterations of a training."""
        return -(-self.steps // self.batch)


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


class Worlds(NamedTuple):
    """The environments that are being played.

    Attributes:
        states: (E, S) their states.
        task: (E,) which of the contexts each has.
        age: (E,) steps since its last reset.
    """

    states: jax.Array
    task: jax.Array
    age: jax.Array


class Samples(NamedTuple):
    """What one iteration has seen: (T, E, ...) in a rollout, (n, ...) in a minibatch."""

    observations: jax.Array
    actions: jax.Array
    log_probabilities: jax.Array
    advantages: jax.Array
    values: jax.Array


class Optimiser(NamedTuple):
    """The weights, and what Adam knows of their gradients: mean, mean square, number."""

    weights: Weights
    mean: Weights
    square: Weights
    updates: jax.Array


class TrainState(NamedTuple):
    """Everything a training needs to go on."""

    optimiser: Optimiser
    scaling: Scaling
    worlds: Worlds
    key: jax.Array
    best: tuple[Weights, Scaling]
    best_return: jax.Array


class PPO:
    """The training of policies in one functional environment.

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
        self.play = jax.jit(self._play)

    # -- the beginning -----------------------------------------------------------------------

    def start(self, tasks: Tasks, seeds: list[int]) -> TrainState:
        """States of new trainings, one for each seed; `tasks` has a leading axis for them."""
        weights = jax.tree.map(lambda *w: jnp.stack(w), *[self._initial(seed) for seed in seeds])
        keys = jnp.stack([jax.random.PRNGKey(seed % 2**32) for seed in seeds])

        def one(weights: Weights, key: jax.Array, tasks: Tasks) -> TrainState:
            key, fresh = jax.random.split(key)
            zeros = jax.tree.map(jnp.zeros_like, weights)
            size = self.n_inputs
            scaling = Scaling(jnp.zeros(size), jnp.ones(size), jnp.float32(TINY))
            return TrainState(
                optimiser=Optimiser(weights, zeros, zeros, jnp.float32(0.0)),
                scaling=scaling,
                worlds=self._fresh(fresh, self.settings.envs, tasks),
                key=key,
                best=(weights, scaling),
                best_return=jnp.float32(-jnp.inf),
            )

        started: TrainState = jax.vmap(one)(weights, keys, tasks)
        return started

    def _initial(self, seed: int) -> Weights:
        """Orthogonal matrices, drawn with NumPy: a batch of QR decompositions is slow in JAX."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        return Weights(
            actor=_layers(rng, (self.n_inputs, *self.settings.hidden, self.n_outputs), last=0.01),
            critic=_layers(rng, (self.n_inputs, *self.settings.hidden, 1), last=1.0),
            log_std=jnp.zeros(self.n_outputs),
        )

    # -- training ------------------------------------------------------------------------------

    def _advance(
        self, states: TrainState, tasks: Tasks, iterations: jax.Array
    ) -> tuple[TrainState, jax.Array]:
        """Some iterations further, then evaluate.

        Args:
            states: Of B policies.
            tasks: Of B policies.
            iterations: (n,) numbers of the iterations.

        Returns:
            The states and (B,) mean returns on the training contexts.
        """

        def iterate(states: TrainState, iteration: jax.Array) -> tuple[TrainState, None]:
            # The shuffles are the same for every policy: one sort serves all.
            key = jax.random.fold_in(jax.random.PRNGKey(SHUFFLES), iteration)
            keys = jax.random.split(key, self.settings.epochs)
            shuffles = jax.vmap(lambda k: jax.random.permutation(k, self.settings.batch))(keys)

            def one(state: TrainState, tasks: Tasks) -> TrainState:
                return self._iteration(state, tasks, shuffles, iteration)

            return _side_by_side(one, states, tasks), None

        states, _ = jax.lax.scan(iterate, states, iterations)
        kept: tuple[TrainState, jax.Array] = _side_by_side(self._keep_best, states, tasks)
        return kept

    def _iteration(
        self, state: TrainState, tasks: Tasks, shuffles: jax.Array, iteration: jax.Array
    ) -> TrainState:
        """Play, then learn from what was seen; `shuffles` is (epochs, batch)."""
        key, play_key = jax.random.split(state.key)
        worlds, samples, seen = self._rollout(state, tasks, play_key)
        flat = jax.tree.map(lambda x: x.reshape(self.settings.batch, *x.shape[2:]), samples)
        rate = jnp.float32(self.settings.learning_rate)
        if self.settings.anneal:
            rate = rate * (1 - iteration / self.settings.iterations)

        def update(carry: Optimiser, batch: Samples) -> tuple[Optimiser, None]:
            gradient = jax.grad(self._loss)(carry.weights, batch)
            return _adam(*carry, gradient, rate, self.settings.max_gradient), None

        def epoch(carry: Optimiser, shuffle: jax.Array) -> tuple[Optimiser, None]:
            rows = shuffle.reshape(-1, self.settings.minibatch)
            batches = jax.tree.map(lambda x: x[rows], flat)
            return jax.lax.scan(update, carry, batches)[0], None

        optimiser, _ = jax.lax.scan(epoch, state.optimiser, shuffles)
        scaling = _updated(state.scaling, seen) if self.settings.normalize else state.scaling
        return state._replace(optimiser=optimiser, scaling=scaling, worlds=worlds, key=key)

    def _rollout(
        self, state: TrainState, tasks: Tasks, key: jax.Array
    ) -> tuple[Worlds, Samples, jax.Array]:
        """Play every environment for some steps.

        Returns:
            The environments afterwards, the samples, the (n, O) observations as they were.
        """
        settings, environment = self.settings, self.environment

        def step(worlds: Worlds, key: jax.Array) -> tuple[Worlds, tuple[jax.Array, ...]]:
            act_key, fresh_key = jax.random.split(key)
            parameters = _taken(tasks.parameters, worlds.task)
            seen = self._observed(worlds.states, worlds.task, tasks)
            inputs = self._inputs(seen, state.scaling)
            actions, log_probabilities = self._sampled(state.optimiser.weights, inputs, act_key)
            after, rewards, ended = jax.vmap(environment.step)(worlds.states, actions, parameters)
            age = worlds.age + 1
            cut = (age >= environment.max_steps) & ~ended
            reached = self._inputs(self._observed(after, worlds.task, tasks), state.scaling)
            fresh = self._fresh(fresh_key, settings.envs, tasks)
            over = ended | cut
            worlds = jax.tree.map(
                lambda new, old: jnp.where(over.reshape(-1, *[1] * (old.ndim - 1)), new, old),
                fresh,
                Worlds(after, worlds.task, age),
            )
            return worlds, (seen, inputs, actions, log_probabilities, rewards, ended, over, reached)

        worlds, played = jax.lax.scan(step, state.worlds, jax.random.split(key, settings.rollout))
        seen, inputs, actions, log_probabilities, rewards, ended, over, reached = played
        values = _forward(state.optimiser.weights.critic, inputs)[..., 0]
        # An episode that is cut off would have gone on: its next value counts.
        following = jnp.where(ended, 0.0, _forward(state.optimiser.weights.critic, reached)[..., 0])
        surprise = rewards * settings.reward_scale + settings.discount * following - values
        decay = settings.discount * settings.gae * (1.0 - over)

        advantages = _accumulated(surprise, decay)
        samples = Samples(inputs, actions, log_probabilities, advantages, advantages + values)
        return worlds, samples, seen.reshape(-1, self.n_inputs)

    def _loss(self, weights: Weights, batch: Samples) -> jax.Array:
        """The clipped objective, the value loss and the entropy bonus of a minibatch."""
        settings = self.settings
        advantages = batch.advantages - batch.advantages.mean()
        advantages = advantages / (advantages.std() + TINY)
        log_probabilities, entropy = self._judged(weights, batch.observations, batch.actions)
        ratio = jnp.exp(log_probabilities - batch.log_probabilities)
        clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
        gain = jnp.minimum(ratio * advantages, clipped * advantages).mean()
        misjudged = _forward(weights.critic, batch.observations)[:, 0] - batch.values
        loss = settings.value * (misjudged**2).mean() - gain
        return loss - settings.entropy * entropy.mean() if settings.entropy else loss

    # -- the policy ------------------------------------------------------------------------------

    def _inputs(self, observations: jax.Array, scaling: Scaling) -> jax.Array:
        if not self.settings.normalize:
            return observations
        scaled = (observations - scaling.mean) * jax.lax.rsqrt(scaling.variance + TINY)
        return jnp.clip(scaled, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)

    def _observed(self, states: jax.Array, task: jax.Array, tasks: Tasks) -> jax.Array:
        """(E, O + C) observations with the context's coordinates, if they are seen."""
        parameters = _taken(tasks.parameters, task)
        seen = jax.vmap(self.environment.observe)(states, parameters)
        if not self.n_coordinates:
            return seen
        return jnp.concatenate([seen, _taken(tasks.coordinates, task)], axis=-1)

    def _sampled(
        self, weights: Weights, inputs: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Actions drawn by the policy for (E, I) inputs, and their log probabilities."""
        outputs = _forward(weights.actor, inputs)
        if self.bounds is not None:
            noise = jax.random.normal(key, outputs.shape, dtype=jnp.float32)
            actions = outputs + jnp.exp(weights.log_std) * noise
            return actions, _gaussian(actions, outputs, weights.log_std)
        actions = jax.random.categorical(key, outputs)
        return actions, _chosen(jax.nn.log_softmax(outputs), actions)

    def _judged(
        self, weights: Weights, inputs: jax.Array, actions: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Log probabilities of the actions that were taken, and the entropies."""
        outputs = _forward(weights.actor, inputs)
        if self.bounds is not None:
            entropy = (weights.log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum()
            return _gaussian(actions, outputs, weights.log_std), entropy[None]
        logs = jax.nn.log_softmax(outputs)
        return _chosen(logs, actions), -(jnp.exp(logs) * logs).sum(axis=-1)

    def _best_action(self, weights: Weights, inputs: jax.Array) -> jax.Array:
        outputs = _forward(weights.actor, inputs)
        if self.bounds is not None:
            return jnp.clip(outputs, *self.bounds)
        return outputs.argmax(axis=-1)

    # -- episodes ----------------------------------------------------------------------------------

    def _fresh(self, key: jax.Array, n: int, tasks: Tasks) -> Worlds:
        """New episodes, each in one of the contexts."""
        task = jnp.zeros(n, jnp.int32)
        if len(tasks.parameters) > 1:
            key, task_key = jax.random.split(key)
            task = jax.random.randint(task_key, (n,), 0, len(tasks.parameters))
        parameters = _taken(tasks.parameters, task)
        states = jax.vmap(self.environment.reset)(jax.random.split(key, n), parameters)
        return Worlds(states, task, jnp.zeros(n, jnp.int32))

    def _play(self, weights: Weights, scaling: Scaling, tasks: Tasks, keys: jax.Array) -> jax.Array:
        """(n,) returns of one whole episode in each of n contexts, with an (n, 2) key for each."""
        parameters = tasks.parameters
        states = jax.vmap(self.environment.reset)(keys, parameters)
        each = jnp.arange(len(keys))
        alive = jnp.ones(len(keys), bool)

        def going_on(carry: _Episodes) -> jax.Array:
            return (carry[0] < self.environment.max_steps) & carry[3].any()

        def step(carry: _Episodes) -> _Episodes:
            age, states, total, alive = carry
            inputs = self._inputs(self._observed(states, each, tasks), scaling)
            actions = self._best_action(weights, inputs)
            states, rewards, ended = jax.vmap(self.environment.step)(states, actions, parameters)
            return age + 1, states, total + jnp.where(alive, rewards, 0.0), alive & ~ended

        begin = (jnp.int32(0), states, jnp.zeros(len(keys)), alive)
        return jax.lax.while_loop(going_on, step, begin)[2]

    def _keep_best(self, state: TrainState, tasks: Tasks) -> tuple[TrainState, jax.Array]:
        """Evaluate the policy on its training contexts; remember it if it is the best so far."""
        key, play_key = jax.random.split(state.key)
        rows = self._evaluated_rows(len(tasks.parameters))
        judged = jax.tree.map(lambda x: x[rows], tasks)
        keys = jax.random.split(play_key, len(rows))
        mean = self._play(state.optimiser.weights, state.scaling, judged, keys).mean()
        better = mean >= state.best_return  # of equally good ones the one trained longer
        now = (state.optimiser.weights, state.scaling)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, state.best)
        best_return = jnp.where(better, mean, state.best_return)
        return state._replace(key=key, best=best, best_return=best_return), mean

    def _evaluated_rows(self, n: int) -> NDArray[np.intp]:
        """Which of n training contexts each episode of an evaluation is played in."""
        if n == 1:
            return np.zeros(self.settings.evaluate_episodes, dtype=np.intp)
        # Evenly among all, the same each time: otherwise the luck of the draw, and not the
        # policy, would decide which one is the best.
        number = max(self.settings.evaluate_episodes, min(n, MOST_EVALUATED))
        return np.linspace(0, n - 1, number).astype(np.intp)


_Episodes = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _side_by_side(function: Callable[..., Any], *batches: Any) -> Any:
    """A function of one policy, for B of them: arguments and results get a leading axis.

    One policy alone is faster without that axis.
    """
    if len(jax.tree.leaves(batches)[0]) > 1:
        return jax.vmap(function)(*batches)
    single = jax.tree.map(lambda x: x[0], batches)
    return jax.tree.map(lambda x: x[None], function(*single))


def _layers(rng: np.random.Generator, sizes: tuple[int, ...], *, last: float) -> Layers:
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


def _taken(rows: jax.Array, index: jax.Array) -> jax.Array:
    """(n, ...) rows by index; without a look-up if there is only one."""
    if len(rows) == 1:
        return jnp.broadcast_to(rows[0], (len(index), *rows.shape[1:]))
    return rows[index]


def _accumulated(surprise: jax.Array, decay: jax.Array) -> jax.Array:
    """(T, E) sums over the later steps, each weighted with the decays up to it."""

    def backwards(
        total: jax.Array, now: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        total = now[0] + now[1] * total
        return total, total

    return jax.lax.scan(backwards, jnp.zeros_like(surprise[0]), (surprise, decay), reverse=True)[1]


def _chosen(logs: jax.Array, actions: jax.Array) -> jax.Array:
    return (logs * jax.nn.one_hot(actions, logs.shape[-1])).sum(axis=-1)


def _gaussian(x: jax.Array, mean: jax.Array, log_std: jax.Array) -> jax.Array:
    """Log density of independent Gaussians, summed over the last axis."""
    scaled = (x - mean) * jnp.exp(-log_std)
    return (-0.5 * scaled**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(axis=-1)


def _adam(
    weights: Weights,
    mean: Weights,
    square: Weights,
    updates: jax.Array,
    gradient: Weights,
    rate: jax.Array,
    max_gradient: float,
) -> Optimiser:
    """One step of Adam with the gradient cut to a largest norm."""
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(gradient)))
    shrink = jnp.minimum(1.0, max_gradient / (norm + 1e-6))
    updates = updates + 1
    rate = rate * jnp.sqrt(1 - ADAM_SQUARE**updates) / (1 - ADAM_MEAN**updates)
    epsilon = ADAM_EPSILON * jnp.sqrt(1 - ADAM_SQUARE**updates)
    mean = jax.tree.map(lambda m, g: m + (1 - ADAM_MEAN) * (shrink * g - m), mean, gradient)
    square = jax.tree.map(
        lambda s, g: s + (1 - ADAM_SQUARE) * ((shrink * g) ** 2 - s), square, gradient
    )
    weights = jax.tree.map(
        lambda w, m, s: w - rate * m / (jnp.sqrt(s) + epsilon), weights, mean, square
    )
    return Optimiser(weights, mean, square, updates)


def _updated(scaling: Scaling, seen: jax.Array) -> Scaling:
    """The statistics with (n, O) further observations."""
    n = len(seen)
    mean, variance = seen.mean(axis=0), seen.var(axis=0)
    total = scaling.number + n
    apart = mean - scaling.mean
    spread = (
        scaling.variance * scaling.number + variance * n + apart**2 * scaling.number * n / total
    )
    return Scaling(scaling.mean + apart * n / total, spread / total, total)
