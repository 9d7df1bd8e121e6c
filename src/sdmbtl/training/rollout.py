"""Playing a policy in Gymnasium environments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import setitem
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.training.base import Evaluation
from sdmbtl.training.environment_errors import environment_error
from sdmbtl.training.progress import EvaluationProgress

#: Episodes played side by side. A policy always acts on this many observations, used or not: the
#: last digits of a product depend on the size of a batch, and returns must not.
LANES = 64


def evaluate_in_gymnasium(
    policy: Policy,
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    observe_context: bool,
    episodes: int,
    seed: int,
    max_episode_steps: int | None,
    endless_after: int,
    only: Sequence[int] | None = None,
    progress: EvaluationProgress | None = None,
) -> Evaluation:
    """Play a policy on contexts.

    Args:
        policy: Any policy for the family's observations.
        family: The environments.
        space: The space in which the context is observed.
        contexts: (n, D) contexts in the order of the space's dimensions.
        observe_context: Whether the policy sees the context.
        episodes: Number of episodes on each context.
        seed: With the position of the context and the number of the episode, it sets the start
            of each episode.
        max_episode_steps: An episode is cut off after so many steps; None for no time limit.
        endless_after: An episode that has not ended after so many steps has failed.
        only: Positions of the contexts to play on; all of them if left out.
        progress: Called when all episodes on a context are played.

    Returns:
        (n, episodes) returns, NaN or infinite where the environment gave that. A context on which
        an episode failed has NaN, and the error of the first one that did.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    numbers = range(len(contexts)) if only is None else only
    observed = space if observe_context else False

    def begin(number: int, episode: int, used: ContextualEnv | None) -> _Lane:
        """An episode in an environment that was used on its context before, or in a new one."""
        context = space.context(contexts[number])
        environment = used or family.make(context, observe_context=observed)
        own_seed = episode_seed(seed, number, episode)
        return _begin(environment, number, episode, own_seed, bare=not observe_context)

    rollout = _Rollout(begin, _Schedule(numbers, episodes))
    limits = Limits(max_episode_steps or math.inf, endless_after)
    rollout.play(policy, limits, progress)
    returns = np.full((len(contexts), episodes), np.nan)
    for key, value in rollout.returns.items():
        returns[key] = value
    errors = {}
    for number, (_, error) in sorted(rollout.errors.items()):
        returns[number] = np.nan
        errors[number] = str(environment_error(space.context(contexts[number]), error))
    return Evaluation(returns, errors)


def episode_seed(seed: int, number: int, episode: int) -> int:
    """The seed of an episode: the same, whatever else is played."""
    return int(np.random.SeedSequence([seed, number, episode]).generate_state(1)[0])


class Limits(NamedTuple):
    """How long an episode may be.

    Attributes:
        time: Steps after which it is cut off.
        endless_after: Steps after which it is taken to never end, which is an error.
    """

    time: float
    endless_after: int


@dataclass(slots=True)
class _Lane:
    """An episode that is being played."""

    number: int
    episode: int
    environment: ContextualEnv
    step: Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]
    observation: Any
    reusable: bool
    total: float = 0.0
    steps: int = 0


def _begin(
    environment: ContextualEnv, number: int, episode: int, seed: int, *, bare: bool
) -> _Lane:
    """Begin an episode in an environment, which is closed if that fails.

    Args:
        environment: The environment.
        number: Of its context.
        episode: Of the episode there.
        seed: For the reset.
        bare: Whether nobody sees what a contextual environment adds to a step.
    """
    try:
        observation, _ = environment.reset(seed=seed)
    except BaseException:
        environment.close()
        raise
    step = environment.inner.step if bare else environment.step
    reusable = environment.family.use_of(environment.inner) != "episode"
    return _Lane(number, episode, environment, step, observation, reusable)


#: Puts an observation in its place in a batch.
_Write = Callable[[Any, int, Any], None]
#: Begins an episode: its context, its number there, an environment of that context to use again.
_Begin = Callable[[int, int, ContextualEnv | None], _Lane]


class _Schedule:
    """Which episode comes next: one on the same context, for as long as there are any.

    So one environment can serve for several episodes. At first every lane has its own context.

    Args:
        numbers: The contexts.
        episodes: Number of episodes on each.

    Attributes:
        done: Number of contexts on which nothing is left to be played.
    """

    def __init__(self, numbers: Sequence[int], episodes: int) -> None:
        self.done = 0
        self._episodes = episodes
        self._left = dict.fromkeys(numbers, episodes)
        self._open = dict.fromkeys(numbers, 0)
        self._waiting = deque(numbers)

    def __len__(self) -> int:
        return len(self._left)

    def begin(self, same: int | None = None) -> tuple[int, int] | None:
        """Context and number of the episode to begin; None if all are begun.

        Args:
            same: The context that is preferred.
        """
        if same is None or not self._left[same]:
            while self._waiting and not self._left[self._waiting[0]]:
                self._waiting.popleft()
            if not self._waiting:
                return None
            same = self._waiting[0]
            self._waiting.rotate(-1)
        self._left[same] -= 1
        self._open[same] += 1
        return same, self._episodes - self._left[same] - 1

    def end(self, number: int, *, failed: bool) -> None:
        """An episode on a context has ended; after one that failed, no more are begun there."""
        if failed:
            self._left[number] = 0
        self._open[number] -= 1
        self.done += not self._left[number] and not self._open[number]


