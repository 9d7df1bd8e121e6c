"""Every setting of a trainer: its default, what suits a family, and its meaning."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from sdmbtl.docstrings import read_arguments
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError
from sdmbtl.training.base import Trainer
from sdmbtl.training.registry import trainer_class


@dataclass(frozen=True)
class Setting:
    """A setting of a trainer.

    Attributes:
        name: Its name, as --set and `make_trainer` take it.
        default: What it is if nothing is said; None where the trainer decides.
        meaning: What it does.
        recommended: What is recommended for the family; None if that is the default.
    """

    name: str
    default: Any
    meaning: str
    recommended: Any = None


def list_settings(
    name: str, family: EnvironmentFamily | None = None, algorithm: str | None = None
) -> list[Setting]:
    """Every setting of a trainer.

    Args:
        name: Name of the trainer.
        family: The environments, for which recommended settings are listed too.
        algorithm: For a trainer that has several, the one whose hyperparameters are listed; if
            left out, the recommended or usual one.

    Raises:
        TrainerError: If there is no such trainer or algorithm, or a package is missing.
    """
    found = trainer_class(name, family)
    recommended = {} if family is None else found.recommended_settings(family)
    settings = [s for s in _own_settings(found) if s.name != "hyperparameters"]
    usual = {s.name: s.default for s in settings}.get("algorithm")
    if usual is not None:
        if algorithm is not None and algorithm != recommended.get("algorithm", usual):
            recommended = {}  # they are for their algorithm, as in `make_trainer`
        settings += _algorithm_settings(algorithm or recommended.get("algorithm", usual))
    elif algorithm is not None:
        raise TrainerError(f"The trainer {name!r} has one algorithm. Leave {algorithm!r} out.")
    values = _flat(recommended)
    return [Setting(s.name, s.default, s.meaning, values.get(s.name)) for s in settings]


def _own_settings(found: type[Trainer]) -> list[Setting]:
    """The keyword arguments of a trainer, and the fields of its `settings_class`."""
    meanings = read_arguments(found)
    parameters = inspect.signature(found).parameters
    own = [
        Setting(name, parameters[name].default, meanings.get(name, ""))
        for name in found.own_settings()
    ]
    if found.settings_class is None:
        return own
    meanings = read_arguments(found.settings_class)
    more = [
        Setting(f.name, None if f.default is MISSING else f.default, meanings.get(f.name, ""))
        for f in fields(found.settings_class)
        if f.name not in parameters  # which has its own default for it
    ]
    return own + more


def _algorithm_settings(algorithm: str) -> list[Setting]:
    """The hyperparameters of an algorithm of Stable-Baselines3, ours by their names first."""
    from sdmbtl.policies.stable_baselines_names import algorithm_class
    from sdmbtl.training.stable_baselines_settings import (
        LEAST_UPDATES,
        argument_defaults,
        common_names,
    )

    meanings = read_arguments(algorithm_class(algorithm))
    names = common_names(algorithm)
    ours = {theirs: name for name, theirs in names.items()}
    defaults = argument_defaults(algorithm)
    if "num_steps" in names and "minibatch_size" in names:
        for theirs in (names["num_steps"], names["minibatch_size"]):
            fits = f"If left out, it fits total_timesteps: at least {LEAST_UPDATES} updates."
            meanings[theirs] = f"{meanings.get(theirs, '').rstrip('.')}. {fits}"
            defaults[theirs] = None
    settings = [
        Setting(
            ours.get(theirs, f"hyperparameters.{theirs}"),
            default,
            meanings.get(theirs, ""),
        )
        for theirs, default in defaults.items()
    ]
    return sorted(settings, key=lambda setting: "." in setting.name)


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the names that --set takes: what is inside of others, with a dot."""
    flat = {n: v for n, v in settings.items() if n != "hyperparameters"}
    inner = settings.get("hyperparameters", {})
    return flat | {f"hyperparameters.{n}": v for n, v in inner.items()}
