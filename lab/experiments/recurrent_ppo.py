"""Recurrent PPO of sb3-contrib on random contexts: the one network that learns directly."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from generalists.data_sets import DataSet
from sdmbtl.environments.functional import FunctionalEnvironment

#: RL Zoo's settings for CartPoleNoVel and PendulumNoVel with rollouts of the same length, but
#: constant learning rates, and a quarter and half of the passes over a rollout: these take long.
SHARED: dict[str, Any] = {
    "learning_rate": 1e-3,
    "policy_kwargs": {
        "ortho_init": False,
        "activation_fn": torch.nn.ReLU,
        "lstm_hidden_size": 64,
        "net_arch": {"pi": [64], "vf": [64]},
    },
}
SETTINGS: dict[str, dict[str, Any]] = {
    "CartPole": {"n_steps": 32, "batch_size": 256, "n_epochs": 5, "gamma": 0.98, "gae_lambda": 0.8},
    "Pendulum": {"n_steps": 128, "batch_size": 512, "n_epochs": 5, "gamma": 0.9},
}
#: Environments side by side.
ENVS = 32

Floats = NDArray[np.float32]


class RandomContexts(VecEnv):
    """Environments that are pure functions, each episode in another context.

    Args:
        data: The environment and the context space.
        seed: Root of contexts and initial states.
    """

    def __init__(self, data: DataSet, seed: int) -> None:
        environment = functional_of(data)
        self._env, self._space = environment, data.space
        self._rng = np.random.default_rng(seed)
        self._parameters = self._draw(ENVS)
        bound = np.full(environment.observation_size, np.inf, np.float32)
        super().__init__(ENVS, spaces.Box(-bound, bound), environment.actions)
        self._reset = jax.jit(jax.vmap(environment.reset))
        self._observe = jax.jit(jax.vmap(environment.observe))
        self._step = jax.jit(jax.vmap(environment.step))

    def _draw(self, number: int) -> Floats:
        contexts = self._space.draw(self._space.whole(), number, self._rng)
        return self._env.parameters(self._space.names, contexts)

    def _keys(self) -> Any:
        seeds = self._rng.integers(2**31, size=ENVS)
        return np.stack([np.zeros(ENVS), seeds], axis=1).astype(np.uint32)

    def reset(self) -> Floats:
        """Begin an episode everywhere."""
        self._states = self._reset(self._keys(), self._parameters)
        self._ages = np.zeros(ENVS, int)
        return np.asarray(self._observe(self._states, self._parameters))

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remember the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Floats, Floats, NDArray[np.bool_], list[dict[str, Any]]]:
        """Take a step; where an episode ends, begin one in another context."""
        self._states, rewards, ended = self._step(self._states, self._actions, self._parameters)
        self._ages += 1
        terminated = np.asarray(ended)
        done = terminated | (self._ages >= self._env.max_steps)
        seen = np.array(self._observe(self._states, self._parameters))
        infos: list[dict[str, Any]] = [{} for _ in done]
        if done.any():
            for i in np.flatnonzero(done):
                infos[i] = {
                    "terminal_observation": seen[i].copy(),
                    "TimeLimit.truncated": not terminated[i],
                }
            self._parameters = np.where(done[:, None], self._draw(ENVS), self._parameters)
            begun = self._reset(self._keys(), self._parameters)
            self._states = jax.tree.map(
                lambda old, new: np.where(done.reshape(-1, *[1] * (old.ndim - 1)), new, old),
                self._states,
                begun,
            )
            self._ages[done] = 0
            seen = np.asarray(self._observe(self._states, self._parameters))
        return seen, np.asarray(rewards), done, infos

    def close(self) -> None:
        """Release nothing."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the same attribute for every environment."""
        del indices
        return [getattr(self, attr_name, None)] * ENVS

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: nothing can be set."""
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Refuse: there are no methods."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for every environment."""
        del wrapper_class, indices
        return [False] * ENVS


def functional_of(data: DataSet) -> FunctionalEnvironment:
    """Return the pure functions of a data set's environments."""
    environment = data.family.functional()
    if environment is None:
        raise SystemExit(f"{data.environment} is not made of pure functions.")
    return environment


def train_and_play(data: DataSet, seed: int, steps: int, episodes: int) -> Floats:
    """Train for some steps; returns the (N, episodes) returns of the network on all targets."""
    torch.set_num_threads(1)
    normalized = VecNormalize(
        RandomContexts(data, seed), gamma=SETTINGS[data.environment].get("gamma", 0.99)
    )
    settings = {**SHARED, **SETTINGS[data.environment]}
    model = RecurrentPPO("MlpLstmPolicy", normalized, seed=seed, device="cpu", **settings)
    model.learn(steps)
    return _play(model, normalized, data, episodes)


def _play(model: RecurrentPPO, scaling: VecNormalize, data: DataSet, episodes: int) -> Floats:
    """(N, episodes) returns with the most probable actions."""
    environment = functional_of(data)
    contexts = np.repeat(data.space.targets, episodes, axis=0)
    parameters = environment.parameters(data.space.names, contexts)
    keys = jax.random.split(jax.random.PRNGKey(1), len(contexts))
    states = jax.jit(jax.vmap(environment.reset))(keys, parameters)
    observe = jax.jit(jax.vmap(environment.observe))
    step = jax.jit(jax.vmap(environment.step))
    total, alive = np.zeros(len(contexts), np.float32), np.ones(len(contexts), bool)
    memory, first = None, np.ones(len(contexts), bool)
    for _ in range(environment.max_steps):
        seen = scaling.normalize_obs(np.asarray(observe(states, parameters)))
        actions, memory = model.predict(seen, memory, first, deterministic=True)
        first = np.zeros(len(contexts), bool)
        states, rewards, ended = step(states, actions, parameters)
        total += np.where(alive, np.asarray(rewards), 0.0)
        alive &= ~np.asarray(ended)
        if not alive.any():
            break
    return total.reshape(-1, episodes)
