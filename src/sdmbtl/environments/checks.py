"""Checks of a family of environments: one for each context, and nothing shared between them."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace, SpaceLike, read_space
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registry import has_known_name, make_family
from sdmbtl.errors import ContextError, FamilyError

#: Steps of an episode that are compared.
STEPS = 200

#: Numbers of steps for which actions are held: only swings come near speed limits.
HOLDS = (1, 2, 4, 8, 16, 32, 64)

SEED = 7

#: An environment without a visible time limit should end within this many random steps.
STEPS_TO_AN_END = 2_000

#: One step: observation, reward, terminated, truncated.
Step = tuple[Any, float, bool, bool]

#: A check raises FamilyError; the one of the dimensions returns their first differences.
EnvironmentCheck = Callable[[EnvironmentFamily, ContextSpace], object]


@dataclass(frozen=True)
class ContextualEnvReport:
    """Result of `check_contextual_env`.

    Attributes:
        first_difference: For each dimension, the first step at which its lowest and its highest
            value lead to different observations or rewards; 0 is the reset.
        warnings: Remarks of Gymnasium's own checker, and one if a time limit is missing.
        features: The part of the environment that each dimension is, in words.
    """

    first_difference: dict[str, int]
    warnings: tuple[str, ...]
    features: dict[str, str]


def check_contextual_env(
    environments: str | EnvironmentFamily | Callable[..., gymnasium.Env[Any, Any]],
    space: SpaceLike | None = None,
) -> ContextualEnvReport:
    """Check a family, or a function that makes the environment of a context.

    Args:
        environments: A family, the name of one, "module:function", or a function that is called
            with a context and returns a `gymnasium.Env`.
        space: The contexts to check with: middle and ends of every dimension. A family's
            default space if left out.

    Raises:
        FamilyError: If a check fails; the message says which, and how to repair it.

    Example:
        >>> report = check_contextual_env("cartpole")
        >>> report.first_difference
        {'length': 1, 'masscart': 1, 'masspole': 1}
        >>> check_contextual_env(make_family("cartpole", physics="carl"))
        Traceback (most recent call last):
        sdmbtl.errors.FamilyError: The dimension 'masscart' does nothing: ...
    """
    family, contexts = read_family(environments, space)
    results = {check: check(family, contexts) for check in CHECKS}
    remarks: Any = results[check_gymnasium_has_no_objection]
    first_difference: Any = results[check_every_dimension_matters]
    endless = find_missing_time_limit(family, contexts)
    return ContextualEnvReport(
        first_difference,
        remarks if endless is None else (*remarks, endless),
        features={name: family.describe_feature(name) for name in contexts.names},
    )


def environment_checks() -> tuple[EnvironmentCheck, ...]:
    """Return every check; each is called as `check(family, space)`."""
    return CHECKS


def read_family(
    environments: object, space: SpaceLike | None
) -> tuple[EnvironmentFamily, ContextSpace]:
    """Return the family to check, and the contexts to check it with.

    Raises:
        FamilyError: If it is not a family, or a function without a space.
    """
    if isinstance(environments, str):
        environments = make_family(environments, space=space)
        space = None
    if isinstance(environments, EnvironmentFamily):
        if space is None or isinstance(space, str):
            return environments, environments.space(space)
        return environments, read_space(space)[0]
    if not callable(environments):
        raise FamilyError(
            "Give a family, the name of one, or a function of a context. "
            f"Got {short_text(environments)} instead."
        )
    if space is None:
        raise FamilyError("A function needs a space to be checked with. Give space=....")
    family = FactoryFamily(environments, space)
    return family, family.space()


# -- the checks; each raises FamilyError -------------------------------------------------


def check_spaces_are_the_same_in_all_contexts(
    family: EnvironmentFamily, space: ContextSpace
) -> None:
    """Observations and actions have one form, or no policy could be transferred."""
    contexts = (space.middle(), *_ends(space))
    envs = [(c, family.build(family.full_context(c), None)) for c in contexts]
    for kind in ("observation_space", "action_space"):
        (first_context, first), *others = [(c, getattr(env, kind)) for c, env in envs]
        for context, other in others:
            if other != first:
                raise FamilyError(
                    f"The {kind} depends on the context: {first} for {first_context}, {other} "
                    f"for {context}. A policy of one context could not act in another; use "
                    "bounds that hold for all."
                )
    for _, env in envs:
        env.close()


def check_same_seed_same_episode(family: EnvironmentFamily, space: ContextSpace) -> None:
    """An episode follows from seed, context and actions alone."""
    for context in _ends(space):
        env = family.make(context)
        actions = _actions(env, hold=4)
        first = _play(env, actions)
        for again, name in (
            (env, "a second reset of the same environment"),
            (family.make(context), "a new environment"),
        ):
            step = _first_difference(first, _play(again, actions))
            if step is not None:
                raise FamilyError(
                    f"The same seed and actions do not give the same episode: {name} differs at "
                    f"step {step}, in the context {context}. Call super().reset(seed=seed) and "
                    "draw every random number from self.np_random."
                )


def check_every_dimension_matters(family: EnvironmentFamily, space: ContextSpace) -> dict[str, int]:
    """Find for each dimension the first step at which its ends lead to different episodes."""
    found, middle = {}, space.middle()
    for name, (low, high) in space.bounds.items():
        if low == high:
            continue
        envs = [family.make({**middle, name: value}) for value in (low, high)]
        # Another seed each time: in some episodes there may be nothing that could differ.
        differences = (find_difference(*envs, hold=h, seed=SEED + i) for i, h in enumerate(HOLDS))
        step = next((d for d in differences if d is not None), None)
        if step is None:
            raise FamilyError(
                f"The dimension {name!r} does nothing: {low:g} and {high:g} give the same "
                f"observations and rewards in {STEPS} steps of {len(HOLDS)} action sequences. It "
                f"is {family.describe_feature(name)}. Check that the environment uses the value, "
                "and not one computed before it was set; or drop the dimension."
            )
        found[name] = step
    return found


def check_contexts_do_not_leak(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Environments of several contexts may be in use at the same time."""
    low, high = _ends(space)
    actions = _actions(family.make(low), hold=4)
    alone = [_play(family.make(context), actions) for context in (low, high)]
    both = [family.make(context) for context in (low, high)]
    turns = list(itertools.zip_longest(*(_steps(env, actions) for env in both)))
    together = [[step for step in steps if step is not None] for steps in zip(*turns, strict=True)]
    disturbed = []
    for step in _steps(family.make(low), actions):
        disturbed.append(step)
        if len(disturbed) == 2:
            _play(family.make(high), actions[:2])
    cases = (
        (low, alone[0], together[0], "played in turns with one of another context"),
        (high, alone[1], together[1], "played in turns with one of another context"),
        (low, alone[0], disturbed, "if one of another context is made meanwhile"),
    )
    for context, expected, got, when in cases:
        at = _first_difference(expected, got)
        if at is not None:
            raise FamilyError(
                f"Contexts leak between environments: that of {context} goes another way from "
                f"step {at} on, {when}. Keep what depends on the context in the instance, not in "
                "a class or a module."
            )


