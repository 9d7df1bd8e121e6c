"""Trainers by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from sdmbtl.checks import known_name, known_options
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError
from sdmbtl.training.base import Trainer

AUTO = "auto"


class _Entry(NamedTuple):
    """Where a trainer is, which package it needs, and which extra of ours installs that.

    The place is that of its class, or of a function that finds the class for a family.
    """

    place: str
    package: str
    extra: str


_TRAINERS = {
    "ppo": _Entry("sdmbtl.training.ppo:find_ppo_form", "jax", "jax"),
    "sb3": _Entry(
        "sdmbtl.training.stable_baselines:StableBaselinesTrainer", "stable_baselines3", "sb3"
    ),
}


def trainer_names() -> tuple[str, ...]:
    """Every name that `make_trainer` knows."""
    return (AUTO, *_TRAINERS)


def make_trainer(
    name: str, family: EnvironmentFamily, space: ContextSpace, **options: Any
) -> Trainer:
    """Make a trainer by name, with the settings that the family recommends for it.

    Args:
        name: One of `trainer_names()`. "auto" is "ppo" if JAX is installed, otherwise "sb3".
        family: The environments.
        space: The context space.
        **options: Settings of that trainer, before those of `family.training`. Of settings that
            are mappings, such as hyperparameters, single entries are replaced. With another
            `algorithm` than the recommended one, nothing is taken from the family.

    Raises:
        TrainerError: If the name or an option is unknown, or a package is missing.
    """
    known_name("trainer", name, trainer_names(), error=TrainerError)
    chosen = recommended_trainer() if name == AUTO else name
    settings = _merge_settings(family.training.get(chosen, {}), options)
    return trainer_from_settings(chosen, family, space, settings)


def trainer_from_settings(
    name: str, family: EnvironmentFamily, space: ContextSpace, settings: Mapping[str, Any]
) -> Trainer:
    """Make a trainer again from its `settings()`, whatever the family recommends by now."""
    found = trainer_class(name, family)
    _check_options(name, found, settings)
    return found(family, space, **settings)


def recommended_trainer() -> str:
    """The trainer that "auto" stands for."""
    return "ppo" if _is_installed("ppo") else "sb3"


def _is_installed(name: str) -> bool:
    return find_spec(_TRAINERS[name].package) is not None


def trainer_class(name: str, family: EnvironmentFamily | None = None) -> type[Trainer]:
    """The class of a trainer.

    Args:
        name: One of `trainer_names()`, except "auto".
        family: The environments; some trainers have another form for those that are pure
            functions.

    Raises:
        TrainerError: If the name is unknown, or a package is missing.
    """
    known_name("trainer", name, tuple(_TRAINERS), error=TrainerError)
    entry = _TRAINERS[name]
    if not _is_installed(name):
        raise TrainerError(
            f"The trainer {name!r} needs {entry.package}, which is not installed. Install it "
            f"with: pip install 'sdmbtl[{entry.extra}]'"
        )
    module, _, attribute = entry.place.partition(":")
    found: type[Trainer] | Callable[[EnvironmentFamily | None], type[Trainer]]
    found = getattr(import_module(module), attribute)
    return found if isinstance(found, type) else found(family)


def _merge_settings(recommended: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    algorithm = recommended.get("algorithm", "PPO")
    if options.get("algorithm", algorithm) != algorithm:
        return dict(options)
    merged = {**recommended, **options}
    for name, value in options.items():
        if isinstance(value, Mapping) and isinstance(recommended.get(name), Mapping):
            merged[name] = {**recommended[name], **value}
    return merged


def _check_options(name: str, found: type[Trainer], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(found).parameters
    for own in ("family", "space"):
        if own in options:
            raise TrainerError(f"{own!r} is not a setting of the trainer {name!r}. Leave it out.")
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # the trainer checks them itself
    known = [p for p in parameters if p not in ("family", "space")]
    known_options(name, options, known, error=TrainerError)
