"""Whether environments are what selection needs: one for each context, and nothing shared."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace, SpaceLike, read_space
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registry import make_family
from sdmbtl.errors import FamilyError

#: Steps of an episode that are compared.
STEPS = 200

#: Actions are held for so many steps: swings have to be met to come near speed limits.
HOLDS = (1, 2, 4, 8, 16, 32, 64)

SEED = 7

#: One step: observation, reward, terminated, truncated.
Step = tuple[Any, float, bool, bool]


@dataclass(frozen=True)
class ContextualEnvReport:
    """What `check_contextual_env` found in order.

    Attributes:
        passed: The checks, as sentences.
        first_difference: For each dimension, the first step at which its lowest and its highest
            value lead to different observations or rewards; 0 is the reset.
        warnings: What Gymnasium's own checker remarked.
    """

    passed: tuple[str, ...]
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
        FamilyError: If a check fails; the message says which, and how to repair it.

    Example:
        >>> report = check_contextual_env("cartpole")
        >>> report.first_difference
        {'length': 1, 'masscart': 1, 'masspole': 1}
        >>> check_contextual_env(make_family("cartpole", physics="carl"))
        Traceback (most recent call last):
        sdmbtl.errors.FamilyError: The dimension 'masscart' does nothing: ...
    """
    family, contexts = family_and_space(environments, space)
    check_spaces_are_the_same_in_all_contexts(family, contexts)
    check_same_seed_same_episode(family, contexts)
    # Before the dimensions: one that leaks looks as if it did nothing.
    check_contexts_do_not_leak(family, contexts)
    first_difference = check_every_dimension_matters(family, contexts)
    check_reset_switches_the_context(family, contexts)
    remarks = check_gymnasium_has_no_objection(family, contexts)
    return ContextualEnvReport(
        (
            "Observation and action spaces are the same in all contexts.",
            "The same seed and actions lead to the same episode.",
            "Environments of different contexts do not influence each other.",
            "Every dimension changes observations or rewards.",
            "reset(options={'context': ...}) switches the context, which then stays.",
            "Gymnasium's checker has no objection.",
        ),
        first_difference,
        remarks,
    )


def family_and_space(
    environments: object, space: SpaceLike | None
) -> tuple[EnvironmentFamily, ContextSpace]:
    """What is to be checked as a family, and the contexts to check it with.

    Raises:
        FamilyError: If it is none, or a function without a space.
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
            "What is checked is a family, the name of one, or a function of a context. "
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
    """What a policy sees and does has one form, or no policy could be transferred."""
    contexts = (_middle(space), *_ends(space))
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
        episodes = [_play(env, actions), _play(env, actions), _play(family.make(context), actions)]
        where = ("a second reset of the same environment", "a new environment")
        for name, episode in zip(where, episodes[1:], strict=True):
            step = _first_difference(episodes[0], episode)
            if step is not None:
                raise FamilyError(
                    f"The same seed and actions do not give the same episode: {name} differs at "
                    f"step {step}, in the context {context}. Call super().reset(seed=seed) and "
                    "draw every random number from self.np_random."
                )


def check_every_dimension_matters(family: EnvironmentFamily, space: ContextSpace) -> dict[str, int]:
    """For each dimension, the first step at which its ends lead to different episodes."""
    found, middle = {}, _middle(space)
    for name, (low, high) in space.bounds.items():
        if low == high:
            continue
        envs = [family.make({**middle, name: value}) for value in (low, high)]
        differences = (episodes_differ_at(*envs, hold=hold) for hold in HOLDS)
        step = next((d for d in differences if d is not None), None)
        if step is None:
            raise FamilyError(
                f"The dimension {name!r} does nothing: {low:g} and {high:g} give the same "
                f"observations and rewards in {STEPS} steps of {len(HOLDS)} action sequences. "
                "Check that the environment uses the value, and not one computed before it was "
                "set; or drop the dimension."
            )
        found[name] = step
    return found


def check_contexts_do_not_leak(family: EnvironmentFamily, space: ContextSpace) -> None:
    """Environments of several contexts may be in use at the same time."""
    low, high = _ends(space)
    alone = []
    for context in (low, high):
        env = family.make(context)
        actions = _actions(env, hold=4)
        alone.append(_play(env, actions))
    both = [family.make(context) for context in (low, high)]
    together: tuple[list[Step], list[Step]] = ([], [])
    for steps in itertools.zip_longest(*(_steps(env, actions) for env in both)):
        for episode, step in zip(together, steps, strict=True):
            if step is not None:
                episode.append(step)
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
    """What Gymnasium's own checker remarks, without its colours."""
    env = family.make(_middle(space))
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


def _middle(space: ContextSpace) -> dict[str, float]:
    return space.context(space.from_unit([0.5] * space.n_dimensions))


def _ends(space: ContextSpace) -> tuple[dict[str, float], dict[str, float]]:
    """The contexts with the lowest and with the highest value of every dimension."""
    low, high = zip(*space.bounds.values(), strict=True)
    return space.context(low), space.context(high)


# -- episodes ----------------------------------------------------------------------------


def _actions(env: gymnasium.Env[Any, Any], hold: int) -> list[Any]:
    """Actions for an episode: random ones if held for one step, extremes in turns if longer."""
    space = env.action_space
    space.seed(SEED)
    extremes = _extremes(space)
    if hold == 1 or extremes is None:
        drawn = [space.sample() for _ in range(0, STEPS, hold)]
        return [action for action in drawn for _ in range(hold)]
    return [extremes[step // hold % 2] for step in range(STEPS)]


def _extremes(space: spaces.Space[Any]) -> tuple[Any, Any] | None:
    """The two ends of an action space, if it has any."""
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.Box) and space.is_bounded():
        return space.low, space.high
    return None


def _play(
    env: gymnasium.Env[Any, Any],
    actions: Iterable[Any],
    seed: int = SEED,
    options: dict[str, Any] | None = None,
) -> list[Step]:
    """An episode; its first step is the reset."""
    return list(_steps(env, actions, seed, options))


def _steps(
    env: gymnasium.Env[Any, Any],
    actions: Iterable[Any],
    seed: int = SEED,
    options: dict[str, Any] | None = None,
) -> Iterator[Step]:
    observation, _ = env.reset(seed=seed, options=options)
    yield _copied(observation), 0.0, False, False
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        yield _copied(observation), float(reward), bool(terminated), bool(truncated)
        if terminated or truncated:
            return


def _copied(observation: Any) -> Any:
    """An observation that the environment cannot change any more."""
    is_array = isinstance(observation, np.ndarray)
    copied: NDArray[Any] = observation.copy() if is_array else observation
    return copied


def episodes_differ_at(
    first: gymnasium.Env[Any, Any], second: gymnasium.Env[Any, Any], *, hold: int = 4
) -> int | None:
    """The first step at which the same seed and actions lead to different episodes, or None.

    Args:
        first: An environment.
        second: One to compare it with.
        hold: For how many steps each action is held.
    """
    actions = _actions(first, hold)
    return _first_difference(_play(first, actions), _play(second, actions))


def _first_difference(first: list[Step], second: list[Step]) -> int | None:
    """The first step at which two episodes are not exactly the same, or None."""
    for number, steps in enumerate(itertools.zip_longest(first, second)):
        if not data_equivalence(*steps, exact=True):
            return number
    return None