def check_reset_switches_the_context(family: EnvironmentFamily, space: ContextSpace) -> None:
    """After a switch it is the environment of the new context, until the next switch."""
    low, high = _ends(space)
    env = family.make(low)
    actions = _actions(env, hold=4)
    _play(env, actions)
    cases: tuple[tuple[dict[str, Any] | None, int, str], ...] = (
        ({"context": high}, SEED, "After reset(options={'context': ...})"),
        (None, SEED + 1, "At the next reset, without a context,"),
    )
    for options, seed, when in cases:
        switched = _play(env, actions, seed, options)
        step = _first_difference(_play(family.make(high), actions, seed), switched)
        if step is not None:
            raise FamilyError(
                f"{when} the environment is not that of {high}: it differs from a new one at "
                f"step {step}."
            )


def check_gymnasium_has_no_objection(
    family: EnvironmentFamily, space: ContextSpace
) -> tuple[str, ...]:
    """Return the remarks of Gymnasium's own checker, without its colours."""
    env = family.make(space.middle())
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            check_env(env, skip_render_check=True, skip_close_check=True)
        except Exception as error:
            raise FamilyError(
                f"Gymnasium's checker objects: {type(error).__name__}: {error}"
            ) from error
    env.close()
    plain = (re.sub(r"\x1b\[\d+m(WARN: )?", "", str(remark.message)) for remark in remarks)
    return tuple(dict.fromkeys(plain))


def check_contexts_are_checked(family: EnvironmentFamily, space: ContextSpace) -> None:
    """The usual context is reported in full; unknown features and non-numbers are refused."""
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
        isinstance(plain, spaces.Box)
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
    if not has_known_name(family):
        return  # a function or a class of this process
    settings = json.loads(json.dumps(family.settings()))
    again = make_family(settings["name"], **settings["options"])
    target = space.target(0)
    _require(
        again.settings() == settings
        and find_difference(family.make(target), again.make(target)) is None,
        f"make_family(name, **options) of {settings} makes other environments. Return from "
        "'options' whatever the constructor was given.",
    )


