"""Episodes of a policy in Gymnasium environments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.observation import append_context
from sdmbtl.environments.contextual import ContextualEnv, close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.seeds import episode_seed
from sdmbtl.training.environment_errors import ENVIRONMENT_FAILURES, environment_error
from sdmbtl.training.job import Evaluation
from sdmbtl.training.progress import EvaluationProgress

#: Episodes played side by side. A policy always acts on this many observations, used or not: the
#: last digits of a product depend on the size of a batch, and returns must not.
ENV_SLOTS = 64


def evaluate_in_gymnasium(
    family: EnvironmentFamily,
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
    """Play a policy on contexts, with the arguments of `Trainer.evaluate` and of a trainer.

    Returns:
        (n, episodes) returns, NaN or infinite where the environment gave that. A context on which
        an episode failed has NaN, and the error of the first one that did.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    numbers = range(len(contexts)) if only is None else only
    rollout = _Rollout(family, policy, space, contexts, numbers, episodes, seed)
    rollout.play(max_episode_steps or math.inf, endless_after, progress)
    returns = np.full((len(contexts), episodes), np.nan)
    for key, value in rollout.returns.items():
        returns[key] = value
    errors = {}
    for number, (_, error, env) in sorted(rollout.errors.items()):
        returns[number] = np.nan
        errors[number] = str(environment_error(space.context(contexts[number]), error, env))
    return Evaluation(returns, errors, rollout.steps)


def endless_error(steps: int) -> TrainingError:
    """Return the error for an episode that is too long."""
    return TrainingError(
        f"an episode has not ended after {steps:,} steps, so it is taken to never end "
        "('endless_after'). Give it a time limit: the trainer's 'max_episode_steps', or "
        "gymnasium.wrappers.TimeLimit around the environment"
    )


@dataclass(slots=True)
class _Slot:
    """An episode that is being played."""

    number: int
    episode: int
    env: ContextualEnv
    step: Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]
    total: float = 0.0
    steps: int = 0


