"""Playing a policy in worlds of many episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.batched_world import BatchedWorld
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import SdmbtlError, TrainerError
from sdmbtl.policies import Policy
from sdmbtl.training.base import Evaluation
from sdmbtl.training.environment_errors import environment_error
from sdmbtl.training.progress import EvaluationProgress
from sdmbtl.training.rollout import LANES, episode_seed, no_end


class WorldEpisode(NamedTuple):
    """An episode that is to be played.

    Attributes:
        context: The full context.
        seed: Of the episode.
        coordinates: Of the context, if the policy sees them; none otherwise.
    """

    context: Mapping[str, float]
    seed: int
    coordinates: NDArray[np.float64] | tuple[()] = ()


def evaluate_in_world(
    policy: Policy,
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    world: BatchedWorld,
    observe_context: bool,
    episodes: int,
    seed: int,
    max_episode_steps: int | None,
    endless_after: int,
    only: Sequence[int] | None = None,
    progress: EvaluationProgress | None = None,
) -> Evaluation:
    """Play a policy, which all agents share, on contexts; see `evaluate_in_gymnasium`.

    The return of an episode is the mean over all its agents of their sums of rewards. It does not
    depend on which other episodes are played in the same world.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    numbers = list(range(len(contexts)) if only is None else only)
    evaluation = Evaluation(np.full((len(contexts), episodes), np.nan))
    act = partial(act_in_blocks, policy)

    def episode(number: int, count: int) -> WorldEpisode:
        vector = contexts[number]
        context = family.full_context(space.context(vector))
        coordinates = space.to_unit(vector) if observe_context else ()
        return WorldEpisode(context, episode_seed(seed, number, count), coordinates)

    def play(places: Sequence[tuple[int, int]]) -> None:
        group = [episode(*place) for place in places]
        returns = play_together(world, act, group, max_episode_steps, endless_after)
        for place, value in zip(places, returns, strict=True):
            evaluation.returns[place] = value

    todo = [(number, count) for number in numbers for count in range(episodes)]
    for first in range(0, len(todo), world.most_episodes):
        group = todo[first : first + world.most_episodes]
        try:
            play(group)
        except TrainerError:
            raise
        except SdmbtlError:
            _play_one_by_one(play, group, space, contexts, evaluation)
        if progress is not None:
            progress(min(first + world.most_episodes, len(todo)) // episodes, len(numbers))
    for number in evaluation.errors:
        evaluation.returns[number] = np.nan
    return evaluation


def _play_one_by_one(
    play: Callable[[Sequence[tuple[int, int]]], None],
    group: Sequence[tuple[int, int]],
    space: ContextSpace,
    contexts: NDArray[np.float64],
    evaluation: Evaluation,
) -> None:
    """Play again what failed together: only the context that is to blame shall fail."""
    for place in group:
        try:
            play([place])
        except SdmbtlError as error:
            context = space.context(contexts[place[0]])
            evaluation.errors.setdefault(place[0], str(environment_error(context, error)))


def play_together(
    world: BatchedWorld,
    act: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    episodes: Sequence[WorldEpisode],
    max_episode_steps: int | None = None,
    endless_after: int = 100_000,
) -> NDArray[np.float64]:
    """(E,) returns of episodes that are played side by side.

    Args:
        world: Where.
        act: (k, A) actions for (k, I) observations; see `act_in_blocks`.
        episodes: At most as many as the world can have.
        max_episode_steps: They are cut off after so many steps; None for no limit.
        endless_after: Episodes that have not ended after so many steps have failed.

    Raises:
        TrainingError: If they do not end.
    """
    coordinates = np.array([episode.coordinates for episode in episodes], np.float32)
    now = world.reset([e.context for e in episodes], [e.seed for e in episodes])
    totals, agents = np.zeros(len(episodes)), np.zeros(len(episodes))
    steps, is_over = 0, False
    while not is_over and steps != max_episode_steps:
        if steps >= endless_after:
            raise no_end(endless_after)
        where = now.slots // world.max_agents
        seen = np.concatenate([now.obs, coordinates[where]], axis=1)
        step = world.step(act(seen))
        steps += 1
        np.add.at(totals, where, step.reward)
        np.add.at(agents, where, step.gone)  # who is still there is counted at the end
        now, is_over = step.now, step.is_over
    np.add.at(agents, now.slots // world.max_agents, 1)
    return totals / np.maximum(agents, 1)


def act_in_blocks(policy: Policy, obs: NDArray[np.float32]) -> NDArray[np.float32]:
    """(k, A) actions of a policy for (k, I) observations.

    The policy always acts on `LANES` of them: the last digits of a product depend on the size of
    a batch, and an episode must not depend on the others beside it.
    """
    blocks = max(math.ceil(len(obs) / LANES), 1)
    padded = np.zeros((blocks * LANES, obs.shape[1]), np.float32)
    padded[: len(obs)] = obs
    actions: list[Any] = [policy.act(part) for part in np.split(padded, blocks)]
    return np.concatenate(actions)[: len(obs)].astype(np.float32, copy=False)
