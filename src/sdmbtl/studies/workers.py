"""Processes of a run: its executor, and helpers of evaluations in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sdmbtl.checks import check_int
from sdmbtl.errors import StudyError
from sdmbtl.execution import Executor, make_executor
from sdmbtl.machine import available_cores

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Trainer
    from sdmbtl.training.evaluation import EvaluationHelpers


@contextmanager
def open_executor(
    study: Study,
    given: str | Executor | None,
    jobs: int | None,
    run_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Iterator[Executor]:
    """Make the executor of a run, see `Study.run`; shut it down at the end unless it was given."""
    from sdmbtl.environments.registry import can_be_made_anywhere

    workers = 1 if jobs is None else check_int("jobs", jobs, low=1, error=StudyError)
    name = given or ("serial" if workers == 1 else "processes")
    if isinstance(name, Executor):
        executor = name
    else:
        folder = {"folder": study.files.root / "jobs"} if name == "submitit" else {}
        settings = {**folder, "time_limit": run_limit, **(options or {})}
        executor = make_executor(name, workers, **settings)
    try:
        if not executor.in_process and not can_be_made_anywhere(study.family):
            raise StudyError(
                f"The environments of {study.family.name!r} are made by a function that only this "
                "process has, so no other one can train in them. Put it into a module of its "
                "own and give it as 'module:function', or leave 'jobs' and 'executor' out."
            )
        yield executor
    finally:
        if executor is not given:  # what is still under way is of no use
            executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def evaluation_helpers(
    processes: int | None, trainer: Trainer
) -> Iterator[EvaluationHelpers | None]:
    """Make the processes that share evaluations with this one, if it is not compiled and they pay.

    `processes` counts this one; there are as many as cores if it is left out.
    """
    from sdmbtl.training.evaluation import EvaluationHelpers

    if processes is not None:
        check_int("eval_processes", processes, low=1, error=StudyError)
    if not trainer.evaluates_on_host or (count := processes or available_cores()) == 1:
        yield None
        return
    with EvaluationHelpers(count - 1) as helpers:
        yield helpers
