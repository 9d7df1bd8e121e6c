"""Playing a policy in Gymnasium environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from sdmbtl.checks import whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy

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
) -> NDArray[np.float64]:
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

    Returns:
        (n, episodes) returns; NaN where the environment gave one.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    episodes = whole_number("episodes", episodes, low=1, error=TrainerError)
    returns = np.zeros((len(contexts), episodes))
    seed = whole_number("seed", seed, low=0, error=TrainerError)
    observed = space if observe_context else False

    def begin(episode: tuple[int, ...]) -> _Lane:
        """An episode in an environment of its own, and its first observation."""
        context = space.context(contexts[episode[0]])
        own_seed = int(np.random.SeedSequence([seed, *episode]).generate_state(1)[0])
        with name_context_in_errors(context):
            # A new one: Box2D's results depend on what its world did before the reset.
            environment = family.make(context, observe_context=observed)
            try:
                observation, _ = environment.reset(seed=own_seed)
            except BaseException:
                environment.close()
                raise
        return _Lane(episode, context, environment, observation)

    _play(policy, begin, returns)
    return returns


@dataclass
class _Lane:
    """An episode that is being played."""

    episode: tuple[int, ...]
    context: dict[str, float]
    environment: ContextualEnv
    observation: Any


def _play(
    policy: Policy, begin: Callable[[tuple[int, ...]], _Lane], returns: NDArray[np.float64]
) -> None:
    """Play all episodes, some side by side, and add their rewards to (n, episodes) returns."""
    todo = iter(np.ndindex(returns.shape))
    lanes: dict[int, _Lane] = {}
    try:
        for number, episode in enumerate(islice(todo, LANES)):
            lanes[number] = begin(episode)
        observations = _batch_of_observations(lanes[0].environment) if lanes else np.empty(0)
        while lanes:
            for number, lane in lanes.items():
                _write(observations, number, lane.observation)
            actions = policy.act(observations)
            for number, lane in list(lanes.items()):
                with name_context_in_errors(lane.context):
                    lane.observation, reward, terminated, truncated, _ = lane.environment.step(
                        actions[number]
                    )
                returns[lane.episode] += reward
                if terminated or truncated:
                    del lanes[number]
                    lane.environment.close()
                    for episode in islice(todo, 1):
                        lanes[number] = begin(episode)
    finally:
        for lane in lanes.values():
            lane.environment.close()


@contextmanager
def name_context_in_errors(context: Mapping[str, float]) -> Iterator[None]:
    """Turn what an environment raises into an error that names its context."""
    try:
        yield
    except (TrainerError, TrainingError):
        raise
    except Exception as error:
        raise TrainingError(
            f"The environment failed in the context {dict(context)}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _batch_of_observations(environment: ContextualEnv) -> Any:
    """LANES empty observations in the form that Gymnasium's vector environments have."""
    space = environment.observation_space
    try:
        return create_empty_array(space, LANES)
    except (CustomSpaceError, TypeError):
        raise TrainerError(
            "Policies act on observations that are arrays, or a Dict or Tuple of arrays. "
            f"{environment.family.name!r} has {space}. Flatten them in 'build'."
        ) from None


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
