"""Several callbacks as one, whose errors do not end a run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

from sdmbtl.callbacks.event import Callback, Event

logger = logging.getLogger("sdmbtl")


@contextmanager
def one_callback(callbacks: Iterable[Callback]) -> Iterator[Callback]:
    """Yield a callback that calls each of several; those that are context managers are entered.

    An error of one is logged, the first time as a warning with its traceback, and the run
    continues: a tracking server that is out of reach must not cost a policy. What is not an
    `Exception`, such as `KeyboardInterrupt`, ends the run.
    """
    each, faulty = list[Any](callbacks), set[int]()

    def tell(event: Event) -> None:
        for number, callback in enumerate(each):
            try:
                callback(event)
            except Exception:
                level = logging.DEBUG if number in faulty else logging.WARNING
                faulty.add(number)
                logger.log(
                    level,
                    "The callback %s failed at the stage %r. The run continues; further errors of "
                    "it are logged at the level DEBUG.",
                    getattr(callback, "__qualname__", type(callback).__qualname__),
                    event.stage,
                    exc_info=True,
                )

    with ExitStack() as stack:
        for callback in each:
            if isinstance(callback, AbstractContextManager):
                callback.__enter__()
                stack.push(partial(_leave, callback))
        yield tell


def _leave(callback: AbstractContextManager[object], *how: object) -> None:
    try:
        callback.__exit__(*how)  # type: ignore[arg-type]
    except Exception:
        logger.warning("A callback failed at the end of the run.", exc_info=True)
