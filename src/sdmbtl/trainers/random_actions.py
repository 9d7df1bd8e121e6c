"""Playing random actions: what a policy must do better than."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import close_env, is_parallel_env, spaces_of
from sdmbtl.trainers.environment_errors import name_context_in_errors
from sdmbtl.trainers.parallel_rollout import play_agents


def play_random_actions(
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    episodes: int,
    most_steps: int,
    seed: int,
) -> NDArray[np.float64]:
    """Take uniformly random actions, the first episode on every context, then the second.

    Args:
        family: The environments.
        space: The context space.
        contexts: (n, D) contexts in the order of the space's dimensions.
        episodes: Number of episodes on each.
        most_steps: Steps in all, after which no more is played: random actions may never end.
        seed: With the number of the episode, it sets its start and its actions.

    Returns:
        (n, episodes) returns; NaN where the steps did not suffice.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    returns = np.full((len(contexts), episodes), np.nan)
    left = most_steps
    for episode, number in np.ndindex(episodes, len(contexts)):
        context = space.context(contexts[number])
        own_seed = int(np.random.SeedSequence([seed, number, episode]).generate_state(1)[0])
        with name_context_in_errors(context):
            env: Any = family.build(family.full_context(context), None)
            try:
                returns[number, episode], taken = _play_episode(
                    family, env, context, own_seed, left
                )
            finally:
                close_env(env)
        left -= taken
        if left <= 0:
            break
    return returns


def _play_episode(
    family: EnvironmentFamily, env: Any, context: dict[str, float], seed: int, most_steps: int
) -> tuple[float, int]:
    """The return of an episode, NaN if it does not end in time, and its steps."""
    options = {"context": family.full_context(context)} if family.use_of(env) == "space" else None
    actions = spaces_of(env)[1]
    actions.seed(seed)
    observation, _ = env.reset(seed=seed, options=options)
    if is_parallel_env(env):
        mean, steps = play_agents(env, observation, lambda _: actions.sample(), most_steps)
        return (float("nan") if mean is None else mean), steps
    total = 0.0
    for step in range(1, most_steps + 1):
        _, reward, terminated, truncated, _ = env.step(actions.sample())
        total += float(reward)
        if terminated or truncated:
            return total, step
    return float("nan"), most_steps
