"""What the trainer has to know of environments on the host, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from sdmbtl.checks import check_int
from sdmbtl.environments.batched_world import BatchedWorld
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import close_env, is_parallel_env, spaces_of
from sdmbtl.errors import PolicyError, TrainerError
from sdmbtl.policies.flattening import FlatActions, FlatObservations
from sdmbtl.training.ppo.distributions import Distribution, Gaussian, MultiCategorical
from sdmbtl.training.ppo.host_rollout import ActionScale
from sdmbtl.training.ppo.policy_form import PolicyForm
from sdmbtl.training.ppo.rollout_arrays import RolloutShape
from sdmbtl.training.ppo.settings import PPOSettings


@dataclass(frozen=True)
class HostEnvironment:
    """The environments of a family, as all contexts have them.

    Attributes:
        registered: What Gymnasium calls it; None if it does not know it.
        observations: What is observed.
        actions: What can be done.
        agents: Places for agents; 1 in a Gymnasium environment.
        is_parallel: Whether it is an environment of several agents.
    """

    registered: str | None
    observations: FlatObservations
    actions: FlatActions
    agents: int
    is_parallel: bool

    @property
    def distribution(self) -> Distribution:
        """From what actions are drawn."""
        if self.actions.sizes is None:
            return Gaussian(self.actions.n_outputs)
        return MultiCategorical(self.actions.sizes)

    def rollout_shape(self, settings: PPOSettings, n_inputs: int) -> RolloutShape:
        """The sizes of a rollout."""
        sizes, space = self.actions.sizes, self.actions.space
        return RolloutShape(
            steps=settings.num_steps,
            slots=settings.num_envs * self.agents,
            inputs=n_inputs,
            choices=self.actions.n_outputs if sizes is None else len(sizes),
            continuous=sizes is None,
            action_shape=space.shape or (),
            action_dtype=str(np.dtype(space.dtype)),
        )

    def policy_form(self, settings: PPOSettings, n_coordinates: int) -> PolicyForm:
        """The form of the policies; the same as those of pure functions, where that is enough."""
        scale = ActionScale(self.actions)
        space, bounds = self.actions.space, None
        match space:
            case spaces.Discrete() if space.start == 0:
                is_plain = True
            case spaces.Box(shape=[_], dtype=np.float32) if space.is_bounded():
                is_plain = len({*space.low.tolist()}) == len({*space.high.tolist()}) == 1
                bounds = (float(space.low[0]), float(space.high[0])) if is_plain else None
            case _:
                is_plain = False
        return PolicyForm(
            self.observations.size + n_coordinates,
            self.actions.n_outputs,
            settings,
            bounds,
            None if self.observations.is_plain else self.observations.space,
            None if is_plain else space,
            None if scale.is_trivial else (scale.centre, scale.half_width),
        )


def examine(family: EnvironmentFamily, max_agents: int | None) -> HostEnvironment:
    """Build the environment of the usual context, and look at it.

    Args:
        family: The environments.
        max_agents: Agents at once; as many as are possible if left out.

    Raises:
        TrainerError: If a policy cannot be learned in it.
    """
    world = family.build_world()
    if world is not None:
        return _examine_world(world, family, max_agents)
    env: Any = family.build(dict(family.defaults), None)
    try:
        observed, acted = spaces_of(env)
        possible = len(getattr(env, "possible_agents", ())) if is_parallel_env(env) else 1
        return HostEnvironment(
            registered=_name_of(env),
            observations=FlatObservations(observed),
            actions=FlatActions(acted),
            agents=_check_agents(max_agents, possible, family, is_parallel_env(env)),
            is_parallel=is_parallel_env(env),
        )
    except PolicyError as error:
        raise TrainerError(f"The trainer 'ppo' cannot be used on {family.name}. {error}") from None
    finally:
        close_env(env)


def _examine_world(
    world: BatchedWorld, family: EnvironmentFamily, max_agents: int | None
) -> HostEnvironment:
    """What a world says of itself, without a single episode."""
    try:
        if max_agents not in (None, world.max_agents):
            raise TrainerError(
                f"{family.name} itself has a limit of {world.max_agents} agents at once. Leave "
                "'max_agents' out, and change the option of the family."
            )
        return HostEnvironment(
            registered=None,
            observations=FlatObservations(world.observation_space),
            actions=FlatActions(world.action_space),
            agents=world.max_agents,
            is_parallel=True,
        )
    finally:
        world.close()


def registered_name(family: EnvironmentFamily) -> str | None:
    """What Gymnasium calls the environments; None if it does not know them."""
    env: Any = family.build(dict(family.defaults), None)
    try:
        return _name_of(env)
    finally:
        close_env(env)


def _name_of(env: object) -> str | None:
    spec = getattr(env, "spec", None)
    return None if spec is None else str(spec.id)


def _check_agents(
    given: int | None, possible: int, family: EnvironmentFamily, is_parallel: bool
) -> int:
    if given is None and possible:
        return possible
    if given is None:
        raise TrainerError(
            f"The environments of {family.name} do not say how many agents they may have at once "
            "(possible_agents). Set 'max_agents'."
        )
    number = check_int("max_agents", given, low=1, error=TrainerError)
    if not is_parallel and number != 1:
        raise TrainerError(
            f"'max_agents' is for environments of several agents; {family.name} has one. "
            f"Got {given!r}."
        )
    return number
