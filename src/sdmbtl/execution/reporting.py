"""How a task says how far it is, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Who is told, in the process or thread that runs a task.
_listener: ContextVar[Callable[[Any], None] | None] = ContextVar("listener", default=None)


def report(data: Any) -> None:
    """Tell whoever submitted the task that runs here; where nobody listens, nothing happens."""
    listener = _listener.get()
    if listener is not None:
        listener(data)


@contextmanager
def told_to(listener: Callable[[Any], None]) -> Iterator[None]:
    """Have a task, which is called in it, report to somebody."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
