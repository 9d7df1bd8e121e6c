"""Environments that are registered with Gymnasium: found by name, and made."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from sdmbtl.by_name import import_named_module
from sdmbtl.errors import FamilyError

#: Parts of Gymnasium that need another package, and the extra of ours that installs it.
_EXTRAS = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}

#: Parameters of constructors that are no options.
_NOT_GIVEN = ("self", "render_mode")


def find_registered(name: str) -> EnvSpec:
    """Find the specification of a registered environment.

    Args:
        name: "LunarLander-v3"; without the version, the latest one; "module:Name-v0" imports the
            module that registers it first.

    Raises:
        FamilyError: If there is none.
    """
    module, _, own_name = name.rpartition(":")
    try:
        if module:
            import_named_module(module, f"the environment {name!r}", error=FamilyError)
        with warnings.catch_warnings():
            # That there is a later version than the one asked for.
            warnings.simplefilter("ignore")
            return gymnasium.spec(with_version(own_name))
    except gymnasium.error.Error as error:
        raise FamilyError(
            f"Gymnasium has no environment {own_name!r}: {error} Give one of your own with the "
            "module that registers it: gym:module:Name-v0."
        ) from None


def with_version(name: str) -> str:
    """Return the name with its latest version, if it has none."""
    if name in gymnasium.registry:
        return name
    versions = [s for s in gymnasium.registry.values() if s.id.rpartition("-v")[0] == name]
    return max(versions, key=lambda s: s.version or 0).id if versions else name


def is_registered_everywhere(spec: EnvSpec) -> bool:
    """Return True if other processes know it too: environments of Gymnasium, and ours."""
    return str(spec.entry_point).startswith(("gymnasium.", "sdmbtl."))


def load_creator(spec: EnvSpec) -> Callable[..., Any]:
    """Import the class or function that makes a registered environment.

    Raises:
        FamilyError: If a package that it needs is missing, with the fix.
    """
    if callable(spec.entry_point):
        return spec.entry_point
    entry_point = str(spec.entry_point)
    try:
        with warnings.catch_warnings():
            # Box2D warns while it is imported, and crashes if warnings are errors.
            warnings.simplefilter("ignore")
            return load_env_creator(entry_point)
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        extras = [extra for part, extra in _EXTRAS.items() if entry_point.startswith(part)]
        install = f"pip install 'sdmbtl[{extras[0]}]'" if extras else "the package that it needs"
        raise FamilyError(f"{spec.id} cannot be made: {error} Install it with: {install}") from None


def make_registered(
    spec: EnvSpec, render_mode: str | None, arguments: Mapping[str, Any]
) -> gymnasium.Env[Any, Any]:
    """Make a registered environment, with its time limit; a `FamilyError` if a package is missing.

    MuJoCo's warnings about old attributes of Gymnasium's own models are dropped: they would be
    printed, and written to a file in the current directory, for every environment that is made.
    """
    load_creator(spec)
    given = dict(arguments)
    if render_mode is not None:  # environments that cannot be drawn need not take one
        given["render_mode"] = render_mode
    mujoco: Any = sys.modules.get("mujoco")
    if mujoco is None:
        return gymnasium.make(spec, disable_env_checker=True, **given)
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        env = gymnasium.make(spec, disable_env_checker=True, **given)
    finally:
        mujoco.set_mju_user_warning(before)
    # Not inside of MuJoCo: there, an error would end the process.
    for message in said:
        if "deprecated" not in message:
            warnings.warn(f"MuJoCo: {message}", stacklevel=2)
    return env


def update_constants_of_mujoco(env: gymnasium.Env[Any, Any]) -> None:
    """Let MuJoCo compute again what depends on masses and sizes; other environments stay."""
    mujoco: Any = sys.modules.get("mujoco")
    model, data = (getattr(env.unwrapped, name, None) for name in ("model", "data"))
    if mujoco is not None and isinstance(model, mujoco.MjModel):
        mujoco.mj_setConst(model, data)


def constructor_arguments(spec: EnvSpec) -> tuple[dict[str, inspect.Parameter], bool]:
    """Find the keyword arguments of a registered environment, and `max_episode_steps`.

    Where a constructor passes others on, those of the classes that it is derived from count too.

    Returns:
        The arguments by name, with the values that it is registered with; and True if it may take
        others too.
    """
    creator = load_creator(spec)
    makers: list[Any] = [creator]
    if isinstance(creator, type):
        makers = [vars(c)["__init__"] for c in creator.__mro__[:-1] if "__init__" in vars(c)]
    found: dict[str, inspect.Parameter] = {}
    passes_on = bool(makers)
    for maker in makers:
        parameters = inspect.signature(maker).parameters.values()
        needed = maker is makers[0]
        for p in parameters:
            # Arguments that a class needs of those derived from it are not the user's to give.
            is_given = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            if is_given and (needed or p.default is not p.empty) and p.name not in _NOT_GIVEN:
                usual = spec.kwargs.get(p.name, p.default)
                found.setdefault(p.name, p.replace(default=usual))
        passes_on = any(p.kind is p.VAR_KEYWORD for p in parameters)
        if not passes_on:
            break
    limit = inspect.Parameter("max_episode_steps", inspect.Parameter.KEYWORD_ONLY)
    found[limit.name] = limit.replace(default=spec.max_episode_steps, annotation=int)
    return found, passes_on
