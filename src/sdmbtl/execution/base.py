"""The executor protocol: `concurrent.futures`, for tasks that are named functions of data."""

from __future__ import annotations

import importlib
import inspect
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from sdmbtl.checks import check_float, check_int, known_name, known_options
from sdmbtl.errors import ExecutorError

#: A task as it travels: the name of a function, and its arguments.
Call = tuple[str, tuple[Any, ...]]

#: "result" and what a task returned, or "error" and what it raised, as data.
Answer = tuple[str, Any]

#: Called with what a task reports.
Listener = Callable[[Any], None]

#: The listener of the task that runs in this process or thread.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Executor(FuturesExecutor):
    """Runs tasks, as many at once as it has workers, beginning with those submitted first.

    `shutdown` without `wait` ends tasks that run at once.

    A task is a function at the top of a module, which is named and imported again where it runs.
    Its arguments and result are plain data: arrays and dataclasses, and policies, which travel as
    their file. A task is tried once: whoever submits it decides what is tried again.

    Args:
        workers: Number of tasks at once.
        time_limit: Seconds that a task may take; None for any number. One that takes longer is
            ended, with `WorkerLostError`, as one whose worker died.

    Attributes:
        in_process: True if tasks run in this process, within `submit`; then arguments and results
            may be anything.

    Raises:
        ExecutorError: If a setting is not usable.
    """

    name: ClassVar[str]
    in_process: ClassVar[bool] = False

    def __init__(self, workers: int, *, time_limit: float | None = None) -> None:
        self.workers = check_int("workers", workers, low=1, error=ExecutorError)
        if time_limit is not None:
            time_limit = check_float("time_limit", time_limit, low=0.0, error=ExecutorError)
        self.time_limit = time_limit

    # Arguments of a task are data, so they are given in order and never by name.
    @abstractmethod
    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Submit a task: a function at the top of a module, and its arguments.

        `on_report` is called with what the task gives to `report`, perhaps in another thread, and
        perhaps not with all of it.

        Raises:
            RuntimeError: If the executor was shut down.
        """


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

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Do a task now; an interrupt passes through."""
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


def make_executor(name: str, workers: int = 1, **options: Any) -> Executor:
    """Make an executor: "serial", "processes", "ray" or "submitit"; its options as in its class.

    Raises:
        ExecutorError: If there is none of this name, or a setting is not one of it.
        MissingPackageError: If it needs a package that is not installed.
    """
    from sdmbtl.execution.process_executor import ProcessExecutor
    from sdmbtl.execution.ray_executor import RayExecutor
    from sdmbtl.execution.submitit_executor import SubmititExecutor

    classes = (SerialExecutor, ProcessExecutor, RayExecutor, SubmititExecutor)
    kinds: dict[str, type[Executor]] = {kind.name: kind for kind in classes}
    known_name("executor", name, kinds, error=ExecutorError)
    kind = kinds[name]
    given = {key: value for key, value in options.items() if value is not None}
    if kind is not SubmititExecutor:  # which has those of the cluster too
        settings = tuple(n for n in inspect.signature(kind).parameters if n != "workers")
        known_options(name, given, settings, error=ExecutorError)
    return kind(workers, **given)


def report(data: Any) -> None:
    """Report progress to whoever submitted the task that runs here, if anybody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(data)


@contextmanager
def redirect_reports(listener: Listener | None) -> Iterator[None]:
    """Send the reports of a task that is called meanwhile to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def do_call(call: Call, listener: Listener | None = None) -> Answer:
    """Do a task, whose reports go to a listener."""
    name, arguments = call
    module, _, function = name.partition(":")
    try:
        with redirect_reports(listener):
            return "result", getattr(importlib.import_module(module), function)(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whoever submitted the task decides)
        return "error", {
            "module": type(error).__module__,
            "name": type(error).__qualname__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }


def rebuild_error(data: dict[str, str]) -> Exception:
    """Return the error that `do_call` described; of the same type if it is ours or builtin."""
    kind: Any = None
    if data["module"] in ("builtins", "sdmbtl.errors"):
        kind = getattr(importlib.import_module(data["module"]), data["name"], None)
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        kind = None
    try:
        error: Exception = kind(data["message"])
    except TypeError:
        error = RuntimeError(f"{data['name']}: {data['message']}")
    error.add_note(f"In a worker:\n{data['traceback']}")
    return error
