"""The software around: versions, which may change numbers, and notebooks."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version

#: Packages that choices depend on, and further ones that training depends on.
CORE = ("sdmbtl", "numpy", "scipy")
TRAINING = (
    *("gymnasium", "jax", "jaxlib", "optax", "stable-baselines3", "torch"),
    *("box2d", "mujoco", "libsumo"),
)
#: Reading a version takes longer than a record of a study.
_version = cache(version)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def versions(packages: Iterable[str] = CORE, *, python: bool = True) -> dict[str, str]:
    """Return the versions of those packages that are installed, and of Python."""
    found = {"python": platform.python_version()} if python else {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = _version(name)
    return found
