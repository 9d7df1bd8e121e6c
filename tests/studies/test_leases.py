"""Leases: when they are free, whose result counts, and what the time of day has to do with it."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sdmbtl.studies.lease_holder import LeaseHolder

from sdmbtl import ContextSpace
from sdmbtl.errors import SelectorError, StudyError
from sdmbtl.studies import Study, leases
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.leases import Lease, grant

ROW = np.arange(8.0)


@pytest.fixture
def clock(monkeypatch):
    """The clock of this machine, which only the test moves."""
    now = [1000.0]
    monkeypatch.setattr(leases, "machine_clock", lambda: now[0])

    def advance(seconds):
        now[0] += seconds

    return advance


@pytest.fixture
def study(tmp_path):
    return Study.open(tmp_path / "study", space=ContextSpace(x=np.linspace(0, 1, 8)))


def test_a_lease_is_free_after_its_seconds_unless_it_is_renewed(clock):
    lease = grant(None, 10.0, None)
    clock(9.9)
    assert not lease.is_free
    renewed = lease.renewed()
    clock(0.2)
    assert lease.is_free
    assert not renewed.is_free
    clock(10.0)
    assert renewed.is_free


def test_another_machine_counts_from_when_it_looked(clock, monkeypatch):
    lease = grant(None, 10.0, None)
    clock(50.0)
    monkeypatch.setattr(leases, "this_machine", lambda: "another")
    assert not lease.is_free, "it has never looked: its clock says nothing of the lease"
    seen = lease.looked_at()
    assert not seen.is_free
    clock(10.0)
    assert seen.is_free
    assert not seen.renewed().is_free


def test_a_lease_ends_with_its_process(clock):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    own = (process.pid, leases._started(process.pid), 1)
    lease = Lease(1, "somebody", 1e6, machine=leases.this_machine(), process=own)
    assert not lease.is_free
    process.kill()
    process.wait()
    assert lease.is_free
    other = Lease(1, "somebody", 1e6, machine="another", process=own)
    assert not other.is_free, "a number of a process means nothing on another machine"


def test_a_later_process_of_the_same_number_is_another_one():
    later = (os.getppid(), leases._started(os.getppid()) - 1, 1)
    assert Lease(1, "somebody", 1e6, machine=leases.this_machine(), process=later).is_free


def test_a_lease_is_data():
    lease = grant(grant(None, 5.0, None), 7.0, 3)
    assert lease.token == 2
    assert Lease.from_dict(lease.to_dict()) == lease
    assert lease.given_back().is_free


def test_the_time_of_day_does_not_matter(study, clock, monkeypatch):
    first = study.ask(lease=3600.0)
    token = study.lease_of(first)
    for offset in (3600.0, -3600.0, 1e9):
        monkeypatch.setattr(time, "time", lambda offset=offset: 1.8e9 + offset)
        assert study.ask(lease=3600.0).id != first.id, "no lease is lost"
        assert study.lease_of(first) == token, "or doubled"
    assert study.tell(first, ROW, lease=token).status == "finished"


def test_what_is_not_reported_is_lent_again_and_a_late_result_does_not_count(study, clock, caplog):
    asked = study.ask(lease=60.0)
    slow = study.lease_of(asked)
    assert study.ask(lease=60.0).id == 1
    clock(61.0)
    again = study.ask(lease=60.0)
    quick = study.lease_of(again)
    assert (again.id, slow, quick) == (asked.id, 1, 2)
    late = study.tell(asked, ROW - 100, lease=slow)
    assert late.status == "pending"
    assert "kept as superseded" in caplog.text
    assert study.tell(again, ROW, lease=quick).status == "finished"
    later = study.tell(asked, ROW - 50, lease=slow)
    assert np.array_equal(later.row, ROW)
    kept = study.database.superseded()
    assert [(entry["trial"], entry["token"]) for entry in kept] == [(0, 1), (0, 1)]
    assert np.array_equal(kept[0]["row"], ROW - 100)
    assert study.status()["superseded"] == 2
    assert study.performance == ROW.mean()
    assert examine(study.path).healthy


def test_without_the_number_of_a_lease_a_result_counts_only_if_it_was_lent_once(study, clock):
    once, twice = study.ask(2, lease=60.0)
    study.tell(once, ROW)
    clock(61.0)
    assert study.ask(lease=60.0).id == twice.id
    with pytest.raises(StudyError, match="was lent 2 times"):
        study.tell(twice, ROW)


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_how_many_are_asked_for_is_checked_before_any_are_lent_again(study, clock, n):
    study.ask(2, lease=60.0)
    clock(61.0)
    with pytest.raises(SelectorError, match="'n' must be a whole number >= 1"):
        study.ask(n, lease=60.0)
    assert {lease.token for lease in study.database.leases().values()} == {1}


def test_attributes_are_recorded_with_what_is_asked(study, clock, monkeypatch):
    (old,) = study.ask(1, lease=60.0, attributes={"who": "first", "where": "here"})
    clock(61.0)
    writes, write = [], study.database.write

    def count(*arguments, **options):
        writes.append(arguments)
        return write(*arguments, **options)

    monkeypatch.setattr(study.database, "write", count)
    again, new = study.ask(2, lease=60.0, attributes={"who": "second"})
    assert len(writes) == 1, "all or nothing, if it is killed"
    assert again.id == old.id
    assert again.attributes == {"who": "second", "where": "here"}
    assert new.attributes == {"who": "second"}
    assert [t.attributes for t in Study.open(study.path).trials] == [
        again.attributes,
        new.attributes,
    ]
    with pytest.raises(SelectorError, match="Attributes of a trial are JSON data"):
        study.ask(attributes={"who": object()})


def test_one_lease_is_found_among_all(study, clock):
    first, second = study.ask(2, lease=60.0)
    assert study.database.lease(second.id) == study.database.leases()[second.id]
    assert study.database.lease(first.id) != study.database.lease(2)
    assert study.database.lease(2) is None


def test_a_renewed_lease_holds(study, clock):
    asked = study.ask(lease=60.0)
    token = study.lease_of(asked)
    for _ in range(5):
        clock(50.0)
        assert study.renew(asked, token)
        assert study.ask(lease=1e6).id != asked.id
    clock(61.0)
    assert study.ask(lease=60.0).id == asked.id
    assert not study.renew(asked, token), "it is somebody else's"


def test_what_is_asked_without_a_lease_is_never_lent_again(study, clock):
    asked = study.ask()
    assert study.lease_of(asked) is None
    clock(1e9)
    assert study.ask(lease=60.0).id != asked.id


def test_a_holder_takes_what_is_free_and_notices_what_it_lost(study, clock):
    study.ask(2)
    study.adopt_pending()
    with LeaseHolder(study, 60.0) as first, LeaseHolder(study, 60.0) as second:
        assert [t.id for t in first.claim(study.pending)] == [0, 1]
        assert second.claim(study.pending) == []
        assert not first.is_lost(0)
        clock(61.0)
        assert [t.id for t in second.claim(study.pending)] == [0, 1]
        assert first.is_lost(0)
        assert not second.is_lost(0)
        assert first.give_back(0) == {}, "it is not its own any more"
    assert all(lease.holder is None for lease in study.database.leases().values())


def test_a_holder_renews_while_it_works(study):
    study.ask()
    study.adopt_pending()
    with LeaseHolder(study, 0.4) as holder:
        holder.claim(study.pending)
        deadline = time.monotonic() + 60
        while study.database.leases()[0].beats < 3:
            assert time.monotonic() < deadline, "it is not renewed"
            time.sleep(0.05)


def test_what_a_killed_process_held_is_free_at_once(study):
    study.ask()
    study.adopt_pending()
    script = (
        "import sys, time\nfrom sdmbtl.studies import Study\n"
        "from sdmbtl.studies.lease_holder import LeaseHolder\n"
        "study = Study.open(sys.argv[1])\n"
        "with LeaseHolder(study, 1e6) as holder:\n"
        "    holder.claim(study.pending)\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", script, str(study.path)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "held\n"
    with LeaseHolder(study, 60.0) as holder:
        assert holder.claim(study.pending) == []
        started.send_signal(signal.SIGKILL)
        started.wait()
        assert [t.id for t in holder.claim(study.pending)] == [0]
    started.stdout.close()
