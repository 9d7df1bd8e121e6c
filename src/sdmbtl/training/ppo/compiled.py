"""PPO in JAX environments, for one policy or a batch of them: everything here is compiled.

A training run is a `TrainState` that `CompiledPPO.advance` takes a few iterations further;
`CompiledPPO.play` plays full episodes with the policy as it will be used.
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

from sdmbtl.contexts.observation import append_context
from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.training.ppo.distributions import Categorical, Gaussian
from sdmbtl.training.ppo.learner import (
    Optimiser,
    Trajectory,
    Transition,
    estimate_advantages,
    learn,
    make_shuffles,
    start_optimiser,
)
from sdmbtl.training.ppo.networks import RunningStats, Weights, normalize, update_stats
from sdmbtl.training.ppo.settings import PPOSettings

#: At most this many training contexts are evaluated during training, always the same ones.
MOST_EVALUATED = 64


class Tasks(NamedTuple):
    """M contexts that a policy is trained on.

    Attributes:
        parameters: (M, P) for the environment.
        coordinates: (M, C) coordinates that the policy sees; C is 0 if it sees none.
    """

    parameters: jax.Array
    coordinates: jax.Array


class EnvState(NamedTuple):
    """The environments that are being played: (E, ...) arrays.

    `task` is the number of the context of each; steps and rewards count from its last reset.
    """

    state: Any
    task: jax.Array
    elapsed_steps: jax.Array
    total: jax.Array


class EndedEpisodes(NamedTuple):
    """Sum of returns and number of the episodes since the last entry of the learning curve."""

    total: jax.Array
    number: jax.Array


class TrainState(NamedTuple):
    """Everything a training run needs to continue.

    `latest_return` is the latest entry of the learning curve, NaN before the first. `best` has the
    weights and statistics of the policy to return, and `best_return` its mean return.
    """

    optimiser: Optimiser
    obs_stats: RunningStats
    env_state: EnvState
    key: jax.Array
    ended: EndedEpisodes
    latest_return: jax.Array
    best: tuple[Weights, RunningStats]
    best_return: jax.Array
    evaluation_steps: jax.Array


class CompiledPPO:
    """Trains policies in one functional environment; `play` plays those of `evaluated`.

    `compiled` has the shapes of training runs for which functions have been compiled.
    """

    def __init__(
        self,
        environment: FunctionalEnvironment,
        settings: PPOSettings,
        max_episode_steps: int | None = None,
        evaluated: FunctionalEnvironment | None = None,
    ) -> None:
        self.environment = environment
        self.max_steps = min(environment.max_steps, max_episode_steps or environment.max_steps)
        self.settings = settings
        actions = environment.actions
        self.distribution: Categorical | Gaussian
        if isinstance(actions, spaces.Discrete):
            self.distribution = Categorical(int(actions.n))
        else:
            bounds = float(actions.low[0]), float(actions.high[0])
            self.distribution = Gaussian(actions.shape[0], bounds)
        self.compiled = set[tuple[object, ...]]()
        self._start = jax.jit(jax.vmap(self._start_one))
        self.advance = jax.jit(self._advance)
        self.evaluate = jax.jit(partial(_apply_to_each, self._keep_best))
        self.play = jax.jit(partial(self._play, (evaluated or environment).reset))

    # -- the beginning -----------------------------------------------------------------------

    def start(
        self, tasks: Tasks, seeds: list[int], begin: Sequence[tuple[Weights, RunningStats]]
    ) -> TrainState:
        """Return the states of new training runs, whose weights are from `PolicyForm.begin`."""
        weights, obs_stats = jax.tree.map(lambda *w: np.stack(w), *begin)
        numbers = np.array([seed % 2**32 for seed in seeds], np.uint32)
        started: TrainState = self._start(weights, obs_stats, numbers, tasks)
        return started

    def _start_one(
        self, weights: Weights, obs_stats: RunningStats, seed: jax.Array, tasks: Tasks
    ) -> TrainState:
        key, reset_key = jax.random.split(jax.random.PRNGKey(seed))
        return TrainState(
            optimiser=start_optimiser(weights),
            obs_stats=obs_stats,
            env_state=self._reset(reset_key, self.settings.num_envs, tasks),
            key=key,
            ended=EndedEpisodes(jnp.float32(0.0), jnp.int32(0)),
            latest_return=jnp.float32(jnp.nan),
            best=(weights, obs_stats),
            best_return=jnp.float32(-jnp.inf),
            evaluation_steps=jnp.int32(0),
        )

    # -- training ------------------------------------------------------------------------------

    def _advance(
        self, states: TrainState, tasks: Tasks, iterations: jax.Array, total: jax.Array
    ) -> tuple[TrainState, jax.Array]:
        """Train B policies for (n,) iterations, then add to the learning curve; see `_keep_best`.

        The number of all iterations is an array: runs of any length share what is compiled.
        """

        def iterate(states: TrainState, iteration: jax.Array) -> tuple[TrainState, None]:
            # The shuffles are the same for every policy: one sort serves all.
            settings = self.settings
            shuffles = make_shuffles(iteration, settings.update_epochs, settings.batch_size)

            def one(state: TrainState, tasks: Tasks) -> TrainState:
                return self._iteration(state, tasks, shuffles, iteration / total)

            return _apply_to_each(one, states, tasks), None

        states, _ = jax.lax.scan(iterate, states, iterations)
        kept: tuple[TrainState, jax.Array] = _apply_to_each(self._keep_best, states, tasks)
        return kept

    def _iteration(
        self, state: TrainState, tasks: Tasks, shuffles: jax.Array, share: jax.Array
    ) -> TrainState:
        """Play, then learn from (update_epochs, batch_size) orders of what was seen."""
        settings = self.settings
        key, play_key = jax.random.split(state.key)
        env_state, transitions, seen, ended = self._rollout(state, tasks, play_key)
        flat = jax.tree.map(lambda x: x.reshape(settings.batch_size, *x.shape[2:]), transitions)
        optimiser = learn(state.optimiser, flat, shuffles, share, self.distribution, settings)
        obs_stats = update_stats(state.obs_stats, seen) if settings.norm_obs else state.obs_stats
        return state._replace(
            optimiser=optimiser, obs_stats=obs_stats, env_state=env_state, key=key, ended=ended
        )

    def _rollout(
        self, state: TrainState, tasks: Tasks, key: jax.Array
    ) -> tuple[EnvState, Transition, jax.Array, EndedEpisodes]:
        """Play every environment for some steps; returns observations before normalisation too."""
        settings, environment, weights = self.settings, self.environment, state.optimiser.weights

        def step(env_state: EnvState, key: jax.Array) -> tuple[EnvState, tuple[jax.Array, ...]]:
            act_key, reset_key = jax.random.split(key)
            parameters = _take_rows(tasks.parameters, env_state.task)
            seen, obs = self._observe(env_state.state, env_state.task, tasks, state.obs_stats)
            outputs = weights.act(obs)
            action, log_prob = self.distribution.sample(outputs, weights.log_std, act_key)
            next_state, reward, terminated = jax.vmap(environment.step)(
                env_state.state, action, parameters
            )
            elapsed_steps = env_state.elapsed_steps + 1
            truncated = (elapsed_steps >= self.max_steps) & ~terminated
            _, next_obs = self._observe(next_state, env_state.task, tasks, state.obs_stats)
            fresh = self._reset(reset_key, settings.num_envs, tasks)
            done = terminated | truncated
            total = env_state.total + reward
            env_state = jax.tree.map(
                lambda new, old: jnp.where(done.reshape(-1, *[1] * (old.ndim - 1)), new, old),
                fresh,
                EnvState(next_state, env_state.task, elapsed_steps, total),
            )
            played = (seen, obs, action, log_prob, reward, terminated, done, next_obs, total)
            return env_state, played

        keys = jax.random.split(key, settings.num_steps)
        env_state, played = jax.lax.scan(step, state.env_state, keys)
        seen, obs, action, log_prob, reward, terminated, done, next_obs, total = played
        ended = EndedEpisodes(
            state.ended.total + jnp.where(done, total, 0.0).sum(), state.ended.number + done.sum()
        )
        trajectory = Trajectory(obs, next_obs, reward, terminated, done)
        advantage, value_target = estimate_advantages(weights, trajectory, settings)
        transitions = Transition(obs, action, log_prob, advantage, value_target)
        return env_state, transitions, seen.reshape(-1, seen.shape[-1]), ended

    def _observe(
        self, states: Any, task: jax.Array, tasks: Tasks, obs_stats: RunningStats
    ) -> tuple[jax.Array, jax.Array]:
        """Return (E, O + C) observations, with the context if it is seen, and as normalised."""
        parameters = _take_rows(tasks.parameters, task)
        seen = jax.vmap(self.environment.observe)(states, parameters)
        seen = append_context(seen, _take_rows(tasks.coordinates, task))
        return seen, normalize(seen, obs_stats) if self.settings.norm_obs else seen

    # -- episodes ----------------------------------------------------------------------------------

    def _reset(self, key: jax.Array, n: int, tasks: Tasks) -> EnvState:
        """Begin n episodes, each in one of the contexts."""
        task = jnp.zeros(n, jnp.int32)
        if len(tasks.parameters) > 1:
            key, task_key = jax.random.split(key)
            task = jax.random.randint(task_key, (n,), 0, len(tasks.parameters))
        parameters = _take_rows(tasks.parameters, task)
        state = jax.vmap(self.environment.reset)(jax.random.split(key, n), parameters)
        return EnvState(state, task, jnp.zeros(n, jnp.int32), jnp.zeros(n))

    def _play(
        self,
        reset: Callable[[jax.Array, jax.Array], Any],
        weights: Weights,
        obs_stats: RunningStats,
        tasks: Tasks,
        keys: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Play one episode in each of n contexts, with an (n, 2) key each.

        Returns:
            (n,) returns and (n,) numbers of steps.
        """
        parameters = tasks.parameters
        states = jax.vmap(reset)(keys, parameters)
        each = jnp.arange(len(keys))

        def unfinished(carry: _Episodes) -> jax.Array:
            return (carry[0] < self.max_steps) & ~carry[4].all()

        def step(carry: _Episodes) -> _Episodes:
            elapsed_steps, states, total, length, done = carry
            _, obs = self._observe(states, each, tasks, obs_stats)
            actions = self.distribution.best(weights.act(obs))
            states, rewards, terminated = jax.vmap(self.environment.step)(
                states, actions, parameters
            )
            total = total + jnp.where(done, 0.0, rewards)
            return elapsed_steps + 1, states, total, length + ~done, done | terminated

        n = len(keys)
        begin = jnp.int32(0), states, jnp.zeros(n), jnp.zeros(n, jnp.int32), jnp.zeros(n, bool)
        _, _, total, length, _ = jax.lax.while_loop(unfinished, step, begin)
        return total, length

    def _keep_best(self, state: TrainState, tasks: Tasks) -> tuple[TrainState, jax.Array]:
        """Return the entry of the learning curve; remember the policy if it is the best so far."""
        if not self.settings.eval_episodes:
            ended, latest = state.ended, state.latest_return
            # Without an episode that ended, the latest mean stays; at first only beginnings are.
            otherwise = jnp.where(jnp.isnan(latest), state.env_state.total.mean(), latest)
            mean = ended.total / jnp.maximum(ended.number, 1)
            mean = jnp.where(ended.number > 0, mean, otherwise)
            # These returns are too noisy to choose by: the latest policy is kept.
            better, steps, key = jnp.bool_(True), state.evaluation_steps, state.key
        else:
            key, play_key = jax.random.split(state.key)
            rows = self._evaluated_tasks(len(tasks.parameters))
            evaluated = jax.tree.map(lambda x: x[rows], tasks)
            keys = jax.random.split(play_key, len(rows))
            weights, reset = state.optimiser.weights, self.environment.reset
            returns, lengths = self._play(reset, weights, state.obs_stats, evaluated, keys)
            mean = returns.mean()
            better = mean >= state.best_return  # of equally good ones the one trained longer
            steps = state.evaluation_steps + lengths.sum()
        now = (state.optimiser.weights, state.obs_stats)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, state.best)
        kept = state._replace(
            key=key,
            ended=jax.tree.map(jnp.zeros_like, state.ended),
            latest_return=mean,
            best=best,
            best_return=jnp.where(better, mean, state.best_return),
            evaluation_steps=steps,
        )
        return kept, mean

    def _evaluated_tasks(self, n: int) -> NDArray[np.intp]:
        """Choose among n training contexts one for each episode of an evaluation."""
        if n == 1:
            return np.zeros(self.settings.eval_episodes, dtype=np.intp)
        # Evenly among all, the same each time: otherwise the random draw, and not the policy,
        # would decide which one is the best.
        number = max(self.settings.eval_episodes, min(n, MOST_EVALUATED))
        return np.linspace(0, n - 1, number).astype(np.intp)


_Episodes = tuple[jax.Array, Any, jax.Array, jax.Array, jax.Array]


def _apply_to_each(function: Callable[..., Any], *batches: Any) -> Any:
    """Apply a function of one policy to B of them, with a leading axis for these.

    One policy alone is faster without that axis.
    """
    if len(jax.tree.leaves(batches)[0]) > 1:
        return jax.vmap(function)(*batches)
    single = jax.tree.map(lambda x: x[0], batches)
    return jax.tree.map(lambda x: x[None], function(*single))


def _take_rows(rows: jax.Array, index: jax.Array) -> jax.Array:
    """Take (n, ...) rows by index; without a look-up if there is only one."""
    if len(rows) == 1:
        return jnp.broadcast_to(rows[0], (len(index), *rows.shape[1:]))
    return rows[index]
