"""Functions and classes by a text "module:name".

Naming code runs it, so as little as possible can be named: functions and classes that a module of
one's own or of an installed package defines or passes on. The standard library, which can start
programs and delete files, is never reached, neither by its own name nor through another module.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.errors import SdmbtlError


def import_by_name(name: str, role: str, *, example: str, error: type[SdmbtlError]) -> Any:
    """Import the function or class "module:name", also from the current directory.

    This runs the module: use it for names that the user wrote, or trusts.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute.isidentifier():
        raise error(
            f"A {role} is a function or class at the top of a module, given as 'module:function', "
            f"for example {example!r}. Got {name!r} instead."
        )
    what = f"the {role} {name!r}"
    module = import_named_module(module_name, what, error=error)
    if not hasattr(module, attribute):
        known = [n for n in dir(module) if not n.startswith("_")]
        raise error(
            f"{module_name!r} has no {attribute!r}, needed for {what}."
            f"{did_you_mean(attribute, known)}"
        )
    value = getattr(module, attribute)
    if not inspect.isfunction(value) and not isinstance(value, type):
        raise error(
            f"A {role} must be a function or a class. {name!r} is {short_text(value)}. Write a "
            "function that uses it."
        )
    if _is_of_python(str(value.__module__)):
        raise error(
            f"{name!r} is {value.__module__}.{value.__qualname__} of Python's standard library, "
            f"which is not used as a {role}. Write a function of your own."
        )
    return value


def import_named_module(name: str, needed_for: str, *, error: type[SdmbtlError]) -> ModuleType:
    """Import a module of one's own or of an installed package."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise error(f"{name!r}, needed for {needed_for}, is not the name of a module.")
    directory = str(Path.cwd())
    if _is_of_python(name):
        raise error(
            f"The module {name!r}, needed for {needed_for}, is one of Python itself, which is "
            "not imported by name. Name a module of your own, or of a package."
        )
    sys.path.insert(0, directory)  # as `python script.py` would
    try:
        # Written a moment ago, a module may be missing in what Python remembers of the folder.
        importlib.invalidate_caches()
        return importlib.import_module(name)
    except Exception as cause:
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise error(
                f"There is no module {missing!r}, needed for {needed_for}. Modules are looked for "
                f"where Python looks for them and in {directory!r}."
            ) from None
        raise error(
            f"The module of {needed_for} cannot be imported: {type(cause).__name__}: {cause}"
        ) from cause
    finally:
        sys.path.remove(directory)


def _is_of_python(module: str) -> bool:
    """Return True if a module belongs to Python, or is the program that runs."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("__main__", "builtins", "test")
