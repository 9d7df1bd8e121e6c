"""Checks of a family of environments: one for each context, and nothing shared between them."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace, SpaceLike, read_space
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registry import can_be_made_anywhere, make_family
from sdmbtl.errors import FamilyError

#: Steps of an episode that are compared, and its seed.
STEPS, SEED = 200, 7
#: Numbers of steps for which actions are held: only swings come near speed limits.
HOLDS = (1, 2, 4, 8, 16, 32, 64)

#: One step: observation, reward, terminated, truncated.
Step = tuple[Any, float, bool, bool]


@dataclass(frozen=True)
class ContextualEnvReport:
    """Result of `check_contextual_env`.

    Attributes:
        first_difference: For each dimension, the first step at which its lowest and its highest
            value lead to different observations or rewards; 0 is the reset.
        warnings: Remarks of Gymnasium's own checker.
    """

    first_difference: dict[str, int]
    warnings: tuple[str, ...]


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
        FamilyError: If a check fails, with the fix.

    Example:
        >>> report = check_contextual_env("cartpole")
        >>> report.first_difference
        {'length': 1, 'masscart': 1, 'masspole': 1}
        >>> check_contextual_env(make_family("cartpole", physics="carl"))
        Traceback (most recent call last):
        sdmbtl.errors.FamilyError: The dimension 'masscart' does nothing: ...
    """
    if isinstance(environments, EnvironmentFamily):
        family = environments
        by_name = space is None or isinstance(space, str)
        contexts = family.space(space) if by_name else read_space(space)[0]  # type: ignore[arg-type]
    elif isinstance(environments, str):
        family = make_family(environments, space=space)
        contexts = family.space()
    elif callable(environments) and space is not None:
        family = FactoryFamily(environments, space)
        contexts = family.space()
    else:
        raise FamilyError(
            "Give a family, the name of one, or a function of a context together with its space. "
            f"Got {short_text(environments)} instead."
        )
    check_spaces_are_constant(family, contexts)
    check_episodes_are_reproduced(family, contexts)
    first_difference = check_every_dimension_matters(family, contexts)
    check_reset_switches_the_context(family, contexts)
    check_settings_make_it_again(family, contexts)
    return ContextualEnvReport(first_difference, collect_gymnasium_remarks(family, contexts))


# -- the checks, in the order in which they run; each raises FamilyError -------------------


