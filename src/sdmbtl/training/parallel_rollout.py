"""Playing a policy in environments of several agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import ParallelEnv, close_env
from sdmbtl.errors import TrainerError
from sdmbtl.policies import Policy
from sdmbtl.training.base import Evaluation
from sdmbtl.training.environment_errors import environment_error
from sdmbtl.training.progress import EvaluationProgress
from sdmbtl.training.rollout import Limits, episode_seed, no_end


def evaluate_parallel(
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
    """Play a policy, which all agents share, on contexts; see `evaluate_in_gymnasium`.

    The return of an episode is the mean over all its agents of their sums of rewards.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    evaluation = Evaluation(np.full((len(contexts), episodes), np.nan))
    numbers = range(len(contexts)) if only is None else only
    limits = Limits(max_episode_steps or math.inf, endless_after)
    for done, number in enumerate(numbers, start=1):
        context = family.full_context(space.context(contexts[number]))
        coordinates = space.to_unit(contexts[number]) if observe_context else np.zeros(0)
        try:
            for episode in range(episodes):
                own_seed = episode_seed(seed, number, episode)
                evaluation.returns[number, episode] = _play(
                    policy, family, context, coordinates, own_seed, limits
                )
        except TrainerError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
            evaluation.returns[number] = np.nan
            evaluation.errors[number] = str(environment_error(context, error))
        if progress is not None:
            progress(done, len(numbers))
    return evaluation


def _play(
    policy: Policy,
    family: EnvironmentFamily,
    context: dict[str, float],
    coordinates: NDArray[np.float64],
    seed: int,
    limits: Limits,
) -> float:
    """The return of one episode in an environment of its own."""
    env: Any = family.build(dict(context), None)
    try:
        options = {"context": context} if family.use_of(env) == "space" else None
        observations, _ = env.reset(seed=seed, options=options)
        act = lambda seen: policy.act(_with_context(seen, coordinates))  # noqa: E731
        played = play_agents(env, observations, act, min(limits))
        if not played.has_ended and limits.time > limits.endless_after:
            raise no_end(limits.endless_after)
        return played.mean
    finally:
        close_env(env)


class PlayedAgents(NamedTuple):
    """An episode of several agents.

    Attributes:
        mean: Over all agents, of their sums of rewards.
        steps: How many were played.
        has_ended: Whether the episode was over then.
    """

    mean: float
    steps: int
    has_ended: bool


def play_agents(
    env: ParallelEnv,
    observations: Mapping[Any, Any],
    act: Callable[[Any], Any],
    most_steps: float,
) -> PlayedAgents:
    """Play an episode of several agents to its end.

    Args:
        env: The environment, after its reset.
        observations: Those of the reset.
        act: The action of an agent for its observation.
        most_steps: After which it is left.
    """
    sums, steps = dict.fromkeys(observations, 0.0), 0
    while env.agents and steps < most_steps:
        actions = {agent: act(observations[agent]) for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
        steps += 1
        for agent in dict.fromkeys([*actions, *observations]):  # a set has another order each time
            sums[agent] = sums.get(agent, 0.0) + float(rewards.get(agent, 0.0))
    return PlayedAgents(sum(sums.values()) / max(len(sums), 1), steps, not env.agents)


def _with_context(observation: Any, coordinates: NDArray[np.float64]) -> Any:
    if not len(coordinates):
        return observation
    return np.concatenate([observation, coordinates]).astype(np.asarray(observation).dtype)
