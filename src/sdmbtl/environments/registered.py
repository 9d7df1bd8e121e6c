"""Environments that are registered with Gymnasium: found by name, and made."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec

from sdmbtl.by_name import import_named_module
from sdmbtl.errors import FamilyError

#: Names that are shown if an environment is not known.
NEAR_NAMES = 5

#: Parts of Gymnasium that need a package more, and the extra of ours that installs it.
_EXTRAS = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}


def find_registered(name: str) -> EnvSpec:
    """The specification of a registered environment.

    Args:
        name: "LunarLander-v3"; without the version, the latest one; "module:Name-v0" imports the
            module that registers it first.

    Raises:
        FamilyError: If there is none; it lists similar names.
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
        near = difflib.get_close_matches(own_name, gymnasium.registry, n=NEAR_NAMES)
        similar = f" Similar names: {', '.join(near)}." if near else ""
        raise FamilyError(
            f"Gymnasium has no environment {own_name!r}: {error}{similar} One of your own is given "
            "with the module that registers it: gym:module:Name-v0."
        ) from None


def with_version(name: str) -> str:
    """The name with its latest version, if it has none."""
    if name in gymnasium.registry:
        return name
    versions = [s for s in gymnasium.registry.values() if s.id.rpartition("-v")[0] == name]
    return max(versions, key=lambda s: s.version or 0).id if versions else name


def load_creator(spec: EnvSpec) -> Callable[..., Any]:
    """The class or function that makes a registered environment.

    Raises:
        FamilyError: If a package that it needs is missing; it says what to install.
    """
    if callable(spec.entry_point):
        return spec.entry_point
    module, _, attribute = str(spec.entry_point).partition(":")
    try:
        with warnings.catch_warnings():
            # Box2D warns while it is imported, and crashes if warnings are errors.
            warnings.simplefilter("ignore")
            value: Any = importlib.import_module(module)
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        raise FamilyError(f"{spec.id} cannot be made: {error} {_way_to_install(spec)}") from None
    for part in attribute.split("."):
        value = getattr(value, part)
    creator: Callable[..., Any] = value
    return creator


def _way_to_install(spec: EnvSpec) -> str:
    for module, extra in _EXTRAS.items():
        if str(spec.entry_point).startswith(module):
            return f"Install what it needs with: pip install 'sdmbtl[{extra}]'"
    return "Install the package that it needs."


def make_registered(
    spec: EnvSpec, render_mode: str | None, arguments: Mapping[str, Any]
) -> gymnasium.Env[Any, Any]:
    """Make a registered environment, with its time limit.

    Args:
        spec: As of `find_registered`.
        render_mode: As in Gymnasium.
        arguments: Passed to the class, or to `gymnasium.make`.

    Raises:
        FamilyError: If a package is missing.
    """
    load_creator(spec)
    given = dict(arguments)
    if render_mode is not None:  # environments that cannot be drawn need not take one
        given["render_mode"] = render_mode
    with _without_deprecations_of_mujoco():
        return gymnasium.make(spec, disable_env_checker=True, **given)


def is_registered_everywhere(spec: EnvSpec) -> bool:
    """Whether other processes know it too: those of Gymnasium, and ours."""
    return str(spec.entry_point).startswith(("gymnasium.", "sdmbtl."))


@contextmanager
def _without_deprecations_of_mujoco() -> Iterator[None]:
    """Drop what MuJoCo says of a model's old attributes.

    It would be printed, and written to a file in the current directory, for every environment
    that is made. The models are Gymnasium's: there is nothing that a user could do.
    """
    mujoco: Any = sys.modules.get("mujoco")
    if mujoco is None:
        yield
        return

    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    # Not where they are said: there, an error would end the process.
    for message in said:
        if "deprecated" not in message:
            warnings.warn(f"MuJoCo: {message}", stacklevel=4)


def update_constants_of_mujoco(env: gymnasium.Env[Any, Any]) -> None:
    """Let MuJoCo compute again what depends on masses and sizes; of other environments nothing."""
    mujoco: Any = sys.modules.get("mujoco")
    model, data = (getattr(env.unwrapped, name, None) for name in ("model", "data"))
    if mujoco is not None and isinstance(model, mujoco.MjModel):
        mujoco.mj_setConst(model, data)


class Arguments(NamedTuple):
    """What a registered environment takes.

    Attributes:
        known: The keyword arguments by name, with the values that it is registered with.
        others: Whether it may take others too.
    """

    known: dict[str, inspect.Parameter]
    others: bool


def arguments_of(spec: EnvSpec) -> Arguments:
    """The keyword arguments of a registered environment, and `max_episode_steps`.

    Where a constructor passes others on, those of the classes that it is derived from count too.
    """
    creator = load_creator(spec)
    makers: list[Any] = [creator]
    if isinstance(creator, type):
        makers = [vars(c)["__init__"] for c in creator.__mro__[:-1] if "__init__" in vars(c)]
    found: dict[str, inspect.Parameter] = {}
    passes_on = bool(makers)
    for maker in makers:
        parameters = inspect.signature(maker).parameters.values()
        # What a class needs of those that are derived from it is not the user's to give.
        taken = (
            p for p in parameters if _is_keyword(p) and (not found or p.default is not p.empty)
        )
        found = {p.name: p for p in taken} | found
        passes_on = any(p.kind is p.VAR_KEYWORD for p in parameters)
        if not passes_on:
            break
    for name in ("self", "render_mode"):
        found.pop(name, None)
    known = {n: p.replace(default=spec.kwargs.get(n, p.default)) for n, p in found.items()}
    limit = inspect.Parameter(
        "max_episode_steps",
        inspect.Parameter.KEYWORD_ONLY,
        default=spec.max_episode_steps,
        annotation=int,
    )
    return Arguments({**known, limit.name: limit}, passes_on)


def _is_keyword(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
