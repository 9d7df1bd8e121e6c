"""The software around: versions and source code, which may change numbers, and notebooks."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
import textwrap
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


def hash_source(source: str) -> str:
    """Hash source code without comments, docstrings and layout."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # the lines of a lambda may be part of a call
        return hashlib.sha256(source.encode()).hexdigest()[:16]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = [n for n in node.body if isinstance(n, ast.Expr)]
            constants = [n for n in texts if isinstance(n.value, ast.Constant)]
            node.body = [n for n in node.body if n not in constants]
    return hashlib.sha256(ast.dump(tree, annotate_fields=False).encode()).hexdigest()[:16]
