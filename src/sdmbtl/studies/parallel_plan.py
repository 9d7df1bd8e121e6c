"""How much of a study is done at once, where, and what is done about lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from sdmbtl.checks import finite_number, known_options, whole_number
from sdmbtl.errors import StudyError
from sdmbtl.executors import Executor, executor_names, make_executor

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


class ParallelOptions(TypedDict, total=False):
    """Keywords of `Study.run`; see there."""

    jobs: int | None
    executor: str | Executor | None
    executor_options: Mapping[str, Any] | None
    run_limit: float | None
    worker_retries: int
    join: bool
    lease_seconds: float


@dataclass(frozen=True)
class ParallelPlan:
    """The keywords of `Study.run` that are about several processes, checked; see there."""

    jobs: int | None = None
    executor: str | Executor | None = None
    executor_options: Mapping[str, Any] | None = field(default_factory=dict)
    run_limit: float | None = None
    worker_retries: int = 2
    join: bool = False
    lease_seconds: float = 60.0

    @classmethod
    def of(cls, options: ParallelOptions) -> ParallelPlan:
        """The plan of keywords.

        Raises:
            StudyError: If one is unknown or not usable.
        """
        known_options("run", options, tuple(ParallelOptions.__annotations__), error=StudyError)
        plan = cls(**options)
        whole_number("worker_retries", plan.worker_retries, low=0, error=StudyError)
        finite_number("lease_seconds", plan.lease_seconds, low=0.0, error=StudyError)
        if plan.jobs is not None:
            whole_number("jobs", plan.jobs, low=1, error=StudyError)
        if plan.run_limit is not None:
            finite_number("run_limit", plan.run_limit, low=0.0, error=StudyError)
        if plan.is_serial and (plan.executor_options or plan.run_limit is not None):
            raise StudyError(
                "A training run in this process cannot be limited or sent elsewhere. Give an "
                "'executor' too: 'processes' or 'ray'."
            )
        if plan.executor == "serial" and (plan.jobs or 1) > 1:
            raise StudyError(
                f"The executor 'serial' trains one policy at a time. Got jobs={plan.jobs!r}; use "
                f"one of {', '.join(map(repr, executor_names()[1:]))}."
            )
        return plan

    @property
    def is_serial(self) -> bool:
        """Whether everything is done in this process, one policy after another."""
        return self.executor == "serial" or (self.executor is None and (self.jobs or 1) == 1)

    @contextmanager
    def opened_executor(self, study: Study) -> Iterator[Executor]:
        """The executor, shut down at the end unless it was given.

        Raises:
            StudyError: If the environments can be made in this process only.
        """
        from sdmbtl.environments.registry import can_be_made_anywhere

        if not can_be_made_anywhere(study.family):
            raise StudyError(
                f"The environments of {study.family.name!r} are made by a function that only this "
                "process has, so no other one can train in them. Put it into a module of its own "
                "and give it as 'module:function', or leave 'jobs' and 'executor' out."
            )
        if isinstance(self.executor, Executor):
            yield self.executor
            return
        options = {**(self.executor_options or {}), "time_limit": self.run_limit}
        executor = make_executor(self.executor or "processes", self.jobs or 1, **options)
        try:
            yield executor
        finally:  # what is still under way, after an error or an interrupt, is of no use
            executor.shutdown(wait=False, cancel_futures=True)
