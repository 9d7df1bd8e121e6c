"""Several callbacks as one, whose errors do not end a run."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from sdmbtl.callbacks.event import Callback, Event

logger = logging.getLogger("sdmbtl")


class CallbackList:
    """Calls each of several callbacks with every event.

    An error of one is logged, the first time as a warning with its traceback, and the run
    continues: a tracking server that is out of reach must not cost a policy. What is not an
    `Exception`, such as `KeyboardInterrupt`, ends the run.

    Args:
        callbacks: The callbacks; those that are context managers are entered with this one.
    """

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self._callbacks = list(callbacks)
        self._faulty: set[int] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:  # what was entered is left if a later one fails
            for callback in self._callbacks:
                if isinstance(callback, AbstractContextManager):
                    stack.enter_context(callback)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._stack.__exit__(kind, error, traceback)
        except Exception:
            logger.warning("A callback failed at the end of the run.", exc_info=True)

    def __call__(self, event: Event) -> None:
        """Tell every callback."""
        for number, callback in enumerate(self._callbacks):
            try:
                callback(event)
            except Exception:
                level = logging.DEBUG if number in self._faulty else logging.WARNING
                self._faulty.add(number)
                logger.log(
                    level,
                    "The callback %s failed at the stage %r. The run continues; further errors of "
                    "it are logged at the level DEBUG.",
                    getattr(callback, "__qualname__", type(callback).__qualname__),
                    event.stage,
                    exc_info=True,
                )
