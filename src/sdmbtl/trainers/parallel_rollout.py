"""Playing a policy in environments of several agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import ParallelEnv
from sdmbtl.errors import TrainerError
from sdmbtl.policies import Policy
from sdmbtl.trainers.rollout import name_context_in_errors


def evaluate_parallel(
    policy: Policy,
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    observe_context: bool,
    episodes: int,
    seed: int,
) -> NDArray[np.float64]:
    """Play a policy, which all agents share, on contexts.

    Args:
        policy: Acts on the observation of one agent.
        family: The environments.
        space: The space in which the context is observed.
        contexts: (n, D) contexts in the order of the space's dimensions.
        observe_context: Whether the policy sees the context.
        episodes: Number of episodes on each context.
        seed: With the position of the context and the number of the episode, it sets the start
            of each episode.

    Returns:
        (n, episodes) returns: the mean over all agents of an episode of their sums of rewards.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    episodes = whole_number("episodes", episodes, low=1, error=TrainerError)
    seed = whole_number("seed", seed, low=0, error=TrainerError)
    returns = np.zeros((len(contexts), episodes))
    for where, vector in enumerate(contexts):
        context = family.full_context(space.context(vector))
        coordinates = space.to_unit(vector) if observe_context else np.zeros(0)
        for episode in range(episodes):
            own_seed = int(np.random.SeedSequence([seed, where, episode]).generate_state(1)[0])
            with name_context_in_errors(context):
                env: Any = family.build(dict(context), None)
                try:
                    options = {"context": context} if family.use_of(env) == "space" else None
                    first, _ = env.reset(seed=own_seed, options=options)
                    returns[where, episode] = _play(policy, env, first, coordinates)
                finally:
                    env.close()
    return returns


def _play(
    policy: Policy,
    env: ParallelEnv,
    observations: Mapping[Any, Any],
    coordinates: NDArray[np.float64],
) -> float:
    """The mean over all agents of an episode of their sums of rewards."""
    sums = dict.fromkeys(observations, 0.0)
    while env.agents:
        actions = {
            agent: policy.act(_with_context(observations[agent], coordinates))
            for agent in env.agents
        }
        observations, rewards, *_ = env.step(actions)
        for agent in {*actions, *observations}:
            sums[agent] = sums.get(agent, 0.0) + float(rewards.get(agent, 0.0))
    return sum(sums.values()) / len(sums)


def _with_context(observation: Any, coordinates: NDArray[np.float64]) -> Any:
    if not len(coordinates):
        return observation
    return np.concatenate([observation, coordinates]).astype(np.asarray(observation).dtype)
