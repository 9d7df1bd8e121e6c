"""Events of a study, and the callbacks that are called with them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from sdmbtl.selectors import Trial

logger = logging.getLogger("sdmbtl")

Stage = Literal[
    "asked",
    "compiling",
    "continued",
    "training",
    "saved",
    "trained",
    "evaluating",
    "lost",
    "waiting",
    "failed",
    "finished",
]


@dataclass(frozen=True)
class Event:
    """Something that happens in a study.

    Attributes:
        stage: "asked": a context was chosen. "compiling": training waits for its code.
            "continued": training continues from a checkpoint. "training": steps were done.
            "saved": the policy file is written, "trained": and recorded. "evaluating": on the
            targets. "finished": the row is recorded. "failed": an attempt at training went wrong.
            "lost": a worker died or hung; what it worked on is begun again. "waiting": another
            process works on it, and there is nothing else to do.
        trial: The policy it is about, as recorded; of several that are trained side by side the
            first, until they are saved.
        steps: Environment steps done, while training; targets done, while evaluating.
        total_steps: Their number at the end; 0 if that is not known.
        mean_return: Latest mean return, while training.
        steps_per_second: Of this training run without its compilation; NaN until that is known.
        policies: Number of policies that are trained side by side.
        evaluations: Steps and mean return of evaluations on the training contexts that were made
            since the last event; of a training run that continues, of all so far.
        metrics: Numbers of the training itself by name; see `Report`.
        warning: A problem of a finished policy, if there seems to be one.
    """

    stage: Stage
    trial: Trial
    steps: int = 0
    total_steps: int = 0
    mean_return: float = math.nan
    steps_per_second: float = math.nan
    policies: int = 1
    evaluations: tuple[tuple[int, float], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    warning: str | None = None


#: Called with each event. One that is a context manager is entered and left with the run.
Callback = Callable[[Event], None]


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
