"""Versions of the installed software: other versions may give other numbers."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

#: Packages that choices depend on, and further ones that training depends on.
CORE = ("sdmbtl", "numpy", "scipy")
TRAINING = (
    *("gymnasium", "jax", "jaxlib", "optax", "stable-baselines3", "torch"),
    *("box2d", "mujoco", "libsumo"),
)


def versions(packages: Iterable[str] = CORE, *, python: bool = True) -> dict[str, str]:
    """Return the versions of those packages that are installed, and of Python."""
    found = {"python": platform.python_version()} if python else {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
