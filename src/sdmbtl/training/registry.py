"""Trainers by name, and their settings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sdmbtl import plugins
from sdmbtl.checks import known_name, known_options
from sdmbtl.contexts import ContextSpace
from sdmbtl.docstrings import read_arguments
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError
from sdmbtl.training.base import Trainer

AUTO = "auto"


#: Place of a trainer's class, the package it needs, and our extra.
_TRAINERS = {
    "ppo": ("sdmbtl.training.ppo.gymnasium_env:GymnasiumPPO", "jax", "jax"),
    "sb3": ("sdmbtl.training.sb3:SB3Trainer", "stable_baselines3", "sb3"),
}
#: The form of "ppo" for families with a JAX twin.
_JAX_FORM = "sdmbtl.training.ppo.jax_env:JaxEnvPPO"


def trainer_names() -> tuple[str, ...]:
    """Return every name that `make_trainer` knows, installed plug-ins included."""
    return tuple(dict.fromkeys([AUTO, *_TRAINERS, *plugins.installed("trainers")]))


def recommended_trainer() -> str:
    """Return the trainer that "auto" stands for: "ppo" if JAX is installed, otherwise "sb3"."""
    return "ppo" if find_spec("jax") is not None else "sb3"


def make_trainer(
    name: str, family: EnvironmentFamily, space: ContextSpace, **options: Any
) -> Trainer:
    """Make a trainer by name, with the settings that the family recommends for it.

    Args:
        name: One of `trainer_names()`. "auto" is "ppo" if JAX is installed, otherwise "sb3".
        family: The environments.
        space: The context space.
        **options: Settings of that trainer, before those of `family.training`. With another
            `algorithm` than the recommended one, nothing is taken from the family.

    Raises:
        TrainerError: If the name or an option is unknown, or a package is missing.
    """
    known_name("trainer", name, trainer_names(), error=TrainerError)
    chosen = recommended_trainer() if name == AUTO else name
    recommended = family.training.get(chosen, {})
    algorithm = recommended.get("algorithm", "PPO")
    if options.get("algorithm", algorithm) != algorithm:
        recommended = {}
    return trainer_from_settings(chosen, family, space, {**recommended, **options})


def trainer_from_settings(
    name: str, family: EnvironmentFamily, space: ContextSpace, settings: Mapping[str, Any]
) -> Trainer:
    """Make a trainer again from its `settings()`, whatever the family recommends by now."""
    found = trainer_class(name, family)
    parameters = inspect.signature(found).parameters
    for own in ("family", "space"):
        if own in settings:
            raise TrainerError(f"{own!r} is not a setting of the trainer {name!r}. Leave it out.")
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        known_options(name, settings, found.own_settings(), error=TrainerError)
    return found(family, space, **settings)


def trainer_class(name: str, family: EnvironmentFamily | None = None) -> type[Trainer]:
    """Return the class of a trainer.

    Raises:
        TrainerError: If the name is unknown, or a package is missing.
    """
    known_name("trainer", name, trainer_names()[1:], error=TrainerError)
    found: type[Trainer] | None
    if name in _TRAINERS:
        place, package, extra = _TRAINERS[name]
        if find_spec(package) is None:
            raise TrainerError(
                f"The trainer {name!r} needs {package}, which is not installed. Install it with: "
                f"pip install 'sdmbtl[{extra}]'"
            )
        if name == "ppo" and family is not None and family.functional() is not None:
            place = _JAX_FORM
        module, _, attribute = place.partition(":")
        found = getattr(import_module(module), attribute)
    else:
        found = plugins.load("trainers", name)
    if found is None:
        raise TrainerError(f"The plug-in of the trainer {name!r} cannot be loaded. Reinstall it.")
    return found


@dataclass(frozen=True)
class Setting:
    """A setting of a trainer.

    `default` is None where the trainer decides, `recommended` where the default is recommended.
    """

    name: str
    default: Any
    meaning: str
    recommended: Any = None


def list_settings(
    name: str, family: EnvironmentFamily | None = None, algorithm: str | None = None
) -> list[Setting]:
    """List every setting of a trainer, with those recommended for a family.

    Of a trainer with several algorithms, the hyperparameters are those of the given one, or of the
    recommended or usual one.

    Raises:
        TrainerError: If there is no such trainer or algorithm, or a package is missing.
    """
    found = trainer_class(name, family)
    recommended = {} if family is None else found.recommended_settings(family)
    parameters, further = inspect.signature(found).parameters, found.settings_class
    described = [read_arguments(each) for each in (further, Trainer, found)]
    meanings = {name: text for each in described for name, text in each.items()}
    listed = {own: (parameters[own].default, meanings.get(own, "")) for own in found.own_settings()}
    for field in () if further is None else fields(further):
        default = None if field.default is MISSING else field.default
        listed.setdefault(field.name, (default, meanings.get(field.name, "")))
    if "algorithm" in parameters:
        usual = recommended.get("algorithm", parameters["algorithm"].default)
        if algorithm not in (None, usual):
            recommended = {}  # they are for their algorithm, as in `make_trainer`
        listed |= _list_hyperparameters(algorithm or usual)
    elif algorithm is not None:
        raise TrainerError(f"The trainer {name!r} has one algorithm. Leave {algorithm!r} out.")
    return [Setting(n, *described, recommended.get(n)) for n, described in listed.items()]


def _list_hyperparameters(algorithm: str) -> dict[str, tuple[Any, str]]:
    """List the hyperparameters of an algorithm of stable-baselines3, under CleanRL's names."""
    from sdmbtl.policies.sb3 import algorithm_class
    from sdmbtl.training.sb3 import cleanrl_names, hyperparameter_defaults

    meanings = read_arguments(algorithm_class(algorithm))
    names = {theirs: ours for ours, theirs in cleanrl_names(algorithm).items()}
    defaults = hyperparameter_defaults(algorithm)
    if "n_steps" in names and "batch_size" in names:
        defaults |= {"n_steps": None, "batch_size": None}  # which follow from total_timesteps
    return {names.get(n, n): (default, meanings.get(n, "")) for n, default in defaults.items()}
