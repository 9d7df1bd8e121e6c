"""What every executor does: `concurrent.futures`, for tasks that are named functions of data."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future
from typing import Any, ClassVar

from sdmbtl.checks import check_float, check_int
from sdmbtl.errors import ExecutorError


class TaskFuture(Future[Any]):
    """The outcome of a task, and how far it is.

    Attributes:
        latest: What the task has reported last; None before that, or where nothing is reported.
    """

    def __init__(self) -> None:
        super().__init__()
        self.latest: Any = None


class Executor(FuturesExecutor):
    """Runs tasks, as many at once as it has workers, beginning with those submitted first.

    What travels is data: a task is a function at the top of a module, which is named and imported
    again where it runs, and its arguments and result are numbers, texts, bytes, arrays, and lists
    and dicts of these. A task is tried once: whoever submits it decides what is tried again.

    Args:
        workers: Number of tasks at once.
        time_limit: Seconds that a task may take; None for any number. One that takes longer is
            ended, with `WorkerLostError`, as one whose worker died.

    Raises:
        ExecutorError: If a setting is not usable.
    """

    name: ClassVar[str]

    def __init__(self, workers: int, *, time_limit: float | None = None) -> None:
        self.workers = check_int("workers", workers, low=1, error=ExecutorError)
        if time_limit is not None:
            time_limit = check_float("time_limit", time_limit, low=0.0, error=ExecutorError)
        self.time_limit = time_limit

    # Arguments of a task are data, so they are given in order and never by name.
    @abstractmethod
    def submit(self, function: Callable[..., Any], /, *args: Any) -> TaskFuture:  # type: ignore[override]
        """Have a task done.

        Args:
            function: A function at the top of a module that can be imported.
            *args: Its arguments.

        Raises:
            RuntimeError: If the executor was shut down.
        """

    @abstractmethod
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks.

        Args:
            wait: Whether to wait for those that run; otherwise they are ended at once.
            cancel_futures: Whether those that have not begun are dropped.
        """


def name_of(function: Callable[..., Any]) -> str:
    """The name "module:function" under which a task is imported where it runs.

    Raises:
        ExecutorError: If it cannot be imported by name.
    """
    module, name = function.__module__, function.__qualname__
    if not inspect.isfunction(function) or "." in name or module == "__main__":
        raise ExecutorError(
            f"A task is a function at the top of a module that can be imported. Got {name!r} of "
            f"{module!r} instead."
        )
    return f"{module}:{name}"
