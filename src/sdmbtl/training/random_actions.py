"""Playing random actions: what a policy must do better than."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.batched_world import BatchedWorld
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import close_env, is_parallel_env, spaces_of
from sdmbtl.seeds import derived_seed
from sdmbtl.training.base import Trainer
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.parallel_rollout import play_agents
from sdmbtl.training.rollout import Limits, episode_seed
from sdmbtl.training.world_rollout import WorldEpisode, play_together


def play_random_actions(
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    episodes: int,
    most_steps: int,
    max_episode_steps: int | None,
    seed: int,
) -> NDArray[np.float64]:
    """Take uniformly random actions, the first episode on every context, then the second.

    Args:
        family: The environments.
        space: The context space.
        contexts: (n, D) contexts in the order of the space's dimensions.
        episodes: Number of episodes on each.
        most_steps: Steps in all, after which no more is played: random actions may never end.
        max_episode_steps: An episode is cut off after so many steps; None for no time limit.
        seed: With the number of the episode, it sets its start and its actions.

    Returns:
        (n, episodes) returns; NaN where the steps did not suffice.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    returns = np.full((len(contexts), episodes), np.nan)
    places = [(number, episode) for episode in range(episodes) for number in range(len(contexts))]
    world = family.build_world()
    if world is not None:
        full = [family.full_context(space.context(vector)) for vector in contexts]
        todo = [WorldEpisode(full[number], episode_seed(seed, number, e)) for number, e in places]
        with closing(world):
            found = _play_in_world(world, todo, most_steps, max_episode_steps, seed)
        for place, value in zip(places, found, strict=False):
            returns[place] = value
        return returns
    left = most_steps
    for number, episode in places:
        context = space.context(contexts[number])
        own_seed = episode_seed(seed, number, episode)
        with name_context_in_errors(context):
            env: Any = family.build(family.full_context(context), None)
            try:
                returns[number, episode], taken = _play_episode(
                    family, env, context, own_seed, Limits(max_episode_steps or math.inf, left)
                )
            finally:
                close_env(env)
        left -= taken
        if left <= 0:
            break
    return returns


def play_as_trained(
    trainer: Trainer, contexts: NDArray[np.float64], episodes: int, most_steps: int, seed: int
) -> NDArray[np.float64]:
    """Take random actions in the environments in which a trainer's policies are evaluated."""
    return play_random_actions(
        trainer.family.for_evaluation(),
        trainer.space,
        contexts,
        episodes=episodes,
        most_steps=most_steps,
        max_episode_steps=trainer.max_episode_steps,
        seed=seed,
    )


def _play_in_world(
    world: BatchedWorld,
    episodes: Sequence[WorldEpisode],
    most_steps: int,
    max_episode_steps: int | None,
    seed: int,
) -> list[float]:
    """Returns of the first episodes, as many at once as a world has, until steps are used up.

    Raises:
        TrainingError: If the world fails; the message names the first context of those in it.
    """
    rng, returns = np.random.default_rng(seed), list[float]()
    low, high = world.action_space.low, world.action_space.high
    taken = 0

    def act(obs: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal taken
        taken += len(group)
        return rng.uniform(low, high, (len(obs), *low.shape)).astype(np.float32)

    while len(returns) < len(episodes) and taken < most_steps:
        group = episodes[len(returns) : len(returns) + world.most_episodes]
        steps = min(-(-(most_steps - taken) // len(group)), max_episode_steps or most_steps)
        with name_context_in_errors(group[0].context):
            totals = play_together(world, act, group, steps, most_steps + 1)
        if taken >= most_steps and steps != max_episode_steps:
            break  # they were cut off because the steps are used up
        returns += totals.tolist()
    return returns


def _play_episode(
    family: EnvironmentFamily, env: Any, context: dict[str, float], seed: int, limits: Limits
) -> tuple[float, int]:
    """The return of an episode, NaN if the steps do not suffice, and its steps."""
    options = {"context": family.full_context(context)} if family.use_of(env) == "space" else None
    actions = spaces_of(env)[1]
    # Of its own: the environment draws its start from the same kind of generator.
    actions.seed(derived_seed(seed, "random actions"))
    observation, _ = env.reset(seed=seed, options=options)
    if is_parallel_env(env):
        mean, steps, has_ended = play_agents(
            env, observation, lambda _: actions.sample(), min(limits)
        )
        return (mean if has_ended or steps >= limits.time else math.nan), steps
    total = 0.0
    for step in range(1, limits.endless_after + 1):
        _, reward, terminated, truncated, _ = env.step(actions.sample())
        total += float(reward)
        if terminated or truncated or step >= limits.time:
            return total, step
    return math.nan, limits.endless_after
