"""Identity of the code that makes environments, to notice when it is no longer the same.

It has four parts: hashes of one's own source code, hashes of the files that the environments are
made from, the record of Gymnasium, and the releases of the packages.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
import textwrap
from collections.abc import Mapping
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.json_data import differences
from sdmbtl.software import versions

#: Parts of Gymnasium and the packages that compute their physics.
_PHYSICS = {"gymnasium.envs.box2d": "box2d", "gymnasium.envs.mujoco": "mujoco"}


def identify(family: EnvironmentFamily, context: Mapping[str, float]) -> dict[str, Any]:
    """Describe the code of a family's environments, as JSON data.

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
    registered, spec = getattr(env, "spec", None), {}
    if registered is not None:
        text = json.dumps(registered.kwargs, skipkeys=True, default=lambda v: type(v).__name__)
        arguments = json.loads(text)
        limit = registered.max_episode_steps
        spec = {"id": registered.id, "max_episode_steps": limit, "arguments": arguments}
    maker: Any = family.made_by()
    while isinstance(maker, partial):
        maker = maker.func
    maker = maker if hasattr(maker, "__qualname__") else type(maker)
    made = type(getattr(env, "unwrapped", env))
    env.close()
    packages = {"gymnasium"}
    for module in (maker.__module__, made.__module__):
        top = module.split(".")[0]
        is_known = top in ("sdmbtl", "gymnasium")
        packages.update([top] if is_known else packages_distributions().get(top, ()))
        packages.update(p for part, p in _PHYSICS.items() if module.startswith(part))
    return {
        "source": {**_source(made), **_source(maker)},
        "data": family.data_fingerprints(),
        "spec": spec,
        "packages": versions(sorted(packages), python=False),
    }


def compare(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """List the differences between two identities, in words.

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
    before, after = recorded["packages"], now["packages"]
    releases = [
        f"{name} {before.get(name, 'none')} -> {after.get(name, 'none')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    return changes, releases


def _source(maker: Any) -> dict[str, str]:
    """Hash the code of a class or function, unless it is of an installed package.

    A module counts with everything that it imports from its own package, directly or not; one that
    is a single file, from its own folder. Imports are read from the source, nothing is executed.
    """
    name = maker.__module__
    file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
    is_installed = not {"site-packages", "dist-packages"}.isdisjoint(file.parts)
    if is_installed or name.split(".")[0] in ("sdmbtl", "gymnasium"):
        return {}
    if file.suffix != ".py" or name == "__main__":
        try:
            return {maker.__qualname__: _hash(inspect.getsource(maker))}
        except (OSError, TypeError):  # typed into a shell
            return {}
    folder = file.parents[name.count(".") + (file.name == "__init__.py")]
    top = name.split(".")[0]
    is_single_file = (folder / f"{top}.py").is_file()
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        belongs = is_single_file or module.split(".")[0] == top
        path = folder.joinpath(*module.split("."))
        is_package = (path / "__init__.py").is_file()
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        if belongs and module not in found and path.is_file():
            text = path.read_text(encoding="utf-8")
            found[module] = _hash(text)
            package = module if is_package else module.rpartition(".")[0]
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    waiting += [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    parents = package.split(".")
                    parents = parents[: len(parents) - node.level + 1] if node.level else []
                    base = ".".join([*parents, *filter(None, [node.module])])
                    waiting += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def _hash(source: str) -> str:
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