class _Rollout:
    """Plays episodes, some side by side.

    Args:
        begin: Begins an episode.
        schedule: The episodes.

    Attributes:
        returns: By context and episode, of those that have ended.
        errors: By context, the first episode that failed and why.
    """

    def __init__(self, begin: _Begin, schedule: _Schedule) -> None:
        self.returns: dict[tuple[int, int], float] = {}
        self.errors: dict[int, tuple[int, Exception]] = {}
        self._begin, self._schedule = begin, schedule

    def play(self, policy: Policy, limits: Limits, progress: EvaluationProgress | None) -> None:
        """Play all episodes.

        Args:
            policy: The policy.
            limits: On the length of an episode.
            progress: Called with the contexts done and in all.
        """
        lanes: dict[int, _Lane] = {}
        done = 0
        try:
            for place in range(LANES):
                lane = self._next_lane()
                if lane is None:
                    break
                lanes[place] = lane
            observations = _batch_of_observations(lanes[0].environment) if lanes else np.empty(0)
            write: _Write = setitem if isinstance(observations, np.ndarray) else _write
            while lanes:
                for place, lane in lanes.items():
                    write(observations, place, lane.observation)
                actions = policy.act(observations)
                for place in self._step_all(lanes, actions, limits):
                    following = self._next_lane(lanes.pop(place))
                    if following is not None:
                        lanes[place] = following
                if progress is not None and self._schedule.done > done:
                    done = self._schedule.done
                    progress(done, len(self._schedule))
        finally:
            for lane in lanes.values():
                _close(lane.environment)

    def _step_all(self, lanes: Mapping[int, _Lane], actions: Any, limits: Limits) -> list[int]:
        """One step in each lane; those whose episode has ended."""
        ended = []
        time_limit, endless_after = limits
        for place, lane in lanes.items():
            try:
                lane.observation, reward, terminated, truncated, _ = lane.step(actions[place])
                lane.total += float(reward)  # a float32 would make the sum one
                lane.steps += 1
                if terminated or truncated or lane.steps >= time_limit:
                    self.returns[lane.number, lane.episode] = lane.total
                    self._schedule.end(lane.number, failed=False)
                    ended.append(place)
                elif lane.steps >= endless_after:
                    raise no_end(endless_after)
            except TrainerError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
                self._fail(lane.number, lane.episode, error)
                ended.append(place)
        return ended

    def _next_lane(self, last: _Lane | None = None) -> _Lane | None:
        """Begin the next episode that can be begun, after the last one in a lane."""
        number = None if last is None else last.number
        following = self._schedule.begin(number)
        used = None
        if last is not None and following is not None and following[0] == number and last.reusable:
            used = last.environment
        elif last is not None:
            _close(last.environment)
        while following is not None:
            try:
                return self._begin(*following, used)
            except TrainerError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
                self._fail(*following, error)
            used, following = None, self._schedule.begin()
        return None

    def _fail(self, number: int, episode: int, error: Exception) -> None:
        # Of several episodes the first counts: which one ends first depends on the lanes.
        known = self.errors.get(number)
        if known is None or episode < known[0]:
            self.errors[number] = episode, error
        self._schedule.end(number, failed=True)


def _close(environment: ContextualEnv) -> None:
    """Close an environment whose episodes are over: what that raises changes none of them."""
    with suppress(Exception):
        environment.close()


def no_end(steps: int) -> TrainingError:
    """The error for an episode that is too long."""
    return TrainingError(
        f"an episode has not ended after {steps:,} steps, so it is taken to never end "
        "('endless_after'). Give it a time limit: the trainer's 'max_episode_steps', or "
        "gymnasium.wrappers.TimeLimit around the environment"
    )


def _batch_of_observations(environment: ContextualEnv) -> Any:
    """LANES empty observations in the form that Gymnasium's vector environments have."""
    space = environment.observation_space
    if not space.is_np_flattenable:
        raise TrainerError(
            "Policies act on observations that are arrays, or a Dict or Tuple of arrays. "
            f"{environment.family.name!r} has {space}. Flatten them in 'build'."
        )
    return create_empty_array(space, LANES)


def _write(batch: Any, number: int, observation: Any) -> None:
    """Put an observation in its place in a batch."""
    if isinstance(batch, dict):
        for key, part in batch.items():
            _write(part, number, observation[key])
    elif isinstance(batch, tuple):
        for part, seen in zip(batch, observation, strict=True):
            _write(part, number, seen)
    else:
        batch[number] = observation
