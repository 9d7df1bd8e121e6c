"""Executors: the contract, and what becomes of workers that crash, hang or use too much memory."""

import os
import subprocess
import sys
import time
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest
import tasks_to_try as tasks

from sdmbtl.errors import ExecutorError, MissingPackageError, TrainerError, WorkerLostError
from sdmbtl.execution import ProcessExecutor, SerialExecutor, make_executor

HERE = Path(__file__).parent
#: Ray starts a cluster of this machine.
EXECUTORS = ("serial", "processes", "submitit", pytest.param("ray", marks=pytest.mark.slow))


@pytest.fixture(scope="module", params=EXECUTORS)
def executor(request, tmp_path_factory):
    options = {}
    if request.param == "ray":
        pytest.importorskip("ray")
        pytest.importorskip("jax").numpy.zeros(1).sum()  # it warns of forks once it has begun
    if request.param == "submitit":
        pytest.importorskip("submitit")
        options = {"cluster": "local", "folder": tmp_path_factory.mktemp("jobs")}
    workers = 1 if request.param == "serial" else 2
    with make_executor(request.param, workers, **options) as executor:
        yield executor


def test_tasks_are_done(executor):
    futures = [executor.submit(tasks.square, number) for number in range(5)]
    assert [future.result() for future in futures] == [0, 1, 4, 9, 16]
    assert not wait(futures).not_done


def test_workers_are_as_nice_as_their_caller(executor):
    assert executor.submit(tasks.niceness).result() == os.nice(0)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("ours", TrainerError, "no such thing"),
        ("builtin", KeyError, "no such thing"),
        ("other", (RuntimeError, np.linalg.LinAlgError), "singular"),
    ],
)
def test_errors_come_back(executor, kind, error, text):
    found = executor.submit(tasks.fail, kind).exception()
    assert isinstance(found, error)
    assert text in str(found)


def test_a_killed_worker_is_replaced(executor):
    if executor.in_process:
        pytest.skip("there is no worker")
    error = executor.submit(tasks.end_by_signal, "SIGKILL").exception()
    assert isinstance(error, WorkerLostError)
    assert [executor.submit(tasks.square, n).result() for n in (3, 4)] == [9, 16]


def test_a_process_of_its_own_has_one_thread_and_nothing_heavy():
    with ProcessExecutor(1) as executor:
        found = executor.submit(tasks.describe_process).result()
    assert found["pid"] != os.getpid()
    assert found["threads"] == "1"
    assert "--xla_cpu_multi_thread_eigen=false" in found["flags"]
    assert found["heavy"] == []


def test_a_task_reports_how_far_it_is():
    for executor in (SerialExecutor(), ProcessExecutor(1)):
        seen = []
        with executor:
            future = executor.submit(tasks.report_twice, on_report=seen.append)
            assert future.result() == "done"
        assert seen[-1] == {"steps": 2}


@pytest.mark.parametrize(
    ("task", "arguments", "text"),
    [
        (tasks.crash, (), "SIGSEGV"),
        (tasks.exit_quietly, (7,), "exit status 7"),
        (tasks.end_by_signal, ("SIGKILL",), "perhaps for lack of memory"),
        (tasks.hang, (), "did not end within 1 s"),
    ],
)
def test_a_lost_worker_costs_one_task(task, arguments, text):
    with ProcessExecutor(1, time_limit=1.0 if task is tasks.hang else None) as executor:
        lost, next_one = executor.submit(task, *arguments), executor.submit(tasks.square, 3)
        error = lost.exception()
        assert isinstance(error, WorkerLostError)
        assert text in str(error)
        assert next_one.result() == 9


def has_ended(process):
    """Wait until a process, which nobody may have to wait for, is gone or dead."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read as on Linux")
@pytest.mark.parametrize("how", ["hang", "crash"])
def test_programs_that_a_task_started_end_with_its_worker(how):
    reports = []
    with ProcessExecutor(1, time_limit=1.0) as executor:
        lost = executor.submit(tasks.start_and, how, on_report=reports.append)
        assert isinstance(lost.exception(), WorkerLostError)
    assert has_ended(reports[0]["started"])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read as on Linux")
def test_a_worker_and_what_it_started_end_with_a_killed_driver():
    script = (
        "import tasks_to_try as tasks\n"
        "from sdmbtl.execution import ProcessExecutor\n"
        "executor = ProcessExecutor(1)\n"
        "show = lambda data: print(executor.pids[0], data['started'], flush=True)\n"
        "executor.submit(tasks.start_and, 'hang', on_report=show).result()\n"
    )
    path = os.pathsep.join([str(HERE), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    ) as driver:
        processes = driver.stdout.readline().split()
        driver.kill()
    assert [has_ended(int(process)) for process in processes] == [True, True]


def test_shutting_down_ends_what_runs_and_drops_what_waits():
    executor = ProcessExecutor(1)
    runs, waits = executor.submit(tasks.hang), executor.submit(tasks.hang)
    while not runs.running() or not executor.pids:
        time.sleep(0.01)
    (process,) = executor.pids
    executor.shutdown(wait=False, cancel_futures=True)
    assert isinstance(runs.exception(), WorkerLostError)
    assert waits.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(RuntimeError, match="takes no more tasks"):
        executor.submit(tasks.square, 1)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("rays", {}, "Did you mean 'ray'"),
        ("serial", {"workers": 2}, "one task at a time"),
        ("processes", {"workers": 0}, "'workers'"),
        ("processes", {"address": "auto"}, "Unknown option 'address'"),
        ("processes", {"time_limit": -1.0}, "'time_limit'"),
    ],
)
def test_wrong_settings_are_refused(name, options, text):
    with pytest.raises(ExecutorError, match=text.replace("(", "\\(")):
        make_executor(name, **options)


def test_ray_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sdmbtl\[ray\]'"):
        make_executor("ray")


def test_nothing_of_a_cluster_is_imported_unless_asked_for():
    modules = "sys, sdmbtl, sdmbtl.studies, sdmbtl.execution.submitit_executor, sdmbtl.cli"
    code = f"import {modules}; print({{'ray', 'submitit'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_interrupt_is_not_a_result():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SerialExecutor().submit(interrupt)


def test_a_lost_connection_to_the_cluster_is_not_a_fault_of_the_tasks():
    exceptions = pytest.importorskip("ray.exceptions")
    from sdmbtl.execution.ray_executor import explain

    lost = explain(exceptions.LocalRayletDiedError())
    assert isinstance(lost, ExecutorError)
    assert "connected to was lost" in str(lost)
    other = explain(exceptions.NodeDiedError("It is gone."))
    assert isinstance(other, WorkerLostError)


def test_without_an_address_no_cluster_of_this_machine_is_used(monkeypatch):
    ray = pytest.importorskip("ray")
    from sdmbtl.execution.ray_executor import RayExecutor

    given = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: given.append(options))
    monkeypatch.setattr(RayExecutor, "_start_keepers", lambda self: None)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "compiled")
    RayExecutor(3, num_cpus=1.5)
    RayExecutor(3, address="auto", runtime_env={"working_dir": ".", "env_vars": {"A": "b"}})
    assert [options["address"] for options in given] == ["local", "auto"]
    assert [options.get("num_cpus") for options in given] == [5, None]
    assert given[1]["runtime_env"]["working_dir"] == "."
    variables = given[1]["runtime_env"]["env_vars"]
    assert (variables["A"], variables["OMP_NUM_THREADS"]) == ("b", "1")
    assert variables["JAX_COMPILATION_CACHE_DIR"] == "compiled"