class _Rollout:
    """Plays episodes, some side by side.

    A slot keeps its context while there are episodes of it, so that one environment can serve for
    several. `returns` are by context and episode; `errors` by context: the first episode that
    failed, its error, and the environment, if there was one; `steps` are those of all episodes.
    """

    def __init__(
        self,
        family: EnvironmentFamily,
        policy: Policy,
        space: ContextSpace,
        contexts: NDArray[np.float64],
        numbers: Sequence[int],
        episodes: int,
        seed: int,
    ) -> None:
        self.returns: dict[tuple[int, int], float] = {}
        self.errors: dict[int, tuple[int, BaseException, gymnasium.Env[Any, Any] | None]] = {}
        self.steps = 0
        self._family, self._policy, self._space = family, policy, space
        self._contexts, self._units = contexts, space.to_unit(contexts)
        self._episodes, self._seed = episodes, seed
        self._left = dict.fromkeys(numbers, episodes)  # not begun yet
        self._waiting = deque(numbers)
        self._ended = 0  # episodes, with those that are not begun after a failure
        self._observations: Any = None
        self._state: NDArray[np.float32] | None = None  # of a policy that remembers
        self._played: NDArray[np.intp] = np.zeros(ENV_SLOTS, np.intp)  # context in each slot

    def play(
        self, time_limit: float, endless_after: int, progress: EvaluationProgress | None
    ) -> None:
        """Play all episodes."""
        slots: dict[int, _Slot] = {}
        reported = 0
        try:
            for place in range(ENV_SLOTS):
                self._begin_next(slots, place)
            while slots:
                actions = self._act()
                for place, slot in list(slots.items()):
                    if self._step(place, slot, actions[place], time_limit, endless_after):
                        self._begin_next(slots, place)
                done = self._ended // self._episodes
                if progress is not None and done > reported:
                    reported = done
                    progress(reported, len(self._left))
        finally:
            for slot in slots.values():
                close_quietly(slot.env)

    def _act(self) -> Any:
        """Return the actions in all slots."""
        policy, seen = self._policy, self._observations
        if policy.sees_context:
            seen = append_context(policy.flatten(seen), self._units[self._played])
        if not policy.remembers:
            return policy.act(seen)
        actions, self._state = policy.act(seen, self._state)  # type: ignore[call-arg]
        return actions

    def _step(
        self, place: int, slot: _Slot, action: Any, time_limit: float, endless_after: int
    ) -> bool:
        """Take one step; True if the episode is over."""
        try:
            observation, reward, terminated, truncated, _ = slot.step(action)
            slot.total += float(reward)  # a float32 would make the sum one
            if not math.isfinite(slot.total):
                raise ValueError(f"a reward is {reward}")
            slot.steps += 1
            self.steps += 1
            if terminated or truncated or slot.steps >= time_limit:
                self.returns[slot.number, slot.episode] = slot.total
                self._ended += 1
                return True
            if slot.steps >= endless_after:
                raise endless_error(endless_after)
            _write(self._observations, place, observation)
        except TrainerError:
            raise
        except ENVIRONMENT_FAILURES as error:
            self._fail(slot.number, slot.episode, error, slot.env.inner)
            return True
        return False

    def _begin_next(self, slots: dict[int, _Slot], place: int) -> None:
        """Begin the next episode that can be begun, after the last one in a slot."""
        last, env = slots.pop(place, None), None
        following = self._choose_next(None if last is None else last.number)
        if last is not None:
            if following is not None and following[0] == last.number:
                env = last.env
            else:
                close_quietly(last.env)
        while following is not None:
            number, episode = following
            try:
                env = env or self._family.make(self._space.context(self._contexts[number]))
                observation, _ = env.reset(seed=episode_seed(self._seed, number, episode))
                if self._observations is None:
                    self._observations = create_empty_array(env.observation_space, ENV_SLOTS)
                _write(self._observations, place, observation)
                self._played[place] = number
                if self._state is not None:
                    self._state[place] = 0.0
                # Nobody sees what a contextual environment adds.
                slots[place] = _Slot(number, episode, env, env.inner.step)
                return
            except TrainerError:
                raise
            except ENVIRONMENT_FAILURES as error:
                self._fail(number, episode, error)
                close_quietly(env)
            env, following = None, self._choose_next()

    def _choose_next(self, same: int | None = None) -> tuple[int, int] | None:
        """Choose the episode to begin, on the `same` context if possible; None if all are begun."""
        if same is None or not self._left[same]:
            while self._waiting and not self._left[self._waiting[0]]:
                self._waiting.popleft()
            if not self._waiting:
                return None
            same = self._waiting[0]
            self._waiting.rotate(-1)
        self._left[same] -= 1
        return same, self._episodes - self._left[same] - 1

    def _fail(
        self,
        number: int,
        episode: int,
        error: BaseException,
        env: gymnasium.Env[Any, Any] | None = None,
    ) -> None:
        """Note an episode that failed: no more are begun on its context."""
        # Of several episodes the first counts: which one ends first depends on the slots.
        known = self.errors.get(number)
        if known is None or episode < known[0]:
            self.errors[number] = episode, error, env
        self._ended += 1 + self._left[number]
        self._left[number] = 0


def _write(batch: Any, place: int, observation: Any) -> None:
    """Put an observation in its place in a batch."""
    if isinstance(batch, np.ndarray):
        if np.shape(observation) != batch.shape[1:]:
            raise ValueError(
                f"an observation has shape {np.shape(observation)}, but its space has "
                f"{batch.shape[1:]}"
            )
        batch[place] = observation
    elif isinstance(batch, dict):
        for key, part in batch.items():
            _write(part, place, observation[key])
    else:
        for part, seen in zip(batch, observation, strict=True):
            _write(part, place, seen)
