"""Work in several processes: every result, with its item, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import wait

import pytest

from sdmbtl import parallel
from sdmbtl.parallel import SINGLE_THREADED, compute_all, environment_variables


def described(number):
    """What an item became, where, and with how many threads."""
    return number**2, os.getpid(), os.environ.get("OMP_NUM_THREADS")


def test_one_process_is_this_one_and_keeps_the_order():
    results = list(compute_all(described, [3, 1, 2], 1))
    assert [item for item, _ in results] == [3, 1, 2]
    assert {pid for _, (_, pid, _) in results} == {os.getpid()}


def test_several_processes_give_every_item_its_result():
    results = dict(compute_all(described, list(range(9)), 2))
    assert {item: square for item, (square, _, _) in results.items()} == {n: n**2 for n in range(9)}
    assert os.getpid() not in {pid for _, pid, _ in results.values()}
    assert {threads for _, _, threads in results.values()} == {"1"}


def failing(number):
    raise KeyError(number)


def test_an_error_comes_back_and_the_workers_end():
    others = multiprocessing.active_children()
    with pytest.raises(KeyError, match="7"):
        list(compute_all(failing, [7], 2))
    deadline = time.monotonic() + 60
    while set(multiprocessing.active_children()) - set(others):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def failing_at_zero(number):
    return 1 / number


def test_results_come_before_an_error(monkeypatch):
    monkeypatch.setattr(parallel, "wait", lambda futures, *_, **__: wait(futures))
    results = compute_all(failing_at_zero, [1, 0, 2, 4], 2)
    assert {next(results) for _ in range(3)} == {(1, 1.0), (2, 0.5), (4, 0.25)}
    with pytest.raises(ZeroDivisionError):
        next(results)


SLEEPERS = """
import time

from sdmbtl.parallel import compute_all


def sleep(number):
    print("begun", flush=True)
    time.sleep(100)


def main():
    list(compute_all(sleep, [1, 2], 2))
"""


def sleep_long(_):
    time.sleep(600)


def test_whoever_waits_can_end_the_work():
    beats = []

    def heartbeat():
        beats.append(None)
        if len(beats) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(compute_all(sleep_long, [1, 2], 2, heartbeat))
    assert len(beats) == 3


def is_interrupt_blocked(_):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interrupt_does_not_reach_workers_that_begin():
    assert [blocked for _, blocked in compute_all(is_interrupt_blocked, [1], 2)] == [True]
    assert not is_interrupt_blocked(None), "this process is as before"


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "sleepers.py").write_text(SLEEPERS)
    command = [sys.executable, "-c", "import sleepers; sleepers.main()"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path)
    with process:
        assert [process.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        process.send_signal(signal.SIGKILL)
        # The end of the output comes when nobody holds it any more, the workers neither.
        assert process.communicate(timeout=60) == (b"", None)


def test_other_processes_are_left_alone():
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    bystander.start()
    list(compute_all(described, [], 2))
    assert bystander.is_alive()
    bystander.terminate()
    bystander.join()


def test_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with environment_variables(SINGLE_THREADED):
        assert os.environ["OMP_NUM_THREADS"] == "1"
        assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
