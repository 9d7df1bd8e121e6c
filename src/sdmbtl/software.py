"""With what software something was made: other versions may give other numbers."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

#: What choices depend on, and what training depends on besides.
CORE = ("sdmbtl", "numpy", "scipy")
TRAINING = (
    *("gymnasium", "jax", "jaxlib", "optax", "stable-baselines3", "torch"),
    *("box2d", "mujoco", "libsumo"),
)


def versions(packages: Iterable[str] = CORE, *, python: bool = True) -> dict[str, str]:
    """The version of each of these packages that is installed, and of Python."""
    found = {"python": platform.python_version()} if python else {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
