"""Episodes of many agents that one simulation steps together as arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.observation import append_context
from sdmbtl.errors import SdmbtlError, TrainerError
from sdmbtl.policies import Policy
from sdmbtl.seeds import episode_seed
from sdmbtl.training.environment_errors import environment_error, name_context_in_errors
from sdmbtl.training.job import Evaluation
from sdmbtl.training.ppo.env_slots import EnvState, EpisodePlan, RolloutArrays
from sdmbtl.training.progress import EvaluationProgress
from sdmbtl.training.rollout import endless_error

#: (k, A) actions for (k, I) observations.
Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]


class AgentsNow(NamedTuple):
    """Agents that are there, and will act next.

    Attributes:
        slots: (k,) slot of each: number of its episode times `max_agents`, plus its place there.
            An agent keeps its slot until it leaves.
        obs: (k, I) observation of each.
    """

    slots: NDArray[np.integer[Any]]
    obs: NDArray[np.float32]


class AgentsStep(NamedTuple):
    """Result of a step.

    Attributes:
        reward: (k,) rewards of those that acted, in their order.
        gone: (k,) True for those that have left for good.
        now: Agents that are there now. When the episodes are over, those that were cut off.
        is_over: True if the episodes are over, all at the same time.
    """

    reward: NDArray[np.float32]
    gone: NDArray[np.bool_]
    now: AgentsNow
    is_over: bool


class Episode(NamedTuple):
    """An episode to play.

    Attributes:
        context: The context.
        seed: Seed of the episode.
        coordinates: (D,) coordinates of the context, if the policy sees them; none otherwise.
    """

    context: Mapping[str, float]
    seed: int
    coordinates: NDArray[np.float64] | tuple[()] = ()


class MultiAgentVectorEnv(ABC):
    """Several episodes, each in one context, which begin and end together.

    Agents come and go, and share one policy. An episode does not depend on the others. What the
    product calls is described in `sdmbtl.training.vector_env.VectorEnv`.

    Attributes:
        observation_space: Observations of an agent: a Box with one dimension.
        action_space: Actions of an agent: a Box with one dimension.
        most_episodes: Largest number of episodes at once.
        max_agents: Agents at once in one of them.
    """

    observation_space: spaces.Box
    action_space: spaces.Box
    most_episodes: int
    max_agents: int

    # -- the simulation ------------------------------------------------------------------------

    @abstractmethod
    def reset(self, contexts: Sequence[Mapping[str, float]], seeds: Sequence[int]) -> AgentsNow:
        """Begin an episode for each context, with a seed for each."""

    @abstractmethod
    def step(self, actions: NDArray[np.float32]) -> AgentsStep:
        """Take (k, A) actions of the agents that are there."""

    @abstractmethod
    def render(self, episode: int) -> NDArray[np.uint8]:
        """Draw an episode: an (H, W, 3) picture."""

    @abstractmethod
    def close(self) -> None:
        """Free what it holds."""

    # -- training, evaluation, random actions and films ----------------------------------------

    def env_slots(self, plan: EpisodePlan, arrays: RolloutArrays, num_envs: int) -> MultiAgentSlots:
        """Return slots for a training run, which close this simulation with them."""
        return MultiAgentSlots(self, plan, arrays, num_envs)

    def evaluate(
        self,
        policy: Policy,
        space: ContextSpace,
        contexts: NDArray[np.float64],
        *,
        episodes: int,
        seed: int,
        max_episode_steps: int | None,
        endless_after: int,
        only: Sequence[int] | None = None,
        progress: EvaluationProgress | None = None,
    ) -> Evaluation:
        """Play a policy, which all agents share, on (n, D) contexts.

        If episodes that are played together fail, each is played again by itself: only the
        context that is to blame shall fail.
        """
        episodes = check_int("episodes", episodes, low=1, error=TrainerError)
        seed = check_int("seed", seed, low=0, error=TrainerError)
        numbers = list(range(len(contexts)) if only is None else only)
        returns, errors = np.full((len(contexts), episodes), np.nan), dict[int, str]()
        steps = 0

        def play(places: Sequence[tuple[int, int]]) -> None:
            def act(obs: NDArray[np.float32]) -> NDArray[np.float32]:
                nonlocal steps
                steps += len(places)
                return self.act(policy, obs)

            group = [
                Episode(
                    space.context(contexts[number]),
                    episode_seed(seed, number, count),
                    space.to_unit(contexts[number]) if policy.sees_context else (),
                )
                for number, count in places
            ]
            totals = self.play(act, group, max_episode_steps, endless_after)
            for place, value in zip(places, totals, strict=True):
                returns[place] = value

        todo = [(number, count) for number in numbers for count in range(episodes)]
        for first in range(0, len(todo), self.most_episodes):
            group = todo[first : first + self.most_episodes]
            try:
                play(group)
            except TrainerError:
                raise
            except SdmbtlError:
                for place in group:
                    try:
                        play([place])
                    except SdmbtlError as error:
                        context = space.context(contexts[place[0]])
                        text = str(environment_error(context, error))
                        errors.setdefault(place[0], text)
            if progress is not None:
                progress(min(first + self.most_episodes, len(todo)) // episodes, len(numbers))
        for number in errors:
            returns[number] = np.nan
        return Evaluation(returns, errors, steps)

    def play_random_actions(
        self,
        space: ContextSpace,
        contexts: NDArray[np.float64],
        *,
        episodes: int,
        most_steps: int,
        max_episode_steps: int | None,
        seed: int,
    ) -> Evaluation:
        """Take uniformly random actions; NaN from where `most_steps` in all are used up."""
        returns = np.full((len(contexts), episodes), np.nan)
        places = [(number, count) for count in range(episodes) for number in range(len(contexts))]
        rng, taken = np.random.default_rng(seed), 0
        low, high = self.action_space.low, self.action_space.high

        def act(obs: NDArray[np.float32]) -> NDArray[np.float32]:
            nonlocal taken
            taken += len(group)
            return rng.uniform(low, high, (len(obs), *low.shape)).astype(np.float32)

        for first in range(0, len(places), self.most_episodes):
            here = places[first : first + self.most_episodes]
            group = [
                Episode(space.context(contexts[number]), episode_seed(seed, number, count))
                for number, count in here
            ]
            steps = min(-(-(most_steps - taken) // len(group)), max_episode_steps or most_steps)
            with name_context_in_errors(group[0].context):
                totals = self.play(act, group, steps, most_steps + 1)
            if taken >= most_steps and steps != max_episode_steps:
                break  # they were cut off because the steps are used up
            for place, value in zip(here, totals, strict=True):
                returns[place] = value
            if taken >= most_steps:
                break
        return Evaluation(returns, steps=taken)

    def film(
        self, policy: Any, context: Mapping[str, float], seed: int
    ) -> Iterator[tuple[NDArray[np.uint8], float]]:
        """Play an episode: after each step its picture and its return so far."""
        now, is_over, total, gone = self.reset([context], [seed]), False, 0.0, 0
        while not is_over:
            step = self.step(np.asarray(policy.act(now.obs), np.float32))
            now, is_over = step.now, step.is_over
            total, gone = total + float(step.reward.sum()), gone + int(step.gone.sum())
            yield self.render(0), total / max(gone + len(now.slots), 1)

    def act(self, policy: Policy, obs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (k, A) actions of a policy for (k, I) observations.

        Each agent acts by itself: in a batch, the last digits depend on the other rows, and an
        episode must not depend on the others.
        """
        actions = np.zeros((len(obs), *self.action_space.shape), np.float32)
        for number, row in enumerate(obs):
            actions[number] = policy.act(row)
        return actions

    def play(
        self,
        act: Act,
        episodes: Sequence[Episode],
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
    ) -> NDArray[np.float64]:
        """Play at most `most_episodes` episodes side by side.

        Args:
            act: Actions for observations; see `act`.
            episodes: The episodes.
            max_episode_steps: Time limit; None for none.
            endless_after: Steps after which episodes that have not ended have failed.

        Returns:
            (E,) mean over the agents of an episode of their sums of rewards.

        Raises:
            TrainingError: If they do not end.
        """
        coordinates = np.array([episode.coordinates for episode in episodes], np.float32)
        now = self.reset([e.context for e in episodes], [e.seed for e in episodes])
        totals, agents = np.zeros(len(episodes)), np.zeros(len(episodes))
        steps, is_over = 0, False
        while not is_over and steps != max_episode_steps:
            if steps >= endless_after:
                raise endless_error(endless_after)
            number = now.slots // self.max_agents
            step = self.step(act(append_context(now.obs, coordinates[number])))
            steps += 1
            np.add.at(totals, number, step.reward)
            np.add.at(agents, number, step.gone)  # those still there are counted at the end
            now, is_over = step.now, step.is_over
        np.add.at(agents, now.slots // self.max_agents, 1)
        return totals / np.maximum(agents, 1)


class MultiAgentSlots:
    """Slots of a training run; see `sdmbtl.training.ppo.env_slots.EnvSlots`.

    Args:
        vector_env: Steps the episodes; it is closed with the slots.
        plan: The episodes.
        arrays: Where their steps are written.
        num_envs: Number of episodes side by side.
    """

    has_empty_slots = True

    def __init__(
        self,
        vector_env: MultiAgentVectorEnv,
        plan: EpisodePlan,
        arrays: RolloutArrays,
        num_envs: int,
    ) -> None:
        self.arrays = arrays
        self._env, self._plan, self._num_envs = vector_env, plan, num_envs
        self._episode = 0
        self._actions: list[NDArray[Any]] = []
        self._now = AgentsNow(np.zeros(0, np.int32), np.zeros((0, 0), np.float32))
        self._coordinates = np.zeros((num_envs, 0))

    def start(self, states: Sequence[EnvState]) -> None:
        """Begin where the episodes were, and repeat their actions so far."""
        self._episode = states[0].episode
        self._begin(0)
        for together in zip(*(state.actions for state in states), strict=True):
            self.arrays.env_action[...] = np.concatenate(together)
            self.step(0)
            self.arrays.obs[0], self.arrays.present[0] = self.arrays.obs[1], self.arrays.present[1]

    def step(self, t: int) -> None:
        """Take the actions in the arrays as step t."""
        arrays, acting = self.arrays, self._now.slots
        self._actions.append(arrays.env_action.copy())
        step = self._env.step(arrays.env_action[acting])
        arrays.reward[t] = 0.0
        arrays.reward[t, acting] = step.reward
        arrays.terminated[t] = arrays.truncated[t] = False
        arrays.terminated[t, acting] = step.gone
        if step.is_over or len(self._actions) == self._plan.max_episode_steps:
            arrays.truncated[t, acting] = ~step.gone
            self._write(arrays.last_obs[t], step.now)
            self._episode += 1
            self._begin(t + 1)
        else:
            self._place(t + 1, step.now)

    def states(self) -> list[EnvState]:
        """Return the state of each episode."""
        agents = self._env.max_agents
        return [
            EnvState(self._episode, [a[n * agents : (n + 1) * agents] for a in self._actions])
            for n in range(self._num_envs)
        ]

    def close(self) -> None:
        """Close the simulation."""
        self._env.close()

    def _begin(self, row: int) -> None:
        """Begin the next episode of every environment."""
        plan, self._actions = self._plan, []
        drawn = [plan.draw(number, self._episode) for number in range(self._num_envs)]
        contexts = [plan.family.full_context(plan.space.context(v)) for v, _ in drawn]
        if plan.sees_context:
            self._coordinates = np.array([plan.space.to_unit(vector) for vector, _ in drawn])
        self._place(row, self._env.reset(contexts, [seed for _, seed in drawn]))

    def _place(self, row: int, now: AgentsNow) -> None:
        self._now = now
        self.arrays.present[row] = False
        self.arrays.present[row, now.slots] = True
        self._write(self.arrays.obs[row], now)

    def _write(self, row: NDArray[np.float32], now: AgentsNow) -> None:
        """Write observations of agents into their slots of an (S, I) row."""
        coordinates = self._coordinates[now.slots // self._env.max_agents]
        row[now.slots] = append_context(now.obs, coordinates)
