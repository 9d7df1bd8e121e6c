"""What names of algorithms and classes stand for, in settings and in policy files.

Names in a policy file are looked up, never imported: a file from elsewhere runs no code. A policy
class of one's own is imported when a trainer is made with its name, for that name is the user's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import stable_baselines3
import torch
from stable_baselines3.common import torch_layers
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy

from sdmbtl.by_name import import_by_name
from sdmbtl.checks import did_you_mean, known_name, short_text
from sdmbtl.errors import PolicyError

ALGORITHMS = ("PPO", "A2C", "SAC", "TD3", "DDPG", "DQN")

#: Those of the package sb3-contrib.
CONTRIB_ALGORITHMS = ("TRPO", "TQC", "CrossQ", "QRDQN", "ARS")

#: Algorithms that cannot be used, and why.
_REFUSED = {
    "RecurrentPPO": "its policies remember what they saw before, and a policy here acts on one "
    "observation alone. Stack the last observations in the environment, and use PPO.",
    "MaskablePPO": "its policies need the actions that are allowed besides the observation, which "
    "a policy here is not given. Let the environment ignore other actions, and use PPO.",
}

#: Policy classes of the user's own, by name: those that `trust_policy_class` imported.
_TRUSTED: dict[str, type[BasePolicy]] = {}


def algorithm_class(name: str) -> type[BaseAlgorithm]:
    """An algorithm by name.

    Raises:
        PolicyError: If it is unknown, not usable, or its package is not installed.
    """
    if name in _REFUSED:
        raise PolicyError(f"The algorithm {name!r} cannot be used: {_REFUSED[name]}")
    known_name("algorithm", name, (*ALGORITHMS, *CONTRIB_ALGORITHMS), error=PolicyError)
    if name in ALGORITHMS:
        found: type[BaseAlgorithm] = getattr(stable_baselines3, name)
        return found
    if find_spec("sb3_contrib") is None:
        raise PolicyError(
            f"The algorithm {name!r} needs sb3-contrib, which is not installed. Install it with: "
            "pip install 'sdmbtl[contrib]'"
        )
    contributed: type[BaseAlgorithm] = getattr(importlib.import_module("sb3_contrib"), name)
    return contributed


def policy_class_of(algorithm: str, policy: str) -> type[BasePolicy]:
    """The class that an algorithm has under a short name, or a trusted one of the user's own.

    Raises:
        PolicyError: If there is none.
    """
    aliases = algorithm_class(algorithm).policy_aliases
    if ":" not in policy:
        known_name("policy", policy, aliases, has=f"{algorithm} has", error=PolicyError)
        return aliases[policy]
    if policy not in _TRUSTED:
        raise PolicyError(
            f"The policy's class {policy!r} is not one of Stable-Baselines3's, and names in policy "
            "files are not imported. If you trust it, call first: from "
            "sdmbtl.policies.stable_baselines_names import trust_policy_class; "
            f"trust_policy_class({policy!r})"
        )
    return _TRUSTED[policy]


def trust_policy_class(name: str) -> type[BasePolicy]:
    """Import a policy class of one's own, so that policies of this class can be loaded.

    Args:
        name: "module:Class", importable also from the current directory.

    Raises:
        PolicyError: If there is no such class.
    """
    if name not in _TRUSTED:
        example = "my_networks:WidePolicy"
        found = import_by_name(name, "policy class", example=example, error=PolicyError)
        if not isinstance(found, type) or not issubclass(found, BasePolicy):
            raise PolicyError(
                f"A policy class is a subclass of a policy of Stable-Baselines3, for example of "
                f"ActorCriticPolicy. {name!r} is {short_text(found)}."
            )
        _TRUSTED[name] = found
    return _TRUSTED[name]


def policy_name_of(model: BaseAlgorithm) -> str:
    """The name by which `policy_class_of` finds the class of a model's policy.

    Raises:
        PolicyError: If there is none.
    """
    named = {**model.policy_aliases, **_TRUSTED}
    found = [name for name, policy in named.items() if policy is model.policy_class]
    if not found:
        raise PolicyError(
            "A policy can be kept if its class is one of Stable-Baselines3's own: "
            f"{', '.join(model.policy_aliases)}, or one that trust_policy_class('module:Class') "
            f"imported. Got {model.policy_class.__name__} instead."
        )
    return found[0]


# -- classes in the arguments of a policy ------------------------------------------------


@cache
def _known_classes() -> dict[str, type]:
    """The classes that JSON data may name; no other name is ever looked up."""
    named = [
        *((torch.nn, n) for n in torch.nn.modules.activation.__all__),
        *((torch_layers, n) for n in ("FlattenExtractor", "NatureCNN", "CombinedExtractor")),
        *((torch.optim, n) for n, c in vars(torch.optim).items() if _is_optimizer(c)),
    ]
    return {f"{module.__name__}.{name}": getattr(module, name) for module, name in named}


def _is_optimizer(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, torch.optim.Optimizer)


def classes_from_names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of arguments of a policy with the class instead of each name.

    Raises:
        PolicyError: If a text is not the name of a known class.
    """
    return {name: _convert(value, _class_of) for name, value in arguments.items()}


def names_from_classes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of arguments of a policy with the name instead of each class.

    Raises:
        PolicyError: If one is neither a number nor a known class.
    """
    return {name: _convert(value, _name_of) for name, value in arguments.items()}


def _convert(value: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _convert(inner, leaf) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_convert(inner, leaf) for inner in value]
    return leaf(value)


def _class_of(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    known = _known_classes()
    if value not in known:
        raise PolicyError(
            f"Unknown class {value!r} in 'policy_kwargs'. Name an activation as 'torch.nn.ReLU', "
            "an optimizer as 'torch.optim.AdamW', or a features extractor as "
            f"'{torch_layers.__name__}.NatureCNN'. Other classes belong into a policy class of "
            f"your own, policy='module:Class'.{did_you_mean(value, known)}"
        )
    return known[value]


def _name_of(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    for name, known in _known_classes().items():
        if value is known:
            return name
    raise PolicyError(
        "A policy can be kept if its arguments are numbers, activations of torch.nn and features "
        f"extractors of Stable-Baselines3. Got {short_text(value)} instead."
    )
