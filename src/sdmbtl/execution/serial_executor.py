"""Tasks in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar

from sdmbtl.errors import ExecutorError
from sdmbtl.execution.base import Executor, Listener, redirect_reports


class SerialExecutor(Executor):
    """Does a task when it is submitted: its future is finished then.

    Nothing can be ended from outside, so there is no limit of time.

    Args:
        workers: 1.
    """

    name: ClassVar[str] = "serial"
    in_process: ClassVar[bool] = True

    def __init__(self, workers: int = 1) -> None:
        super().__init__(workers)
        if workers != 1:
            raise ExecutorError(
                f"The executor 'serial' does one task at a time. Got workers={workers!r}; use "
                "'processes' for more."
            )
        self._is_shut_down = False

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Do a task now; an interrupt passes through."""
        if self._is_shut_down:
            raise RuntimeError("This executor was shut down: it takes no more tasks.")
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            with redirect_reports(on_report):
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
