"""Environments that are stepped side by side, with a slot for the agent of each.

An environment has one agent and so one slot. A family with a `VectorEnv` brings its slots,
some of which may be empty at times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.observation import append_context
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.env_batch import BatchStep, EnvBatch
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.flattening import FlatActions, FlatObservations
from sdmbtl.errors import TrainerError
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
        reward: (T, S).
        terminated: (T, S) True where an agent's episode ended.
        truncated: (T, S) True where an agent was cut off.
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
    def allocate(cls, steps: int, slots: int, inputs: int, actions: FlatActions) -> RolloutArrays:
        """Allocate arrays for T steps in S slots, with I inputs of the networks."""
        is_continuous = actions.sizes is None
        choices = actions.n_outputs if actions.sizes is None else len(actions.sizes)
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

    Attributes:
        running: (S,) sum of rewards of each episode that is being played.
        total: Sum of the returns of episodes that ended since the last entry of the curve.
        number: Number of these episodes.
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
        family: Makes the environments.
        space: The context space.
        contexts: (M, D) contexts, one of which each episode draws.
        seed: Seed of the training run.
        observations: Flattens observations.
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
    """State of one environment, from which it can be continued.

    No simulator has to save itself: the same actions after the same reset give the same state.

    Attributes:
        episode: Number of the episode that is being played.
        actions: (agents, ...) actions of each step since its reset.
    """

    episode: int = 0
    actions: list[NDArray[Any]] = field(default_factory=list)


class EnvSlots(Protocol):
    """Environments that are stepped together.

    Attributes:
        arrays: Arrays for their steps.
        has_empty_slots: True if agents come and go, so that some slots may be empty.
    """

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


class BatchSlots:
    """Environments with one agent each; see `EnvSlots`."""

    has_empty_slots = False

    def __init__(
        self, plan: EpisodePlan, arrays: RolloutArrays, batch: EnvBatch, num_envs: int
    ) -> None:
        self.arrays = arrays
        self._plan, self._batch = plan, batch
        self._limit = plan.max_episode_steps or math.inf
        self._states = [EnvState() for _ in range(num_envs)]
        self._all = list(range(num_envs))
        self._units = np.zeros((num_envs, plan.sees_context * plan.space.n_units))
        self._size = plan.observations.size + self._units.shape[1]
        arrays.present[:] = True

    def start(self, states: Sequence[EnvState]) -> None:
        """Begin where each environment was."""
        arrays = self.arrays
        for slot, state in enumerate(states):
            self._states[slot] = EnvState(state.episode)
            self._begin_episode(slot, 0)
            for action in state.actions:
                arrays.env_action[slot] = action[0]
                self._step(0, [slot])
                arrays.obs[0, slot] = arrays.obs[1, slot]

    def step(self, t: int) -> None:
        """Take the actions of step t."""
        self._step(t, self._all)

    def states(self) -> list[EnvState]:
        """Return the state of each environment."""
        return self._states

    def close(self) -> None:
        """Close the environments."""
        self._batch.close()

    def _step(self, t: int, slots: Sequence[int]) -> None:
        """Take step t in slots that follow each other."""
        arrays, some = self.arrays, slice(slots[0], slots[-1] + 1)
        actions = arrays.env_action[some].copy()
        obs, reward, terminated, truncated = self._batch.step(slots, actions)
        finite = np.isfinite(reward) & np.isfinite(obs).all(axis=1)
        if not finite.all():
            number = int(finite.argmin())
            problem = ValueError(f"the reward is {reward[number]}, observed is {obs[number]}")
            _, context, _ = self._draw(slots[number])
            raise environment_error(context, problem)
        for number, slot in enumerate(slots):
            taken = self._states[slot].actions
            taken.append(actions[number : number + 1])
            if len(taken) >= self._limit:
                truncated[number] = True
        # A recurrent policy's last action follows, which the slots do not know.
        arrays.obs[t + 1, some, : self._size] = append_context(obs, self._units[some])
        arrays.reward[t, some] = reward
        arrays.terminated[t, some] = terminated
        arrays.truncated[t, some] = truncated & ~terminated
        for slot in (slots[0] + (terminated | truncated).nonzero()[0]).tolist():
            arrays.last_obs[t, slot] = arrays.obs[t + 1, slot]
            self._states[slot] = EnvState(self._states[slot].episode + 1)
            self._begin_episode(slot, t + 1)

    def _begin_episode(self, slot: int, row: int) -> None:
        vector, context, seed = self._draw(slot)
        if self._plan.sees_context:
            self._units[slot] = self._plan.space.to_unit(vector)
        with name_context_in_errors(context):
            observation = self._batch.reset(slot, context, seed)
        seen = append_context(observation, self._units[slot])
        self.arrays.obs[row, slot, : self._size] = seen

    def _draw(self, slot: int) -> tuple[NDArray[np.float64], dict[str, float], int]:
        """Draw the episode of a slot: its context, also with all features, and its seed."""
        plan = self._plan
        vector, seed = plan.draw(slot, self._states[slot].episode)
        return vector, plan.family.full_context(plan.space.context(vector)), seed


class GymnasiumBatch:
    """Gymnasium environments of a family, stepped one after another; see `EnvBatch`."""

    def __init__(
        self, family: EnvironmentFamily, observations: FlatObservations, size: int
    ) -> None:
        self._family, self.observation_space = family, observations.space
        self._flatten = None if observations.is_plain else observations
        self._envs: list[Any] = [None] * size
        self._contexts: list[Mapping[str, float]] = [{}] * size
        self._obs = np.zeros((size, observations.size), np.float32)
        self._zeros = np.zeros(observations.size, np.float32)

    def reset(self, slot: int, context: Mapping[str, float], seed: int) -> NDArray[np.float32]:
        """Begin an episode, in the same environment if its family allows that."""
        env, family = self._envs[slot], self._family
        use = None if env is None else family.use_of(env)
        if (
            use is None
            or use == "episode"
            or (use == "context" and context != self._contexts[slot])
        ):
            close_quietly(env)
            env = self._envs[slot] = family.build(dict(context), None)
            use = family.use_of(env)
        self._contexts[slot] = context
        options = {"context": dict(context)} if use == "space" else None
        return self._read(slot, env.reset(seed=seed, options=options)[0])

    def step(self, slots: Sequence[int], actions: NDArray[Any]) -> BatchStep:
        """Take actions, each in its environment."""
        rewards, ends = [], []
        # Gymnasium checks a plain number faster than one of NumPy.
        chosen = actions.tolist() if actions.ndim == 1 else actions
        for slot, action in zip(slots, chosen, strict=True):
            env = self._envs[slot]
            try:
                observation, reward, terminated, truncated, _ = env.step(action)
                rewards.append(float(reward))
                ends.append((bool(terminated), bool(truncated)))
                if not math.isfinite(reward):
                    raise ValueError(f"a reward is {reward}")
                self._read(slot, observation)
            except TrainerError:
                raise
            except ENVIRONMENT_FAILURES as error:
                raise environment_error(self._contexts[slot], error, env) from error
        obs = self._obs[slots[0] : slots[-1] + 1]
        return BatchStep(obs, np.array(rewards), *np.array(ends).T)

    def close(self) -> None:
        """Close all environments."""
        for env in self._envs:
            close_quietly(env)

    def _read(self, slot: int, observation: Any) -> NDArray[np.float32]:
        if self._flatten is not None:
            observation = self._flatten(observation)
        seen: NDArray[np.float32] = self._obs[slot]
        if np.shape(observation) != seen.shape:
            raise ValueError(
                f"an observation has shape {np.shape(observation)}, but the observation space "
                f"promises {seen.shape}"
            )
        seen[:] = observation
        if not math.isfinite(np.dot(seen, self._zeros)):  # faster than looking at each number
            raise ValueError("an observation has numbers that are not finite")
        return seen