def check_spaces_are_constant(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Check that observations and actions have one form; otherwise no policy could transfer."""
    contexts = (space.middle(), *_ends(space))
    envs = [family.build(family.full_context(context), None) for context in contexts]
    for kind in ("observation_space", "action_space"):
        first, *others = [getattr(env, kind) for env in envs]
        for context, other in zip(contexts[1:], others, strict=True):
            if other != first:
                raise FamilyError(
                    f"The {kind} depends on the context: {first} for {contexts[0]}, {other} for "
                    f"{context}. A policy of one context could not act in another; use bounds "
                    "that hold for all."
                )
    if len({id(env.unwrapped) for env in envs}) < len(envs):
        raise FamilyError(
            f"{family.name!r} returns the same environment for several contexts. Environments of "
            "several contexts are played side by side: make a new one in each call."
        )
    for env in envs:
        close_quietly(env)


def check_episodes_are_reproduced(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Check that an episode follows from seed, context and actions, whatever else is played."""
    low, high = _ends(space)
    alone: dict[int, list[Step]] = {}
    together: tuple[list[Step], list[Step]] = [], []
    for number, context in enumerate((low, high)):
        env = family.make(context)
        alone[number] = list(_play(env))
        for again, name in (
            (env, "a second reset of the same environment"),
            (family.make(context), "a new environment"),
        ):
            step = _first_difference(alone[number], _play(again))
            if step is not None:
                raise FamilyError(
                    f"The same seed and actions do not give the same episode: {name} differs at "
                    f"step {step}, in the context {context}. Call super().reset(seed=seed) and "
                    "draw every random number from self.np_random."
                )
    other: Iterator[Step] = iter(())
    for number, played in enumerate(_play(family.make(low))):
        together[0].append(played)
        if number == 1:  # another one is made meanwhile, and played in turns
            other = _play(family.make(high))
        together[1].extend(itertools.islice(other, 1))
    together[1].extend(other)
    for number, context in enumerate((low, high)):
        step = _first_difference(alone[number], together[number])
        if step is not None:
            raise FamilyError(
                f"Contexts leak between environments: the one of {context} differs from step "
                f"{step} on if one of another context is made and played in turns with it. Keep "
                "what depends on the context in the instance, not in a class or a module."
            )


def check_every_dimension_matters(family: EnvironmentFamily, space: ContextSpace) -> dict[str, int]:
    """Find for each dimension the first step at which its ends lead to different episodes."""
    found = {}
    for d, name in enumerate(space.names):
        contexts = _differing(space, d)
        if contexts is None:
            continue
        first, second = [family.make(context) for context in contexts]
        # Another seed each time: in some episodes there may be nothing that could differ.
        differences = (
            _first_difference(
                _play(first, hold=hold, seed=seed), _play(second, hold=hold, seed=seed)
            )
            for seed, hold in enumerate(HOLDS, SEED)
        )
        step = next((at for at in differences if at is not None), None)
        if step is None:
            low, high = (short_text(context[name]) for context in contexts)
            raise FamilyError(
                f"The dimension {name!r} does nothing: {low} and {high} give the same "
                f"observations and rewards in {STEPS} steps of {len(HOLDS)} action sequences. It "
                f"is {family.describe_feature(name)}. Check that the environment uses the value, "
                "and not one computed before it was set; or drop the dimension."
            )
        found[name] = step
    return found


def check_reset_switches_the_context(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Check that the context of a reset is in force until another one is given."""
    low, high = _ends(space)
    env = family.make(low)
    list(_play(env))
    cases: tuple[tuple[dict[str, Any] | None, int, str], ...] = (
        ({"context": high}, SEED, "After reset(options={'context': ...})"),
        (None, SEED + 1, "At the next reset, without a context,"),
    )
    for options, seed, when in cases:
        switched = _play(env, seed=seed, options=options)
        step = _first_difference(_play(family.make(high), seed=seed), switched)
        if step is not None:
            raise FamilyError(
                f"{when} the environment is not that of {high}: it differs from a new one at "
                f"step {step}."
            )


def check_settings_make_it_again(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Check that the settings are JSON, and that another process makes the same family of them."""
    if not can_be_made_anywhere(family):
        return  # a function or a class of this process
    settings = json.loads(json.dumps(family.settings()))
    again = make_family(settings["name"], **settings["options"])
    target = space.target(-1)
    step = _first_difference(_play(family.make(target)), _play(again.make(target)))
    if again.settings() != settings or step is not None:
        raise FamilyError(
            f"make_family(name, **options) of {settings} makes other environments. Return from "
            "'options' whatever the constructor was given."
        )


def collect_gymnasium_remarks(family: EnvironmentFamily, space: ContextSpace) -> tuple[str, ...]:
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
    close_quietly(env)
    plain = (re.sub(r"\x1b\[\d+m(WARN: )?", "", str(remark.message)) for remark in remarks)
    return tuple(dict.fromkeys(plain))


# -- contexts and episodes to compare ------------------------------------------------------


def _ends(space: ContextSpace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contexts with the lowest and with the highest value of every dimension.

    If one of them is not valid, a target near it takes its place.
    """
    ends = np.array(list(space.bounds.values())).T
    low, high = (
        end if valid else space.targets[space.nearest(end)]
        for end, valid in zip(ends, space.allows(ends), strict=True)
    )
    return space.context(low), space.context(high)


def _differing(space: ContextSpace, d: int) -> list[dict[str, Any]] | None:
    """Return two valid contexts, as far apart as possible in one dimension, equal in the others.

    They are the ends of the dimension through the middle of the space, or two targets; None if
    there are no such contexts.
    """
    low, high = list(space.bounds.values())[d]
    ends = np.repeat(space.vector(space.middle())[None], 2, axis=0)
    ends[:, d] = low, high
    if low < high and not space.allows(ends).all():
        others = np.delete(space.positions, d, axis=1).round(9)
        order = np.lexsort((space.positions[:, d], *others.T))
        _, first, counts = np.unique(others[order], axis=0, return_index=True, return_counts=True)
        last = first + counts - 1
        along = space.positions[order, d]
        widest = int(np.argmax(along[last] - along[first]))
        ends = space.targets[order[[first[widest], last[widest]]]]
    return None if ends[0, d] == ends[1, d] else [space.context(end) for end in ends]


def _play(
    env: gymnasium.Env[Any, Any],
    *,
    hold: int = 4,
    seed: int = SEED,
    options: dict[str, Any] | None = None,
) -> Iterator[Step]:
    """Play an episode with actions held for some steps; its first step is the reset.

    Actions are random if they are held for one step, otherwise extremes in turns.
    """
    space = env.action_space
    space.seed(SEED)
    match space:
        case spaces.Discrete() if hold > 1:
            held = [space.start, space.start + space.n - 1] * STEPS
        case spaces.Box() if hold > 1 and space.is_bounded():
            held = [space.low, space.high] * STEPS
        case _:
            held = [space.sample() for _ in range(0, STEPS, hold)]
    observation, _ = env.reset(seed=seed, options=options)
    yield _copy(observation), 0.0, False, False
    for step in range(STEPS):
        observation, reward, terminated, truncated, _ = env.step(held[step // hold])
        yield _copy(observation), float(reward), bool(terminated), bool(truncated)
        if terminated or truncated:
            return


def _copy(observation: Any) -> Any:
    """Copy an observation, which an environment may change later; arrays of JAX become NumPy's."""
    if isinstance(observation, Mapping):
        return {name: _copy(part) for name, part in observation.items()}
    if isinstance(observation, tuple):
        return tuple(map(_copy, observation))
    return np.array(observation) if hasattr(observation, "__array__") else deepcopy(observation)


def _first_difference(first: Iterable[Step], second: Iterable[Step]) -> int | None:
    """Return the number of the first step that is not the same in both episodes, or None."""
    for number, steps in enumerate(itertools.zip_longest([*first], [*second])):
        if not data_equivalence(*steps, exact=True):
            return number
    return None
