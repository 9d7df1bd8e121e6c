"""Heartbeats and fencing: who works on a trial, and whose result counts."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from stand_ins import hand_over

from sdmbtl import ContextSpace
from sdmbtl.errors import (
    BusyError,
    LostLeaseError,
    StudyError,
    UnknownTrialError,
)
from sdmbtl.studies import Study, leases
from sdmbtl.studies.doctor import examine, repair
from sdmbtl.studies.leases import Lease, LeaseKeeper, grant

ROW = np.arange(8.0)


@pytest.fixture
def clock(monkeypatch):
    """The time of day, which only the test moves."""
    now = [1.8e9]
    monkeypatch.setattr(leases.time, "time", lambda: now[0])

    def advance(seconds):
        now[0] += seconds

    return advance


@pytest.fixture
def study(tmp_path):
    return Study.open(tmp_path / "study", space=ContextSpace(x=np.linspace(0, 1, 8)))


def test_a_lease_is_free_after_its_seconds_unless_it_is_renewed(clock):
    lease = grant(None, 10.0)
    clock(9.9)
    assert not lease.is_free
    renewed = lease.renewed()
    clock(0.2)
    assert lease.is_free
    assert not renewed.is_free
    clock(10.0)
    assert renewed.is_free
    assert grant(renewed, 10.0).token == 2
    assert replace(grant(None, 10.0), holder=None).is_free


def test_a_clock_that_is_set_back_holds_no_trial_for_ever(clock):
    lease = grant(None, 10.0)
    clock(-3600.0)
    assert lease.is_free


def holder_of(process, started=None, machine=None):
    started = started or leases._started(process)
    return f"{process} here {started} 1 {machine or leases._machine()}"


def test_a_lease_ends_with_its_process(clock):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    lease = Lease(1, holder_of(process.pid), 1e6, leases.time.time())
    assert lease.process == process.pid
    assert not lease.is_free
    other = Lease(1, holder_of(process.pid, machine="another"), 1e6, leases.time.time())
    process.kill()
    process.wait()
    assert lease.is_free
    assert lease.process is None
    assert not other.is_free, "a number of a process means nothing on another machine"


def test_a_later_process_of_the_same_number_is_another_one(clock):
    assert Lease(1, holder_of(os.getppid(), started="1"), 1e6, leases.time.time()).is_free


@pytest.mark.parametrize("holder", ["", "x", "a b c d e", "1 2 3 4 5", "٣ b c d e"])
def test_a_foreign_holder_is_not_believed(holder, clock):
    assert not Lease(1, holder, 10.0, leases.time.time()).is_free


def test_what_is_not_reported_is_given_again_and_a_late_result_does_not_count(study, clock):
    asked = study.ask(lease=60.0)
    slow = study.lease_of(asked)
    assert study.ask(lease=60.0).id == 1
    clock(61.0)
    again = study.ask(lease=60.0)
    quick = study.lease_of(again)
    assert (again.id, slow, quick) == (asked.id, 1, 2)
    with pytest.raises(LostLeaseError, match="Ask for another context"):
        study.tell(asked.context, ROW - 100, lease=slow)
    assert study.tell(again, ROW, lease=quick).status == "finished"
    with pytest.raises(LostLeaseError):
        study.tell(np.int64(asked.id), ROW - 50, lease=slow)
    assert np.array_equal(study.trials[0].row, ROW)
    assert study.performance == ROW.mean()
    assert examine(study.path).healthy


def test_without_its_lease_a_result_counts_only_if_it_was_given_once(study, clock):
    once, twice = study.ask(2, lease=60.0)
    study.tell(once, ROW)
    clock(61.0)
    assert study.ask(lease=60.0).id == twice.id
    with pytest.raises(StudyError, match="2 times"):
        study.tell(twice, ROW)


def test_a_lease_that_was_never_given_is_refused(study):
    asked, free = study.ask(lease=60.0), study.ask()
    for trial, lease in ((asked, 7), (free, 1)):
        with pytest.raises(LostLeaseError, match="never given"):
            study.tell(trial, ROW, lease=lease)
        assert not study.renew(trial, lease)
    for number in (5, 99999999999999999999):
        with pytest.raises(UnknownTrialError):
            study.renew(number, 1)
        with pytest.raises(UnknownTrialError):
            study.tell(number, ROW)
    assert [t.status for t in Study.open(study.path).trials] == ["pending"] * 2


def test_a_renewed_lease_holds(study, clock):
    free, asked = study.ask(), study.ask(lease=60.0)
    token = Study.open(study.path).lease_of(asked.id)
    assert study.lease_of(free) is None
    for _ in range(5):
        clock(50.0)
        assert study.renew(asked, token)
        assert study.ask(lease=1e6).id != asked.id
    clock(61.0)
    assert study.ask(lease=60.0).id == asked.id
    assert not study.renew(asked, token), "it is somebody else's"


def test_a_run_takes_what_is_free_and_notices_what_it_lost(study, clock):
    study.ask(2)
    hand_over(study)
    with (
        LeaseKeeper(study.store, alone=False) as first,
        LeaseKeeper(study.store, alone=False) as second,
    ):
        assert [t.id for t in first.claim(study.pending)] == [0, 1]
        assert second.claim(study.pending) == []
        assert not first.is_lost(0)
        clock(61.0)
        assert [t.id for t in second.claim(study.pending)] == [0, 1]
        assert first.is_lost(0)
        assert not second.is_lost(0)
    assert all(lease.holder is None for lease in study.store.leases().values())


def test_a_run_sends_heartbeats_while_it_works(study, monkeypatch):
    study.ask()
    hand_over(study)
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.4)
    with LeaseKeeper(study.store) as keeper:
        keeper.claim(study.pending)
        first, deadline = study.store.leases()[0].heartbeat, time.monotonic() + 300
        while study.store.leases()[0].heartbeat < first + 0.3:
            assert time.monotonic() < deadline, "no heartbeat"
            time.sleep(0.05)


RUN = """
import os, sys, time
from sdmbtl.studies import Study
from sdmbtl.studies.leases import LeaseKeeper
study = Study.open(sys.argv[1])
with LeaseKeeper(study.store, alone=sys.argv[2] == "alone") as keeper:
    keeper.claim(study.pending)
    if not os.fork():  # as an environment may
        time.sleep(600)
    print('held', flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", ["alone", "joined"])
def test_what_a_killed_process_held_is_free_at_once_although_its_child_lives(how, study):
    study.ask()
    hand_over(study)
    started = subprocess.Popen(
        [sys.executable, "-c", RUN, str(study.path), how],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert started.stdout.readline() == "held\n"
        assert study.running_process == started.pid
        with pytest.raises(BusyError, match=f"number {started.pid} on .*--join"):
            LeaseKeeper(study.store).__enter__()
        with LeaseKeeper(study.store, alone=False) as keeper:
            assert keeper.claim(study.pending) == []
            started.send_signal(signal.SIGKILL)
            started.wait()
            assert [t.id for t in keeper.claim(study.pending)] == [0]
        assert study.running_process is None
        with LeaseKeeper(study.store, alone=False):  # one that joins is seen as well
            assert study.running_process == os.getpid()
            with pytest.raises(BusyError, match=f"number {os.getpid()}"):
                repair(study.path)
            with pytest.raises(BusyError), LeaseKeeper(study.store):
                pass
        assert study.running_process is None
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.stdout.close()
