"""What every family of environments must do, as checks that raise FamilyError with a sentence.

The first six are those of `sdmbtl.environments.check_contextual_env`, which runs them for users
and reports what it found. The others are about what studies and trainers ask of a family besides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from sdmbtl.contexts import ContextSpace, SpaceLike
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.environments.checks import (
    check_contexts_do_not_leak,
    check_every_dimension_matters,
    check_gymnasium_has_no_objection,
    check_reset_switches_the_context,
    check_same_seed_same_episode,
    check_spaces_are_the_same_in_all_contexts,
    episodes_differ_at,
    family_and_space,
)
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import ContextError, FamilyError

EnvironmentCheck = Callable[[EnvironmentFamily, ContextSpace], object]


def environment_checks() -> tuple[EnvironmentCheck, ...]:
    """Every check; each is called as `check(family, space)`."""
    return (
        check_spaces_are_the_same_in_all_contexts,
        check_same_seed_same_episode,
        check_contexts_do_not_leak,
        check_every_dimension_matters,
        check_reset_switches_the_context,
        check_gymnasium_has_no_objection,
        check_usual_context_has_every_feature,
        check_bad_contexts_are_refused,
        check_context_can_be_observed,
        check_settings_make_it_again,
        check_returns_are_in_their_range,
        check_twin_fits,
    )


def check_environment(
    environments: str | EnvironmentFamily | Callable[..., gymnasium.Env[Any, Any]],
    space: SpaceLike | None = None,
) -> None:
    """Run every check.

    Args:
        environments: A family, its name, "module:function", or a function of a context.
        space: The contexts to check with; a family's default space if left out.

    Raises:
        FamilyError: If a check fails; the message says what is wrong.
    """
    family, contexts = family_and_space(environments, space)
    for check in environment_checks():
        check(family, contexts)


def check_usual_context_has_every_feature(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Without a context it is the usual one, which every reset and step reports in full."""
    _require(
        set(space.names) <= set(family.defaults),
        f"The space has {list(space.names)}, the family only {list(family.defaults)}.",
    )
    env = family.make()
    _, at_reset = env.reset(seed=0)
    *_, at_step = env.step(env.action_space.sample())
    env.close()
    for info in (at_reset, at_step):
        _require(
            info.get("context") == dict(family.defaults),
            f"Without a context, info['context'] must be {dict(family.defaults)}. "
            f"Got {info.get('context')}.",
        )


def check_bad_contexts_are_refused(family: EnvironmentFamily, space: ContextSpace) -> None:
    """A feature that there is not, and a value that is not a number, are ContextErrors."""
    name = space.names[0]
    for context in ({f"no_{name}": 1.0}, {name: float("nan")}, {name: "1"}):
        try:
            family.make(context)  # type: ignore[arg-type]
        except ContextError:
            continue
        raise FamilyError(
            f"The context {context} was accepted. Call full_context before it is used."
        )


def check_context_can_be_observed(family: EnvironmentFamily, space: ContextSpace) -> None:
    """With `observe_context`, observations end with the unit coordinates of the context."""
    plain = family.make().observation_space
    if not (
        isinstance(plain, gymnasium.spaces.Box)
        and len(plain.shape) == 1
        and np.issubdtype(plain.dtype, np.floating)
    ):
        return  # refused with a message: there is nothing to append to
    target = space.target(-1)
    env = family.make(target, observe_context=space)
    observation, _ = env.reset(seed=0)
    env.close()
    seen, expected = observation[plain.shape[0] :], space.to_unit(space.vector(target))
    _require(
        seen.shape == expected.shape
        and np.allclose(seen, expected, atol=1e-6)
        and observation in env.observation_space,
        f"With observe_context, an observation in {target} must end with {expected}. Got {seen}.",
    )


def check_settings_make_it_again(family: EnvironmentFamily, space: ContextSpace) -> None:
    """The settings are JSON, and another process makes the same family of them."""
    if not can_be_made_anywhere(family):
        return  # a function of this process, or registered only here
    settings = json.loads(json.dumps(family.settings()))
    again = make_family(settings["name"], **settings["options"])
    target = space.target(0)
    _require(
        again.settings() == settings
        and episodes_differ_at(family.make(target), again.make(target)) is None,
        f"make_family(name, **options) of {settings} makes other environments. Return from "
        "'options' whatever the constructor was given.",
    )


def check_returns_are_in_their_range(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Where the range of returns is known, random actions stay within it."""
    if family.return_range is None:
        return
    low, high = family.return_range
    for target in (space.target(0), space.target(-1)):
        value = _random_return(family, target)
        _require(
            low <= value <= high,
            f"In {target} random actions had the return {value:g}, outside of return_range "
            f"[{low:g}, {high:g}].",
        )


def check_twin_fits(family: EnvironmentFamily, space: ContextSpace) -> None:
    """A pure-function twin has the features, limits, observations and actions of the family."""
    del space
    twin = family.functional()
    if twin is None:
        return
    from sdmbtl.environments.functional import Discrete

    env = family.build(dict(family.defaults), None)
    box = gymnasium.spaces.Box
    if isinstance(twin.actions, Discrete):
        actions: gymnasium.Space[Any] = gymnasium.spaces.Discrete(twin.actions.n)
    else:
        shape = (twin.actions.size,)
        actions = box(twin.actions.low, twin.actions.high, shape, np.float32)
    limit = None if env.spec is None else env.spec.max_episode_steps
    for what, ours, theirs in (
        ("features", list(twin.defaults.items()), list(family.defaults.items())),
        ("longest episode", twin.max_steps, limit),
        ("shape of an observation", (twin.observation_size,), env.observation_space.shape),
        ("actions", actions, env.action_space),
    ):
        _require(ours == theirs, f"Twin and environment differ in {what}: {ours}, {theirs}.")
    env.close()


def _random_return(family: EnvironmentFamily, context: dict[str, float]) -> float:
    """The return of one episode with random actions."""
    env = family.make(context)
    env.action_space.seed(0)
    env.reset(seed=0)
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, ended = total + reward, terminated or truncated
    env.close()
    return total


def _require(condition: object, message: str) -> None:
    if not condition:
        raise FamilyError(message)
