"""Environment families by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from sdmbtl import plugins
from sdmbtl.checks import did_you_mean, known_options
from sdmbtl.contexts import ContextSpace, SpaceLike
from sdmbtl.environments.acrobot import Acrobot
from sdmbtl.environments.bipedal_walker import BipedalWalker
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.gymnasium_family import PREFIX, GymnasiumFamily
from sdmbtl.environments.half_cheetah import HalfCheetah
from sdmbtl.environments.hopper import Hopper
from sdmbtl.environments.mountain_car import MountainCar
from sdmbtl.environments.pendulum import Pendulum
from sdmbtl.environments.registered import arguments_of, find_registered
from sdmbtl.errors import FamilyError

FamilyFactory = Callable[..., EnvironmentFamily]

#: The families of this package, registered with Gymnasium as "sdmbtl/NAME-v0".
OWN_FAMILIES: tuple[type[EnvironmentFamily], ...] = (
    CartPole,
    Pendulum,
    Acrobot,
    MountainCar,
    BipedalWalker,
    Hopper,
    HalfCheetah,
)

#: Families that `register_family` made known in this process.
_FACTORIES: dict[str, FamilyFactory] = {}


def installed_families() -> dict[str, FamilyFactory]:
    """Return the families of this package and of installed plug-ins, by name."""
    loaded = {
        name: plugins.load("environments", name) for name in plugins.installed("environments")
    }
    own = {family.name: family for family in OWN_FAMILIES}
    return own | {name: family for name, family in loaded.items() if family is not None}


def family_names() -> tuple[str, ...]:
    """Return every name that `make_family` knows."""
    return tuple(_factories())


def is_registered(name: str) -> bool:
    """Whether `make_family` knows a name, in any case, as that of a family."""
    return _plain(name) in map(_plain, _factories())


def is_of_this_package(name: str) -> bool:
    """Whether a name, in any case, is that of a family of this package."""
    return _plain(name) in set(map(_plain, installed_families()))


def _factories() -> dict[str, FamilyFactory]:
    return installed_families() | _FACTORIES


def register_family(name: str, factory: FamilyFactory) -> None:
    """Make a family of your own known by name.

    Args:
        name: A new name.
        factory: Called as `factory(**options)`, with `space=` if one was given.
    """
    if ":" in name:
        raise FamilyError(f"A family's name has no ':', as 'module:function' has. Got {name!r}.")
    if is_registered(name):
        raise FamilyError(f"There is a family {name!r} already. Choose another name.")
    _FACTORIES[name] = factory


def make_family(
    name: str, /, *, space: SpaceLike | None = None, **options: Any
) -> EnvironmentFamily:
    """Make a family by name.

    Args:
        name: One of `family_names()`, in any case; "gym:LunarLander-v3", an environment that is
            registered with Gymnasium (see `GymnasiumFamily`); or "module:function", a function of
            one's own that makes the environment of a context (see `FactoryFamily`).
        space: The default space: a `ContextSpace`, its `to_dict()`, the path of a TOML file, or
            one of the family's spaces by name. The last two kinds of names need one.
        **options: Settings of that family; of "gym:" arguments of the environment.

    Raises:
        FamilyError: If the name or an option is unknown.

    Example:
        >>> make_family("cartpole", physics="carl").settings()
        {'name': 'CartPole', 'options': {'physics': 'carl'}}
    """
    if isinstance(name, str) and name.startswith(PREFIX):
        return _make_from_gymnasium(name, space, options)
    if isinstance(name, str) and ":" in name:
        return _make_from_function(name, space, options)
    by_plain = {_plain(known): known for known in _factories()}
    known = by_plain.get(_plain(str(name)))
    if known is None:
        hint = did_you_mean(name, _factories())
        if name in gymnasium.registry:
            hint = f" Did you mean '{PREFIX}{name}'?"
        raise FamilyError(
            f"Unknown environment family {name!r}; known: {', '.join(_factories())}, 'gym:NAME' for "
            f"those of Gymnasium, or 'module:function' for your own.{hint}"
        )
    factory = _factories()[known]
    _check_options(known, factory, options)
    return factory(**options) if space is None else factory(space=space, **options)


def can_be_made_anywhere(family: EnvironmentFamily) -> bool:
    """Whether `make_family` makes it again in another process.

    A subclass of a family of this package may have the same name, and is another one.
    """
    return has_known_name(family) and (
        ":" in family.name or type(family) in installed_families().values()
    )


def has_known_name(family: EnvironmentFamily) -> bool:
    """Whether `make_family` knows its name in every process.

    It knows the families of this package and what can be imported by name, but nothing that was
    registered here.
    """
    try:
        name = family.settings()["name"]
    except FamilyError:
        return False
    if isinstance(family, GymnasiumFamily):
        return family.is_known_everywhere
    return ":" in name or name in installed_families()


def register_environments() -> None:
    """Register the families with Gymnasium: `gymnasium.make("sdmbtl/CartPole-v0", context=...)`.

    Their keywords are those of `EnvironmentFamily.make` and the options of the family.
    """
    names = {family.name for family in OWN_FAMILIES} | set(plugins.installed("environments"))
    for name in sorted(names):
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
    observe_context: bool | str | ContextSpace = False,
    render_mode: str | None = None,
    **options: Any,
) -> ContextualEnv:
    """Make an environment of a family by name: what Gymnasium calls."""
    return make_family(family, **options).make(
        context, observe_context=observe_context, render_mode=render_mode
    )


def _make_from_gymnasium(
    name: str, space: SpaceLike | None, options: Mapping[str, Any]
) -> EnvironmentFamily:
    if space is None:
        known = arguments_of(find_registered(name.removeprefix(PREFIX))).known
        arguments = ", ".join(f"{n}={p.default!r}" for n, p in known.items())
        raise FamilyError(
            f"The environments of {name!r} need a context space: --space FILE.toml, or space=..., "
            "a ContextSpace or the path of a TOML file with a table [dimensions.NAME] for each "
            f"dimension, which is an argument ({arguments}) or has the 'path' of an attribute."
        )
    return GymnasiumFamily(name, space, **options)


def _make_from_function(
    name: str, space: SpaceLike | None, options: Mapping[str, Any]
) -> EnvironmentFamily:
    if space is None:
        raise FamilyError(
            f"The environments of {name!r} need a context space. Give space=..., a ContextSpace "
            "or the path of a TOML file."
        )
    _check_options(name, FactoryFamily, options)
    return FactoryFamily(name, space, **options)


def _check_options(name: str, factory: FamilyFactory, options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    known = [p for p in parameters if p not in ("space", "factory")]
    for needed, parameter in parameters.items():
        if parameter.default is parameter.empty and needed not in (*options, "space", "factory"):
            raise FamilyError(f"{name!r} needs the option {needed!r}.")
    known_options(name, options, known, error=FamilyError)


def _plain(name: str) -> str:
    """A name without case, hyphens and underscores: bipedal-walker is BipedalWalker."""
    return name.lower().replace("-", "").replace("_", "")
