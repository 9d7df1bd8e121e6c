"""Executors by name."""

from __future__ import annotations

import inspect
from typing import Any

from sdmbtl.checks import known_name, known_options
from sdmbtl.errors import ExecutorError
from sdmbtl.execution.base import Executor
from sdmbtl.execution.process_executor import ProcessExecutor
from sdmbtl.execution.serial_executor import SerialExecutor

_NAMES = ("serial", "processes", "ray")


def executor_names() -> tuple[str, ...]:
    """The names that `make_executor` knows."""
    return _NAMES


def make_executor(name: str, workers: int = 1, **options: Any) -> Executor:
    """Make an executor.

    Args:
        name: "serial", "processes" or "ray".
        workers: Number of tasks at once.
        **options: Its other settings: `time_limit`, `memory_limit`, `address`, `cpus`, `gpus`.

    Raises:
        ExecutorError: If there is none of this name, or a setting is not one of it.
        MissingPackageError: If it needs a package that is not installed.
    """
    known_name("executor", name, _NAMES, error=ExecutorError)
    given = {key: value for key, value in options.items() if value is not None}
    if name == "serial" and workers != 1:
        raise ExecutorError(
            f"The executor 'serial' does one task at a time. Got workers={workers!r}; use "
            "'processes' for more."
        )
    kind = _executor_class(name)
    settings = tuple(n for n in inspect.signature(kind).parameters if n != "workers")
    known_options(name, given, settings, error=ExecutorError)
    return kind(**given) if name == "serial" else kind(workers, **given)


def _executor_class(name: str) -> type[Executor]:
    if name == "ray":
        from sdmbtl.execution.ray_executor import RayExecutor

        return RayExecutor
    return {"serial": SerialExecutor, "processes": ProcessExecutor}[name]
