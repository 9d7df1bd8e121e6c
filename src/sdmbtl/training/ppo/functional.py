"""PPO in environments that are pure functions, for one policy or a batch of them.

Everything here is compiled by JAX. A training run is a `TrainState` that `FunctionalPPO.advance`
takes a few iterations further; `FunctionalPPO.play` plays full episodes with the policy as it will
be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.training.ppo.distributions import Categorical, Distribution, Gaussian
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
    Scaling,
    Weights,
    forward,
    normalize,
    update_scaling,
)
from sdmbtl.training.ppo.settings import PPOSettings

#: At most this many training contexts are evaluated during training, always the same ones.
MOST_EVALUATED = 64


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


class TrainState(NamedTuple):
    """Everything a training run needs to continue."""

    optimiser: Optimiser
    scaling: Scaling
    env_state: EnvState
    key: jax.Array
    best: tuple[Weights, Scaling]
    best_return: jax.Array


class FunctionalPPO:
    """Trains policies in one functional environment.

    Args:
        environment: The physics.
        settings: The settings.
        n_coordinates: C, the number of context coordinates that a policy sees.
        max_episode_steps: Length at which an episode is cut off, if that is before the
            environment does it.
        evaluated: The environment with the episodes that `play` plays, if they are others than
            those of training.
    """

    def __init__(
        self,
        environment: FunctionalEnvironment,
        settings: PPOSettings,
        n_coordinates: int = 0,
        max_episode_steps: int | None = None,
        evaluated: FunctionalEnvironment | None = None,
    ) -> None:
        self.environment = environment
        self.max_steps = min(environment.max_steps, max_episode_steps or environment.max_steps)
        self.settings = settings
        self.n_coordinates = n_coordinates
        self.n_inputs = environment.observation_size + n_coordinates
        self.distribution = _distribution_of(environment.actions)
        self.advance = jax.jit(self._advance)
        self.evaluate = jax.jit(self._evaluate)
        self.play = jax.jit(partial(self._play, (evaluated or environment).reset))

    # -- the beginning -----------------------------------------------------------------------

    def start(
        self, tasks: Tasks, seeds: list[int], begin: Sequence[tuple[Weights, Scaling]]
    ) -> TrainState:
        """States of new training runs.

        Args:
            tasks: With a leading axis for the runs.
            seeds: Of each run.
            begin: What each begins with, by `PolicyForm.begin`. Either way Adam knows nothing yet,
                and no policy is the best one yet.
        """
        weights, scaling = jax.tree.map(lambda *w: jnp.stack(w), *begin)
        keys = jnp.stack([jax.random.PRNGKey(seed % 2**32) for seed in seeds])

        def one(weights: Weights, scaling: Scaling, key: jax.Array, tasks: Tasks) -> TrainState:
            key, reset_key = jax.random.split(key)
            return TrainState(
                optimiser=start_optimiser(weights),
                scaling=scaling,
                env_state=self._reset(reset_key, self.settings.num_envs, tasks),
                key=key,
                best=(weights, scaling),
                best_return=jnp.float32(-jnp.inf),
            )

        started: TrainState = jax.vmap(one)(weights, scaling, keys, tasks)
        return started

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
            settings = self.settings
            shuffles = make_shuffles(iteration, settings.update_epochs, settings.batch_size)

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
        optimiser = learn(state.optimiser, flat, shuffles, share, self.distribution, settings)
        scaling = update_scaling(state.scaling, seen) if settings.norm_obs else state.scaling
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
            truncated = (elapsed_steps >= self.max_steps) & ~terminated
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
        judged = Played(obs, next_obs, reward, terminated, done)
        advantage, value_target = estimate_advantages(critic, judged, settings)
        transitions = Transition(obs, action, log_prob, advantage, value_target)
        return env_state, transitions, seen.reshape(-1, self.n_inputs)

    # -- the policy ------------------------------------------------------------------------------

    def _normalize(self, observations: jax.Array, scaling: Scaling) -> jax.Array:
        return normalize(observations, scaling) if self.settings.norm_obs else observations

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
        outputs = forward(weights.actor, obs)
        return self.distribution.sample(outputs, weights.log_std, key)

    def _best_action(self, weights: Weights, obs: jax.Array) -> jax.Array:
        return self.distribution.best(forward(weights.actor, obs))

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

    def _play(
        self,
        reset: Callable[[jax.Array, jax.Array], jax.Array],
        weights: Weights,
        scaling: Scaling,
        tasks: Tasks,
        keys: jax.Array,
    ) -> jax.Array:
        """(n,) returns of one episode in each of n contexts, with an (n, 2) key for each."""
        parameters = tasks.parameters
        states = jax.vmap(reset)(keys, parameters)
        each = jnp.arange(len(keys))

        def unfinished(carry: _Episodes) -> jax.Array:
            return (carry[0] < self.max_steps) & ~carry[3].all()

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
        weights, reset = state.optimiser.weights, self.environment.reset
        mean = self._play(reset, weights, state.scaling, evaluated, keys).mean()
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


def _take_rows(rows: jax.Array, index: jax.Array) -> jax.Array:
    """(n, ...) rows by index; without a look-up if there is only one."""
    if len(rows) == 1:
        return jnp.broadcast_to(rows[0], (len(index), *rows.shape[1:]))
    return rows[index]


def _distribution_of(actions: spaces.Discrete | spaces.Box) -> Distribution:
    if isinstance(actions, spaces.Discrete):
        return Categorical(int(actions.n))
    return Gaussian(actions.shape[0], (float(actions.low[0]), float(actions.high[0])))
