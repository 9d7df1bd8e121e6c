"""Environment families by name: ours, and those of plug-ins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from sdmbtl import plugins
from sdmbtl.checks import did_you_mean, known_options, short_text
from sdmbtl.contexts import ContextSpace, SpaceLike
from sdmbtl.environments.acrobot import Acrobot
from sdmbtl.environments.bipedal_walker import BipedalWalker
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.drone import Drone
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.gymnasium_family import PREFIX, GymnasiumFamily
from sdmbtl.environments.mountain_car import MountainCar
from sdmbtl.environments.mujoco_families import Ant, HalfCheetah, Hopper
from sdmbtl.environments.pendulum import Pendulum
from sdmbtl.environments.registered import (
    constructor_arguments,
    find_registered,
    is_registered_everywhere,
    with_version,
)
from sdmbtl.errors import FamilyError

FamilyFactory = Callable[..., EnvironmentFamily]

#: The families of this package by name.
OWN: dict[str, FamilyFactory] = {
    family.name: family
    for family in (
        CartPole,
        Drone,
        Pendulum,
        Acrobot,
        MountainCar,
        BipedalWalker,
        Hopper,
        HalfCheetah,
        Ant,
    )
}

#: The group of plug-ins that are families.
GROUP = "environments"

#: Options of a family that are data of this package, whatever the environment.
_OWN_OPTIONS = ("dimensions", "space", "return_range")


def family_names() -> tuple[str, ...]:
    """Return every name that `make_family` knows; plug-ins that cannot be loaded are left out."""
    loaded = [name for name in plugins.installed(GROUP) if plugins.load(GROUP, name) is not None]
    return tuple(dict.fromkeys([*OWN, *loaded]))


def make_family(
    name: str, /, *, space: SpaceLike | None = None, **options: Any
) -> EnvironmentFamily:
    """Make a family by name.

    Args:
        name: One of `family_names()`, in any case; "gym:LunarLander-v3", an environment that is
            registered with Gymnasium (see `GymnasiumFamily`); or "module:function", a function of
            your own that makes the environment of a context (see `FactoryFamily`).
        space: The default space: a `ContextSpace`, its `to_dict()`, the path of a TOML file, or
            one of the family's spaces by name. The last two kinds of names need one.
        **options: Settings of that family; of "gym:" arguments of the environment.

    Raises:
        FamilyError: If the name or an option is unknown.

    Example:
        >>> make_family("cartpole", physics="carl").settings()
        {'name': 'CartPole', 'options': {'physics': 'carl'}}
    """
    name = str(name)  # a value of another type is an unknown name
    if ":" in name:
        is_registered = name.startswith(PREFIX)
        if space is None:
            arguments = ""
            if is_registered:
                known, _ = constructor_arguments(find_registered(name.removeprefix(PREFIX)))
                shown = ", ".join(f"{n}={p.default!r}" for n, p in known.items())
                arguments = f" Each is an argument ({shown}) or has the 'path' of an attribute."
            raise FamilyError(
                f"The environments of {name!r} need a context space: --space FILE.toml, or "
                "space=..., a ContextSpace or the path of a TOML file with a table "
                f"[dimensions.NAME] for each dimension.{arguments}"
            )
        if is_registered:
            return GymnasiumFamily(name, space, **options)
        known_options(name, options, ("return_range",), error=FamilyError)
        return FactoryFamily(name, space, **options)
    # Names are known without case, hyphens and underscores; no plug-in is imported to compare.
    plain = str.maketrans("", "", "-_")
    own_names = {own.lower().translate(plain): own for own in (*plugins.installed(GROUP), *OWN)}
    known_name = own_names.get(name.lower().translate(plain))
    if known_name is None:
        names = (*OWN, *plugins.installed(GROUP))
        hint = did_you_mean(name, names)
        if name in gymnasium.registry:
            hint = f" Did you mean '{PREFIX}{name}'?"
        raise FamilyError(
            f"Unknown environment family {name!r}; known: {', '.join(names)}, 'gym:NAME' for "
            f"those of Gymnasium, or 'module:function' for your own.{hint}"
        )
    factory = OWN.get(known_name) or plugins.load(GROUP, known_name)
    if factory is None:
        raise FamilyError(f"The family {known_name!r} is of a plug-in that cannot be loaded.")
    parameters = inspect.signature(factory).parameters
    if all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        named = [p for p in parameters if p != "space"]
        known_options(known_name, options, named, error=FamilyError)
    return factory(**options) if space is None else factory(space=space, **options)


def can_be_made_anywhere(family: EnvironmentFamily) -> bool:
    """Return True if `make_family` makes the family again in another process.

    A subclass of a family may have the same name, and is another one.
    """
    if isinstance(family, GymnasiumFamily):
        return family.is_known_everywhere
    if isinstance(family, FactoryFamily):
        return ":" in family.name
    maker = OWN.get(family.name)
    if maker is None and family.name in plugins.installed(GROUP):
        maker = plugins.load(GROUP, family.name)
    # A function of a plug-in may make any class.
    return maker is not None and (type(family) is maker or not isinstance(maker, type))


def register_environments() -> None:
    """Register the families with Gymnasium: `gymnasium.make("sdmbtl/CartPole-v0", context=...)`.

    Their keywords are those of `EnvironmentFamily.make` and the options of the family. Plug-ins
    are registered by name, without importing them.
    """
    for name in sorted({*OWN, *plugins.installed(GROUP)}):
        identifier = f"sdmbtl/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="sdmbtl.environments.registry:make_environment",
                kwargs={"family": name},
            )


def make_environment(
    family: str,
    context: Mapping[str, float] | None = None,
    observe_context: bool | ContextSpace = False,
    render_mode: str | None = None,
    **options: Any,
) -> ContextualEnv:
    """Make an environment of a family by name: the entry point for Gymnasium."""
    return make_family(family, **options).make(
        context, observe_context=observe_context, render_mode=render_mode
    )


def code_of_family(family: Mapping[str, Any]) -> list[str]:
    """List what `make_family(name, **options)` would import or call, in words.

    Nothing is imported. Families of this package and of plug-ins, and environments of Gymnasium
    with numbers as arguments, name nothing.

    Args:
        family: "name" and "options", as recorded.
    """
    name, options = family["name"], family["options"]
    if not name.startswith(PREFIX):
        return [f"the function {name!r}"] if ":" in name else []
    found = []
    module, _, environment = name.removeprefix(PREFIX).rpartition(":")
    spec = gymnasium.registry.get(with_version(environment))
    if module:
        found.append(f"the module {module!r}")
    elif spec is not None and not is_registered_everywhere(spec):
        found.append(f"the environment {name!r}, made by {spec.entry_point}")
    for argument, value in options.items():
        # A text may be the name of a file, or of something that the environment imports.
        if argument not in _OWN_OPTIONS and not isinstance(value, int | float | None):
            found.append(f"the argument {argument}={short_text(value)} of {name!r}")
    places = options.get("dimensions")
    for place in places.values() if isinstance(places, Mapping) else ():
        path = place.get("path") if isinstance(place, Mapping) else place
        if isinstance(path, str) and not path.isidentifier():
            found.append(f"the attribute {path!r} of {name!r}")
    return found
