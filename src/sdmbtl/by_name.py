"""What a text "module:name" stands for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdmbtl.checks import did_you_mean
from sdmbtl.errors import SdmbtlError


def import_by_name(name: str, role: str, *, example: str, error: type[SdmbtlError]) -> Any:
    """Import what "module:name" stands for, also from the current directory.

    This runs the module: use it for names that the user wrote, never for one from a policy file.

    Args:
        name: The text.
        role: What it is needed as, for messages: "factory".
        example: A text of this kind, for messages.
        error: Type of the errors.

    Raises:
        SdmbtlError: Of the type `error`, if there is no such thing, or the module fails.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        kind = "module:Class" if example.partition(":")[2][:1].isupper() else "module:function"
        raise error(f"A {role} is given as {kind!r}, for example {example!r}. Got {name!r}.")
    try:
        with search_current_directory():
            value = importlib.import_module(module_name)
    except Exception as cause:
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            raise error(
                f"There is no module {missing!r}, needed for the {role} {name!r}. Modules are "
                f"looked for where Python looks for them and in {str(Path.cwd())!r}."
            ) from None
        raise error(
            f"The module of the {role} {name!r} cannot be imported: {type(cause).__name__}: {cause}"
        ) from cause
    for part in attribute.split("."):
        known = [n for n in dir(value) if not n.startswith("_")]
        if not hasattr(value, part):
            raise error(
                f"{module_name!r} has no {attribute!r}, needed for the {role} {name!r}."
                f"{did_you_mean(part, known)}"
            )
        value = getattr(value, part)
    return value


@contextmanager
def search_current_directory() -> Iterator[None]:
    """Let imports find modules of the current directory, as `python script.py` would."""
    directory = str(Path.cwd())
    sys.path.insert(0, directory)
    try:
        # Written a moment ago, a module may be missing in what Python remembers of the folder.
        importlib.invalidate_caches()
        yield
    finally:
        sys.path.remove(directory)
