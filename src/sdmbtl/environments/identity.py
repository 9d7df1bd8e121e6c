"""Which code the environments of a family are, to notice when it is no longer the same.

Four things are looked at: the source of one's own code, which is hashed; the content of files that
the environments are made from; what Gymnasium has on record of the environment; and the releases of
the packages it comes from.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import gymnasium

from sdmbtl.by_name import search_current_directory
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.fingerprint import module_fingerprints, text_fingerprint
from sdmbtl.json_data import differences
from sdmbtl.software import versions

#: Parts of Gymnasium and the packages that compute their physics.
_PHYSICS = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}


def identify(family: EnvironmentFamily, context: Mapping[str, float]) -> dict[str, Any]:
    """The code of a family's environments, as JSON data.

    Args:
        family: The environments.
        context: One for which an environment is made, to look at it.

    Returns:
        "source": a hash of each module of one's own, or of a function that has no module;
        "data": a hash of the content of each file that the family's options name;
        "spec": name, longest episode and arguments, of a registered environment;
        "packages": the versions of what it comes from.
    """
    env: Any = family.build(family.full_context(context), None)
    maker, made = _plain(family.made_by()), type(getattr(env, "unwrapped", env))
    known = getattr(env, "spec", None)
    spec = {} if known is None else _describe(known)
    env.close()
    return {
        "source": {**_source(made), **_source(maker)},
        "data": family.data_fingerprints(),
        "spec": spec,
        "packages": versions(sorted({*_packages(maker), *_packages(made)}), python=False),
    }


def compare(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What has changed between two identities, in words.

    Returns:
        Changes of one's own code or of the environment, and other releases of packages.
    """
    changes = []
    for part, word in (("source", "source"), ("data", "content")):
        before, after = recorded[part], now[part]
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                how = "has changed" if name in before else "is new"
                changes.append(f"{word} of {name} {how if name in after else 'is no longer used'}")
    changes += differences(recorded["spec"], now["spec"], "environment")
    return changes, [
        f"{name} {recorded['packages'].get(name, 'none')} -> {now['packages'].get(name, 'none')}"
        for name in sorted({*recorded["packages"], *now["packages"]})
        if recorded["packages"].get(name) != now["packages"].get(name)
    ]


def _plain(maker: object) -> Any:
    """The class or function of anything that can be called."""
    while isinstance(maker, partial):
        maker = maker.func
    return maker if hasattr(maker, "__qualname__") else type(maker)


def _source(maker: Any) -> dict[str, str]:
    """Hashes of the code of a class or function, unless it is of an installed package."""
    name = maker.__module__
    if name.split(".")[0] in ("sdmbtl", "gymnasium"):
        return {}
    file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
    if not {"site-packages", "dist-packages"}.isdisjoint(file.parts):
        return {}
    if file.suffix == ".py" and name != "__main__":
        with search_current_directory():
            others = module_fingerprints(name)
        return {**others, name: text_fingerprint(file.read_text(encoding="utf-8"))}
    try:
        return {maker.__qualname__: text_fingerprint(inspect.getsource(maker))}
    except (OSError, TypeError):  # typed into a shell
        return {}


def _packages(maker: Any) -> list[str]:
    """The packages that a class or function comes from, as they are called when installed."""
    name = maker.__module__
    top = name.split(".")[0]
    physics = [package for module, package in _PHYSICS.items() if name.startswith(module)]
    if top in ("sdmbtl", "gymnasium"):
        return ["gymnasium", top, *physics]
    return ["gymnasium", *packages_distributions().get(top, ())]


def _describe(spec: gymnasium.envs.registration.EnvSpec) -> dict[str, Any]:
    """What of a specification is data."""
    return {
        "id": spec.id,
        "max_episode_steps": spec.max_episode_steps,
        "arguments": {name: _as_data(value) for name, value in spec.kwargs.items()},
    }


def _as_data(value: object) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return type(value).__name__