def check_returns_are_in_their_range(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Random actions stay within the range of returns of a family, if it has one."""
    if family.return_range is None or "return_range" in vars(family):
        return  # one that the user gave may be a goal
    low, high = family.return_range
    for target in (space.target(0), space.target(-1)):
        env = family.make(target)
        env.action_space.seed(0)
        actions = (env.action_space.sample() for _ in range(STEPS_TO_AN_END))
        value = sum(reward for _, reward, *_ in _steps(env, actions, seed=0))
        env.close()
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
    env = family.build(dict(family.defaults), None)
    limit = None if env.spec is None else env.spec.max_episode_steps
    for what, ours, theirs in (
        ("features", list(twin.defaults.items()), list(family.defaults.items())),
        ("longest episode", twin.max_steps, limit),
        ("shape of an observation", (twin.observation_size,), env.observation_space.shape),
        ("actions", twin.actions, env.action_space),
    ):
        _require(ours == theirs, f"Twin and environment differ in {what}: {ours}, {theirs}.")
    env.close()


#: Every check, in the order in which they run. Leaks come before the dimensions: a dimension that
#: leaks looks as if it did nothing.
CHECKS: tuple[EnvironmentCheck, ...] = (
    check_contexts_are_checked,
    check_spaces_are_the_same_in_all_contexts,
    check_same_seed_same_episode,
    check_contexts_do_not_leak,
    check_every_dimension_matters,
    check_reset_switches_the_context,
    check_gymnasium_has_no_objection,
    check_context_can_be_observed,
    check_settings_make_it_again,
    check_returns_are_in_their_range,
    check_twin_fits,
)


def find_missing_time_limit(family: EnvironmentFamily, space: ContextSpace) -> str | None:
    """Return a warning if episodes might never end, otherwise None.

    An environment with a time limit of Gymnasium's is not played.
    """
    context = space.middle()
    env = family.build(family.full_context(context), None)
    try:
        if _has_time_limit(env):
            return None
        env.action_space.seed(SEED)
        actions = (env.action_space.sample() for _ in range(STEPS_TO_AN_END))
        if any(terminated or truncated for *_, terminated, truncated in _steps(env, actions)):
            return None
    finally:
        env.close()
    return (
        f"The environment {family.name!r} has no time limit: in the context {context} an episode "
        f"of random actions did not end within {STEPS_TO_AN_END:,} steps. Wrap it in "
        "gymnasium.wrappers.TimeLimit(env, max_episode_steps=...)."
    )


def _has_time_limit(env: gymnasium.Env[Any, Any]) -> bool:
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return True
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            return True
        env = env.env
    return False


def _require(condition: object, message: str) -> None:
    if not condition:
        raise FamilyError(message)


def _ends(space: ContextSpace) -> tuple[dict[str, float], dict[str, float]]:
    """Return the contexts with the lowest and with the highest value of every dimension."""
    low, high = zip(*space.bounds.values(), strict=True)
    return space.context(low), space.context(high)


# -- episodes ----------------------------------------------------------------------------


def _actions(env: gymnasium.Env[Any, Any], hold: int) -> list[Any]:
    """Draw actions for an episode: random ones if held for one step, else extremes in turns."""
    space = env.action_space
    space.seed(SEED)
    extremes: tuple[Any, Any] | None = None
    if isinstance(space, spaces.Discrete):
        extremes = space.start, space.start + space.n - 1
    elif isinstance(space, spaces.Box) and space.is_bounded():
        extremes = space.low, space.high
    if hold == 1 or extremes is None:
        drawn = [space.sample() for _ in range(0, STEPS, hold)]
        return [action for action in drawn for _ in range(hold)]
    return [extremes[step // hold % 2] for step in range(STEPS)]


def _steps(
    env: gymnasium.Env[Any, Any],
    actions: Iterable[Any],
    seed: int = SEED,
    options: dict[str, Any] | None = None,
) -> Iterator[Step]:
    """Play an episode; its first step is the reset."""
    observation, _ = env.reset(seed=seed, options=options)
    # Copies: an environment may change the array that it gave.
    yield deepcopy(observation), 0.0, False, False
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        yield deepcopy(observation), float(reward), bool(terminated), bool(truncated)
        if terminated or truncated:
            return


def _play(*episode: Any) -> list[Step]:
    return list(_steps(*episode))


def find_difference(
    first: gymnasium.Env[Any, Any],
    second: gymnasium.Env[Any, Any],
    *,
    hold: int = 4,
    seed: int = SEED,
) -> int | None:
    """Find the first step at which the same seed and actions lead to different episodes.

    Args:
        first: An environment.
        second: One to compare it with.
        hold: Number of steps for which each action is held.
        seed: Seed of both episodes.

    Returns:
        The step, or None if the episodes are the same.
    """
    actions = _actions(first, hold)
    return _first_difference(_play(first, actions, seed), _play(second, actions, seed))


def _first_difference(first: list[Step], second: list[Step]) -> int | None:
    for number, steps in enumerate(itertools.zip_longest(first, second)):
        if not data_equivalence(*steps, exact=True):
            return number
    return None
