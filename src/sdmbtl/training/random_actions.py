"""Returns of random actions: what a policy must do better than."""

from __future__ import annotations

import math
from contextlib import closing
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.seeds import derived_seed, episode_seed
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.job import Evaluation


def play_random_actions(
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    episodes: int,
    most_steps: int,
    max_episode_steps: int | None,
    seed: int,
) -> Evaluation:
    """Take uniformly random actions, the first episode on every context, then the second.

    After `most_steps` in all no more is played: random actions may never end.

    Returns:
        (n, episodes) returns, NaN where the steps did not suffice, and the steps taken.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    vector_env = family.make_vector_env()
    if vector_env is not None:
        with closing(vector_env):
            limits = {"most_steps": most_steps, "max_episode_steps": max_episode_steps}
            how = {"episodes": episodes, "seed": seed, **limits}
            return vector_env.play_random_actions(space, contexts, **how)
    returns = np.full((len(contexts), episodes), np.nan)
    left, time_limit = most_steps, max_episode_steps or math.inf
    for episode, number in product(range(episodes), range(len(contexts))):
        context, own_seed = space.context(contexts[number]), episode_seed(seed, number, episode)
        with name_context_in_errors(context), closing(family.make(context)) as env:
            # Actions have a seed of their own: the environment draws its start from the same kind
            # of generator.
            env.action_space.seed(derived_seed(own_seed, "random actions"))
            env.reset(seed=own_seed)
            total, steps, done = 0.0, 0, False
            while not done and steps < left:
                _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
                total, steps = total + float(reward), steps + 1
                done = terminated or truncated or steps >= time_limit
        if done:
            returns[number, episode] = total
        left -= steps
        if left <= 0:
            break
    return Evaluation(returns, steps=most_steps - left)
