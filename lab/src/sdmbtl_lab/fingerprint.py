"""A hash of the code that makes some numbers, to tell results of different code apart.

What counts is the modules that are named and everything they import, directly or not, inside the
same package; for a module that is a single file, in the same folder. Imports are read from the
source, nothing is executed. Comments, docstrings and the layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path


def code_fingerprint(*modules: str, stop_at: Collection[str] = ()) -> str:
    """A short hash of modules and of what they import from their own package.

    Args:
        *modules: Names of modules, or of packages: all their modules. The top-level package must
            be importable.
        stop_at: Modules whose imports are not followed, such as a registry, which imports
            everything that has a name.
    """
    return _fingerprint(tuple(sorted(set(modules))), frozenset(stop_at))


def import_closure(*modules: str, stop_at: Collection[str] = ()) -> frozenset[str]:
    """The names of modules, and of those that they import from their own package.

    What an `__init__.py` only passes on counts as imported from where it is defined.

    Args:
        *modules: As of `code_fingerprint`.
        stop_at: As of `code_fingerprint`.
    """
    waiting = [inner for module in modules for inner in _with_submodules(module)]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            if module not in stop_at:
                waiting += _imported(module)
    return frozenset(found)


@cache
def _fingerprint(modules: tuple[str, ...], stop_at: frozenset[str]) -> str:
    digest = hashlib.sha256()
    for module in sorted(import_closure(*modules, stop_at=stop_at)):
        digest.update(module.encode())
        tree = _without_docstrings(_tree(module))
        digest.update(ast.dump(tree, annotate_fields=False).encode())
    return digest.hexdigest()[:16]


def _imported(module: str) -> Iterator[str]:
    """Modules of the same package that a module imports; for the type checker only is not."""
    for node in _executed(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if _path(a.name, module) is not None)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                origin = _origin(_absolute(node, module), alias.name)
                if _path(origin, module) is not None:
                    yield origin


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """The full name of what `from X import` is about, in this module."""
    name = "." * node.level + (node.module or "")
    path = _path(module)
    package = module if path is not None and path.name == "__init__.py" else _parent(module)
    try:
        return resolve_name(name, package)
    except ImportError:  # beyond the top: an error when it is imported, too
        return name


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _origin(module: str, name: str) -> str:
    """The module that `from module import name` is about."""
    if _path(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    path = _path(module)
    is_package = path is not None and path.name == "__init__.py"
    for node in _tree(module).body if is_package else ():
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                source = _absolute(node, module)
                if (alias.asname or alias.name) == name and source != module:
                    return _origin(source, alias.name)
    return module


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but those below `if TYPE_CHECKING:`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree without docstrings, and without strings that are statements by themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [s for s in node.body if not _is_text(s)]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _with_submodules(module: str) -> list[str]:
    """A module; for a package, all modules in it."""
    path = _path(module)
    if path is None or path.name != "__init__.py":
        return [module]
    folder = path.parent
    parts = (p.relative_to(folder).with_suffix("").parts for p in folder.rglob("*.py"))
    return [".".join([module, *inner]).removesuffix(".__init__") for inner in parts]


def _tree(module: str) -> ast.Module:
    """The syntax of a module; empty if it has no source, as what is typed into a shell."""
    path = _path(module)
    return ast.parse(b"" if path is None else path.read_bytes())


def _path(module: str, importer: str | None = None) -> Path | None:
    """The file of a module, None if there is none or it is of another package than `importer`."""
    top, *inner = module.split(".")
    if importer is not None and not _belong_together(top, importer.split(".")[0]):
        return None
    base = _location(top)
    if base is None or base.is_file():
        return None if inner else base
    path = base.joinpath(*inner)
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def _belong_together(top: str, other: str) -> bool:
    """Return if two top-level names are one, or the second is a single file next to the first."""
    if top == other:
        return True
    file = _location(other)
    if file is None or not file.is_file():
        return False
    place = _location(top)
    return place is not None and place.parent == file.parent


@cache
def _location(top: str) -> Path | None:
    """The folder of a package, or the file of a module; None if it is not one."""
    try:
        spec = find_spec(top)
    except ValueError:  # __main__, or nothing at all
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    is_source = spec.origin is not None and spec.origin.endswith(".py")
    return Path(str(spec.origin)) if is_source else None
