"""Jobs of submitit, on its local cluster: lost ones, their files, and settings that are wrong."""

import time

import pytest
import tasks_to_try as tasks

from sdmbtl.errors import ExecutorError, WorkerLostError
from sdmbtl.execution import make_executor
from sdmbtl.execution.submitit_executor import SubmititExecutor

pytest.importorskip("submitit")


@pytest.fixture
def executor(tmp_path):
    executor = SubmititExecutor(1, cluster="local", folder=tmp_path / "jobs")
    yield executor
    executor.shutdown(wait=False, cancel_futures=True)


def wait_for_job(executor):
    """Wait until a task of a job runs: it has opened its log."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        jobs = [worker._job for worker in executor._pool if worker._job is not None]
        if (
            jobs
            and jobs[0].paths.stdout.exists()
            and "Starting" in jobs[0].paths.stdout.read_text()
        ):
            return jobs[0]
        time.sleep(0.05)
    raise AssertionError("no job was started")


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGTERM", "SIGUSR2"])
def test_a_job_that_is_ended_is_a_lost_worker(executor, signal_name, tmp_path, monkeypatch):
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 0)
    error = executor.submit(tasks.end_by_signal, signal_name).exception(timeout=300)
    assert isinstance(error, WorkerLostError)
    assert "was lost" in str(error)
    assert executor.submit(tasks.square, 3).result(timeout=300) == 9
    left = {path.suffix for path in (tmp_path / "jobs").iterdir()}
    assert left <= {".err", ".out"}, "no pickle stays"


def test_shutting_down_cancels_jobs(executor):
    runs, waits = executor.submit(tasks.hang), executor.submit(tasks.hang)
    job = wait_for_job(executor)
    executor.shutdown(wait=False, cancel_futures=True)
    assert isinstance(runs.exception(timeout=60), WorkerLostError)
    assert waits.cancelled()
    job._process.wait(timeout=60)
    assert job.done()


def test_parameters_are_passed_through(tmp_path, monkeypatch):
    given = {}
    monkeypatch.setattr(
        "submitit.AutoExecutor.update_parameters", lambda self, **named: given.update(named)
    )
    how = {"cluster": "local", "folder": tmp_path, "partition": "gpu", "mem_gb": 8}
    make_executor("submitit", 2, time_limit=90.0, slurm_qos="low", **how)
    assert given == {
        "timeout_min": 2,
        "name": "sdmbtl",
        "slurm_partition": "gpu",
        "mem_gb": 8,
        "slurm_qos": "low",
    }


@pytest.mark.parametrize(
    "options",
    [{"cluster": "slurms"}, {"cluster": "local", "partitions": "a"}, {"mem_gb": "much"}],
)
def test_wrong_settings_are_refused(tmp_path, options):
    with pytest.raises(ExecutorError, match="submitit refuses"):
        make_executor("submitit", 1, **{"folder": tmp_path, "cluster": "local", **options})
