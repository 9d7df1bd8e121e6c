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
from collections.abc import Iterator, Mapping
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
    known, spec = getattr(env, "spec", None), {}
    if known is not None:
        arguments = {name: _as_data(value) for name, value in known.kwargs.items()}
        limit = known.max_episode_steps
        spec = {"id": known.id, "max_episode_steps": limit, "arguments": arguments}
    maker: Any = family.made_by()
    while isinstance(maker, partial):
        maker = maker.func
    maker = maker if hasattr(maker, "__qualname__") else type(maker)
    made = type(getattr(env, "unwrapped", env))
    env.close()
    return {
        "source": {**_source(made), **_source(maker)},
        "data": family.data_fingerprints(),
        "spec": spec,
        "packages": versions(sorted({*_packages(maker), *_packages(made)}), python=False),
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
    return changes, [
        f"{name} {recorded['packages'].get(name, 'none')} -> {now['packages'].get(name, 'none')}"
        for name in sorted({*recorded["packages"], *now["packages"]})
        if recorded["packages"].get(name) != now["packages"].get(name)
    ]


def _packages(maker: Any) -> list[str]:
    """Return the distributions that a class or function comes from."""
    name = maker.__module__
    top = name.split(".")[0]
    physics = [package for module, package in _PHYSICS.items() if name.startswith(module)]
    if top in ("sdmbtl", "gymnasium"):
        return ["gymnasium", top, *physics]
    return ["gymnasium", *packages_distributions().get(top, ())]


def _as_data(value: object) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return type(value).__name__


# -- source code ---------------------------------------------------------------------------


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
        path = _file_of(module, folder)
        belongs = is_single_file or module.split(".")[0] == top
        if path is not None and belongs and module not in found:
            text = path.read_text(encoding="utf-8")
            found[module] = _hash(text)
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            waiting += _imported(text, package)
    return found


def _file_of(module: str, folder: Path) -> Path | None:
    path = folder.joinpath(*module.split("."))
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((each for each in candidates if each.is_file()), None)


def _imported(text: str, package: str) -> Iterator[str]:
    """Yield the names of modules that may be imported by the source code of a package's module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parent = ".".join(parts[: len(parts) - node.level + 1])
                base = f"{parent}.{base}".strip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _hash(source: str) -> str:
    """Hash source code without comments, docstrings and layout."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # the lines of a lambda may be part of a call
        return hashlib.sha256(source.encode()).hexdigest()[:16]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                statement
                for statement in node.body
                if not (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                )
            ]
    return hashlib.sha256(ast.dump(tree, annotate_fields=False).encode()).hexdigest()[:16]
