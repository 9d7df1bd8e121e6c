"""Tasks as jobs of a SLURM cluster, by submitit."""

from __future__ import annotations

import importlib.util
import math
import signal
import threading
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any, ClassVar

from sdmbtl.errors import ExecutorError, MissingPackageError, WorkerLostError
from sdmbtl.execution.base import Answer, Call, Listener, do_call
from sdmbtl.execution.pool import Worker, WorkerPool
from sdmbtl.machine import environment_variables, worker_environment

if TYPE_CHECKING:
    from submitit import AutoExecutor, Job

#: Minutes of a job. The defaults of submitit (5, and 2 for its local jobs) are short for training.
TIMEOUT_MIN = 60

#: One submission at a time: it changes environment variables of this process.
_submission = threading.Lock()


class SubmititExecutor(WorkerPool):
    """Each task is a job, whose files are on a disk that all nodes share.

    A job that is cancelled, preempted or out of time is a lost worker. Tasks report nothing while
    they run. If this process is killed, jobs that run continue to their end, for nobody.

    Args:
        workers: Number of jobs at once.
        time_limit: Seconds that a job may take, rounded up to minutes; the same as `timeout_min`.
        folder: Directory of the job files and logs. What belongs to a finished job is deleted.
        cluster: "slurm", "local" for processes of this machine; the one that is found if None.
        **parameters: Parameters of submitit, such as `timeout_min`, `mem_gb`, `cpus_per_task` and
            `gpus_per_node`, and of SLURM, such as `partition`, `account`, `qos` and `setup`.

    Raises:
        MissingPackageError: If submitit is not installed.
        ExecutorError: If there is no such cluster or parameter.
    """

    name: ClassVar[str] = "submitit"

    def __init__(
        self,
        workers: int,
        *,
        time_limit: float | None = None,
        folder: str | Path = "jobs",
        cluster: str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(workers, time_limit=time_limit)
        if importlib.util.find_spec("submitit") is None:
            raise MissingPackageError.of("The executor 'submitit'", "submitit", "slurm")
        minutes = TIMEOUT_MIN if time_limit is None else math.ceil(time_limit / 60)
        given = {"timeout_min": minutes, "name": "sdmbtl", **parameters}
        from submitit import AutoExecutor

        shared = AutoExecutor._typed_parameters()
        known = {n for n in given if n in shared or n.startswith(("slurm_", "local_"))}
        named = {n if n in known else f"slurm_{n}": value for n, value in given.items()}
        try:
            self._jobs = AutoExecutor(Path(folder), cluster=cluster)
            self._jobs.update_parameters(**named)
        except (AssertionError, NameError, RuntimeError, TypeError, ValueError) as error:
            raise ExecutorError(
                f"submitit refuses these settings: {error} See the parameters of sbatch, and of "
                "submitit's AutoExecutor."
            ) from None

    def _make_worker(self) -> Worker:
        return _JobWorker(self._jobs)


class _JobWorker(Worker):
    """A place for one job at a time."""

    #: Seconds between two looks for the result of a job.
    look_every = 0.2

    def __init__(self, jobs: AutoExecutor) -> None:
        self._jobs = jobs
        self._job: Job[Answer] | None = None
        self._killed = threading.Event()

    def do(self, call: Call, on_report: Listener | None) -> Answer:
        """Run a task; see `Worker.do`. Nothing is reported."""
        from submitit.core.utils import FailedSubmissionError

        del on_report
        with _submission, environment_variables(worker_environment()):
            if self._killed.is_set():
                raise WorkerLostError("The job was cancelled.")
            try:
                self._job = job = self._jobs.submit(run_job, call)
            except (OSError, FailedSubmissionError, CalledProcessError) as error:
                raise ExecutorError(
                    f"The job could not be submitted: {error} Everything recorded is kept. When "
                    "the cluster takes jobs, do the same again."
                ) from None
        while not job.done():
            if self._killed.wait(self.look_every):
                raise WorkerLostError("The job was cancelled.")
        return _take_result(job)

    def kill(self) -> None:
        """Cancel the job, if one runs."""
        self._killed.set()
        with _submission:
            if self._job is not None:
                with suppress(OSError):  # the program that cancels is not here
                    self._job.cancel(check=False)
                self._job = None


def _take_result(job: Job[Answer]) -> Answer:
    """Read the result of a job that has ended; delete its files, but for logs of a lost one."""
    from submitit.core.utils import UncompletedJobError

    paths = job.paths
    used = [paths.submitted_pickle, paths.result_pickle, paths.submission_file]
    try:
        result = job.result()
    except UncompletedJobError as error:
        lines = str(error).strip().splitlines() or [""]
        raise WorkerLostError(
            f"Job {job.job_id} was lost (state: {job.state}): {lines[0][:300]} See {paths.stderr}"
        ) from None
    else:
        used += [paths.stdout, paths.stderr]
    finally:
        for path in used:
            path.unlink(missing_ok=True)
    return result


def run_job(call: Call) -> Answer:
    """Do a task, in a job.

    submitit turns a preemption or the end of the time into an exception, which would look like an
    error of the training run. Here the signals end the process.
    """
    from submitit import JobEnvironment

    for number in (signal.SIGTERM, JobEnvironment()._usr_sig()):
        signal.signal(number, signal.SIG_DFL)
    return do_call(call)
