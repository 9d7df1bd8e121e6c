"""Identity of the code that makes environments, to notice when it is no longer the same.

It has hashes of your own source code, and of the files that the environments are made from.
Installed packages are not part of it: the record of a study names their versions.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.software import hash_source


def identify(family: EnvironmentFamily, context: Mapping[str, float]) -> dict[str, Any]:
    """Describe the code of a family's environments, as JSON data; one is made, to look at it.

    Returns:
        "source": a hash of each of your modules, or of a function that has no module;
        "content": a hash of each file that the family's options name.
    """
    env: Any = family.build(family.full_context(context), None)
    maker: Any = family.made_by()
    while isinstance(maker, partial):
        maker = maker.func
    maker = maker if hasattr(maker, "__qualname__") else type(maker)
    made = type(getattr(env, "unwrapped", env))
    close_quietly(env)
    return {"source": {**_source(made), **_source(maker)}, "content": family.data_fingerprints()}


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
            return {maker.__qualname__: hash_source(inspect.getsource(maker))}
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
            found[module] = hash_source(text)
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
