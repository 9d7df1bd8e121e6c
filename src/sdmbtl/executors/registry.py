"""Executors by name."""

from __future__ import annotations

from typing import Any

from sdmbtl.checks import known_name
from sdmbtl.errors import ExecutorError
from sdmbtl.executors.base import Executor
from sdmbtl.executors.process_executor import ProcessExecutor
from sdmbtl.executors.serial_executor import SerialExecutor

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
    try:
        if name == "serial":
            return SerialExecutor(**given)
        if name == "processes":
            return ProcessExecutor(workers, **given)
        from sdmbtl.executors.ray_executor import RayExecutor

        return RayExecutor(workers, **given)
    except TypeError:
        raise ExecutorError(
            f"The executor {name!r} has no setting {' or '.join(map(repr, given))}. 'processes' "
            "has time_limit and memory_limit, 'ray' has time_limit, address, cpus and gpus."
        ) from None
