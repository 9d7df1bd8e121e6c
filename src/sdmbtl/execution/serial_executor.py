"""Tasks in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sdmbtl.execution.base import Executor, TaskFuture
from sdmbtl.execution.reporting import told_to


class SerialExecutor(Executor):
    """Does a task when it is submitted: its future is finished then.

    Nothing can be ended from outside, so there is no limit of time.
    """

    name: ClassVar[str] = "serial"

    def __init__(self) -> None:
        super().__init__(1)
        self._is_shut_down = False

    def submit(self, function: Callable[..., Any], /, *args: Any) -> TaskFuture:  # type: ignore[override]
        """Do a task now; an interrupt is not the task's, and passes through."""
        if self._is_shut_down:
            raise RuntimeError("This executor was shut down: it takes no more tasks.")
        future = TaskFuture()
        future.set_running_or_notify_cancel()

        def listen(data: Any) -> None:
            future.latest = data

        try:
            with told_to(listen):
                result = function(*args)
        except Exception as error:  # noqa: BLE001 (the future has it)
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks."""
        del wait, cancel_futures  # nothing runs, or waits
        self._is_shut_down = True
