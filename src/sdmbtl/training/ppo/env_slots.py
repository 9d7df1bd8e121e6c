"""Environments that are stepped side by side, with a slot for the agent of each.

An environment has one agent and so one slot. A family with a `VectorEnv` brings its slots,
some of which may be empty at times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import TrainerError
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.training.environment_errors import (
    ENVIRONMENT_FAILURES,
    environment_error,
    name_context_in_errors,
)

#: Seeds of episodes are drawn below this.
SEEDS = 2**31


class RolloutArrays(NamedTuple):
    """One rollout: T steps in S slots.

    Attributes:
        obs: (T + 1, S, I) observations before each action, and after the last.
        last_obs: (T, S, I) observation in which a truncated episode ended; elsewhere anything.
        action: (T, S, D) actions as they are learned.
        present: (T + 1, S) True where there is an agent that acts on the observation.
        env_action: (S, ...) actions of the current step as the environments take them.
    """

    obs: NDArray[np.float32]
    last_obs: NDArray[np.float32]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    present: NDArray[np.bool_]
    env_action: NDArray[Any]

    @classmethod
    def allocate(cls, steps: int, slots: int, inputs: int, actions: ActionCode) -> RolloutArrays:
        """Allocate arrays for T steps in S slots, with I inputs of the networks."""
        is_continuous = actions.sizes is None
        choices = actions.size if actions.sizes is None else len(actions.sizes)
        return cls(
            obs=np.zeros((steps + 1, slots, inputs), np.float32),
            last_obs=np.zeros((steps, slots, inputs), np.float32),
            action=np.zeros((steps, slots, choices), np.float32 if is_continuous else np.int32),
            reward=np.zeros((steps, slots), np.float32),
            terminated=np.zeros((steps, slots), np.bool_),
            truncated=np.zeros((steps, slots), np.bool_),
            present=np.zeros((steps + 1, slots), np.bool_),
            env_action=np.zeros((slots, *(actions.space.shape or ())), actions.space.dtype),
        )

    def carry_over(self) -> None:
        """Begin the next rollout where this one ended."""
        self.obs[0], self.present[0] = self.obs[-1], self.present[-1]


@dataclass
class EpisodeReturns:
    """Returns of the episodes of training, for the learning curve.

    `running` has the (S,) sums of rewards of those that are being played, `total` and `number`
    count those that ended since the last entry of the curve.
    """

    running: NDArray[np.float64]
    total: float = 0.0
    number: int = 0

    def add(self, arrays: RolloutArrays) -> None:
        """Add the steps of a rollout."""
        for reward, done in zip(arrays.reward, arrays.terminated | arrays.truncated, strict=True):
            self.running += reward
            self.total += float(self.running[done].sum())
            self.number += int(done.sum())
            self.running[done] = 0.0

    def take_mean(self, latest: float | None) -> float:
        """Return the mean for the next entry of the curve; without an episode, the `latest` one."""
        mean = self.total / self.number if self.number else latest
        self.total, self.number = 0.0, 0
        return float(self.running.mean()) if mean is None else mean


@dataclass(frozen=True)
class EpisodePlan:
    """The episodes of a training run: each follows from its environment's number and its own.

    Attributes:
        contexts: (M, D) contexts, one of which each episode draws.
        seed: Seed of the training run.
        sees_context: If observations end with the context's unit coordinates.
        max_episode_steps: Time limit of an episode; None for none.
    """

    family: EnvironmentFamily
    space: ContextSpace
    contexts: NDArray[np.float64]
    seed: int
    observations: FlatObservations
    sees_context: bool
    max_episode_steps: int | None = None

    def draw(self, env_number: int, episode: int) -> tuple[NDArray[np.float64], int]:
        """Draw the (D,) context of an episode, and the seed of its reset."""
        rng = np.random.default_rng([self.seed, env_number, episode])
        return self.contexts[rng.integers(len(self.contexts))], int(rng.integers(SEEDS))


@dataclass
class EnvState:
    """State of one environment: its episode, and the (agents, ...) actions since the reset.

    No simulator has to save itself: the same actions after the same reset give the same state.
    """

    episode: int = 0
    actions: list[NDArray[Any]] = field(default_factory=list)


class EnvSlots(Protocol):
    """Environments that are stepped together; with `has_empty_slots`, agents come and go."""

    arrays: RolloutArrays
    has_empty_slots: bool

    def start(self, states: Sequence[EnvState]) -> None:
        """Begin where each environment was; the first observations go to row 0."""

    def step(self, t: int) -> None:
        """Take `arrays.env_action` as step t; an episode that ended is followed by the next."""

    def states(self) -> list[EnvState]:
        """Return the state of each environment."""

    def close(self) -> None:
        """Close all environments."""


class GymnasiumSlots:
    """Gymnasium environments, stepped one after another; see `EnvSlots`."""

    has_empty_slots = False

    def __init__(self, plan: EpisodePlan, arrays: RolloutArrays, num_envs: int) -> None:
        self.arrays = arrays
        self._plan, self._limit = plan, plan.max_episode_steps or math.inf
        self._states = [EnvState() for _ in range(num_envs)]
        self._envs: list[Any] = [None] * num_envs
        self._contexts: list[dict[str, float]] = [{}] * num_envs
        self._units = np.zeros((num_envs, plan.sees_context * plan.space.n_units))
        self._flatten = None if plan.observations.is_plain else plan.observations
        self._zeros = np.zeros(plan.observations.size, np.float32)
        arrays.present[:] = True

    def start(self, states: Sequence[EnvState]) -> None:
        """Begin where each environment was."""
        arrays = self.arrays
        for slot, state in enumerate(states):
            self._states[slot] = EnvState(state.episode)
            self._begin_episode(slot, 0)
            for action in state.actions:
                arrays.env_action[slot] = action[0]
                self._step(0, slot)
                arrays.obs[0, slot] = arrays.obs[1, slot]

    def step(self, t: int) -> None:
        """Take the actions of step t."""
        for slot in range(len(self._envs)):
            self._step(t, slot)

    def states(self) -> list[EnvState]:
        """Return the state of each environment."""
        return self._states

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            close_quietly(env)

    def _step(self, t: int, slot: int) -> None:
        arrays, state, env = self.arrays, self._states[slot], self._envs[slot]
        action = arrays.env_action[slot : slot + 1].copy()
        state.actions.append(action)
        try:
            # Gymnasium checks a plain number faster than one of NumPy.
            observation, reward, terminated, truncated, _ = env.step(
                action.item() if action.ndim == 1 else action[0]
            )
            if not math.isfinite(reward):
                raise ValueError(f"a reward is {reward}")
            arrays.reward[t, slot] = reward
            self._write(t + 1, slot, observation)
        except TrainerError:
            raise
        except ENVIRONMENT_FAILURES as error:
            raise environment_error(self._contexts[slot], error, env) from error
        truncated = (truncated or len(state.actions) >= self._limit) and not terminated
        arrays.terminated[t, slot], arrays.truncated[t, slot] = terminated, truncated
        if terminated or truncated:
            arrays.last_obs[t, slot] = arrays.obs[t + 1, slot]
            self._states[slot] = EnvState(state.episode + 1)
            self._begin_episode(slot, t + 1)

    def _begin_episode(self, slot: int, row: int) -> None:
        """Begin an episode, in the same environment if its family allows that."""
        plan, family, env = self._plan, self._plan.family, self._envs[slot]
        vector, seed = plan.draw(slot, self._states[slot].episode)
        context = family.full_context(plan.space.context(vector))
        if plan.sees_context:
            self._units[slot] = plan.space.to_unit(vector)
        with name_context_in_errors(context):
            use = "episode" if env is None else family.use_of(env)
            if use == "episode" or (use == "context" and context != self._contexts[slot]):
                close_quietly(env)
                env = self._envs[slot] = family.build(dict(context), None)
                use = family.use_of(env)
            self._contexts[slot] = context
            options = {"context": dict(context)} if use == "space" else None
            self._write(row, slot, env.reset(seed=seed, options=options)[0])

    def _write(self, row: int, slot: int, observation: Any) -> None:
        """Write an observation, and the context if it is seen.

        A recurrent policy's last action follows, which the slots do not know.
        """
        if self._flatten is not None:
            observation = self._flatten(observation)
        size = len(self._zeros)
        seen = self.arrays.obs[row, slot, :size]
        if np.shape(observation) != seen.shape:
            raise ValueError(
                f"an observation has shape {np.shape(observation)}, but the observation space "
                f"promises {seen.shape}"
            )
        seen[:] = observation
        if not math.isfinite(np.dot(seen, self._zeros)):  # faster than looking at each number
            raise ValueError("an observation has numbers that are not finite")
        if self._plan.sees_context:
            units = self._units[slot]
            self.arrays.obs[row, slot, size : size + len(units)] = units
