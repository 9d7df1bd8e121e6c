"""A task as it travels: the name of a function and its arguments, a result or an error as data."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from typing import Any

from sdmbtl.execution.reporting import told_to

#: The name of a function, and its arguments.
Call = tuple[str, tuple[Any, ...]]


def do(call: Call, listener: Callable[[Any], None]) -> tuple[str, Any]:
    """Do a task: "result" and what it returned, or "error" and what it raised, as data.

    Args:
        call: Name of the function, and its arguments.
        listener: Called with what the task reports.
    """
    name, arguments = call
    module, _, function = name.partition(":")
    try:
        with told_to(listener):
            return "result", getattr(importlib.import_module(module), function)(*arguments)
    except Exception as error:  # noqa: BLE001 (who submitted the task decides)
        return "error", describe_error(error)


def describe_error(error: BaseException) -> dict[str, str]:
    """An error as data."""
    kind = type(error)
    return {
        "module": kind.__module__,
        "name": kind.__qualname__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def rebuild_error(data: dict[str, str]) -> Exception:
    """The error that `describe_error` described; of the same type if it is ours or builtin."""
    kind: Any = None
    if data["module"] in ("builtins", "sdmbtl.errors"):
        kind = getattr(importlib.import_module(data["module"]), data["name"], None)
    try:
        error: Exception = kind(data["message"])
    except TypeError:
        error = RuntimeError(f"{data['name']}: {data['message']}")
    error.add_note(f"In a worker:\n{data['traceback']}")
    return error
