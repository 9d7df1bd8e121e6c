"""Options of a run about several processes: how much is done at once, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from sdmbtl.checks import check_int, known_options
from sdmbtl.errors import StudyError
from sdmbtl.execution import Executor, SerialExecutor, make_executor

if TYPE_CHECKING:
    from sdmbtl.training import TrainerSpec


class ParallelOptions(TypedDict, total=False):
    """Keywords of `Study.run` about several processes, all of them optional.

    Attributes:
        jobs: Number of training runs at once.
        executor: "serial" (this process), "processes", "ray", "submitit" (SLURM), or an
            `Executor`, which is left open. With several jobs "processes" if left out.
        executor_options: Its settings, such as {"address": "auto"} or {"partition": "gpu"}.
        run_limit: Seconds that one training run may take before it counts as hanging.
        worker_retries: How often what a lost worker did is given to another one.
        join: Work together with other processes that run the study, here or on other machines.
        lease_seconds: Time without a heartbeat after which others take over the policies of a run.
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
class RunOptions:
    """`ParallelOptions`, checked and with their defaults; see there."""

    jobs: int | None = None
    executor: str | Executor | None = None
    executor_options: Mapping[str, Any] | None = None
    run_limit: float | None = None
    worker_retries: int = 2
    join: bool = False
    lease_seconds: float = 60.0
    eval_processes: int | None = None

    def __post_init__(self) -> None:
        check_int("worker_retries", self.worker_retries, low=0, error=StudyError)
        if self.jobs is not None:
            check_int("jobs", self.jobs, low=1, error=StudyError)
        if self.is_serial and (self.executor_options or self.run_limit is not None):
            raise StudyError(
                "A training run in this process cannot be limited or sent elsewhere. Give an "
                "'executor' too: 'processes', 'ray' or 'submitit'."
            )

    @classmethod
    def of(cls, options: ParallelOptions) -> RunOptions:
        """Check keywords.

        Raises:
            StudyError: If one is unknown or not usable.
        """
        known_options("run", options, tuple(ParallelOptions.__annotations__), error=StudyError)
        return cls(**options)

    @property
    def is_serial(self) -> bool:
        """True if everything is done in this process, one policy after another."""
        return self.executor == "serial" or (self.executor is None and (self.jobs or 1) == 1)

    @contextmanager
    def opened_executor(self, training: TrainerSpec, folder: Path) -> Iterator[Executor]:
        """Make the executor, and shut it down at the end unless it was given.

        Args:
            training: How policies are trained.
            folder: Directory of the study.

        Raises:
            ExecutorError: If its settings are not usable.
            StudyError: If the environments can be made in this process only.
        """
        from sdmbtl.environments.registry import can_be_made_anywhere

        if isinstance(self.executor, Executor):
            executor = self.executor
        elif self.is_serial:
            executor = SerialExecutor(self.jobs or 1)
        else:
            name = self.executor or "processes"
            options = {"time_limit": self.run_limit, **(self.executor_options or {})}
            if name == "submitit":
                options = {"folder": folder / "jobs", **options}
            executor = make_executor(name, self.jobs or 1, **options)
        family = training.make_family()
        try:
            if not executor.in_process and not can_be_made_anywhere(family):
                raise StudyError(
                    f"The environments of {family.name!r} are made by a function that only this "
                    "process has, so no other one can train in them. Put it into a module of its "
                    "own and give it as 'module:function', or leave 'jobs' and 'executor' out."
                )
            yield executor
        finally:
            if executor is not self.executor:  # what is still under way is of no use
                executor.shutdown(wait=False, cancel_futures=True)
