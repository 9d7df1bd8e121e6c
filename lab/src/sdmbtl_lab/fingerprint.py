"""A hash of the code that makes some numbers, to tell results of different code apart."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def code_fingerprint(*modules: str) -> str:
    """Return a short hash of modules; of a package, of all modules in it.

    Nothing is executed. Comments, docstrings and the layout do not count.
    """
    digest = hashlib.sha256()
    for module in sorted(set(modules)):
        digest.update(module.encode())
        for path in _files(module):
            digest.update(_hash_source(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _hash_source(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                n
                for n in node.body
                if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
            ]
    return hashlib.sha256(ast.dump(tree, annotate_fields=False).encode()).hexdigest()[:16]


def _files(module: str) -> Iterator[Path]:
    """Yield the files of a module, in order; none if it is what is typed into a shell."""
    try:
        spec = find_spec(module)
    except ValueError:  # __main__
        return
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from sorted(Path(folder).rglob("*.py"))
    if spec and not spec.submodule_search_locations and str(spec.origin).endswith(".py"):
        yield Path(str(spec.origin))
