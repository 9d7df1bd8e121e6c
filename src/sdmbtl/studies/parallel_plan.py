"""How much of a study is done at once, where, and what is done about lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from sdmbtl.checks import check_float, check_int, known_options
from sdmbtl.errors import StudyError
from sdmbtl.execution import Executor, executor_names, make_executor

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


class ParallelOptions(TypedDict, total=False):
    """Keywords of `Study.run` that are about several processes, all of them optional.

    Attributes:
        jobs: Number of policies, or of groups of `batch`, that are trained at once.
        executor: "serial" (this process), "processes", "ray", or an `Executor`, which is left
            open. With several jobs "processes" if left out.
        executor_options: Its settings, such as {"address": "auto"}.
        run_limit: Seconds that one training run may take before it counts as hanging.
        worker_retries: How often what a lost worker did is given to another one.
        join: Work beside other processes that run the study, here or on other machines.
        lease_seconds: How long a process may be silent before others take over its policies.
        eval_processes: Processes that evaluate a policy that was trained in this process; as many
            as cores if left out.
    """

    jobs: int | None
    executor: str | Executor | None
    executor_options: Mapping[str, Any] | None
    run_limit: float | None
    worker_retries: int
    join: bool
    lease_seconds: float
    eval_processes: int | None


@dataclass(frozen=True)
class ParallelPlan:
    """What `ParallelOptions` come to, checked; see there."""

    jobs: int | None = None
    executor: str | Executor | None = None
    executor_options: Mapping[str, Any] | None = field(default_factory=dict)
    run_limit: float | None = None
    worker_retries: int = 2
    join: bool = False
    lease_seconds: float = 60.0
    eval_processes: int | None = None

    @classmethod
    def of(cls, options: ParallelOptions) -> ParallelPlan:
        """The plan of keywords.

        Raises:
            StudyError: If one is unknown or not usable.
        """
        known_options("run", options, tuple(ParallelOptions.__annotations__), error=StudyError)
        plan = cls(**options)
        check_int("worker_retries", plan.worker_retries, low=0, error=StudyError)
        check_float("lease_seconds", plan.lease_seconds, low=0.0, error=StudyError)
        if plan.jobs is not None:
            check_int("jobs", plan.jobs, low=1, error=StudyError)
        if plan.run_limit is not None:
            check_float("run_limit", plan.run_limit, low=0.0, error=StudyError)
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
