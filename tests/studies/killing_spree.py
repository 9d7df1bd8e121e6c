"""Run small studies, harm each again and again, and see that nothing is lost.

`killing_spree.py PATH HARMS SEED` makes studies below PATH, each of two batches of two policies, in
processes that are harmed at a random moment of their writing:

- kill: the process is killed before or after a statement, a flush or a change of names;
- late: it is killed after a random time, also in the middle of a commit;
- torn: it is killed when a file grows beyond a random size, with half of a write on disk;
- full: such a write fails instead, as on a full disk.

After each, all that was recorded must be there, unchanged, and each study must end with the same
bytes. Training is a stand-in that takes no time.
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
from stand_ins import STAND_INS, make_study, run_quickly

from sdmbtl import SdmbtlError
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine

KINDS = ("kill", "late", "torn", "full")
REFUSED = 3

#: Statements that read only, before and after which nothing can be lost.
READING = ("SELECT", "PRAGMA")


def run_study(path):
    for place, name, value in STAND_INS:
        setattr(place, name, value)
    run_quickly(path)


def outcome(path, files="0*"):
    """Policies, trials and returns of a study: all that must be the same in the end."""
    study = Study.open(path)
    files = sorted((path / "policies").glob(files))
    policies = [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files]
    trials = [json.dumps(trial.to_dict()) for trial in study.trials]
    return policies, trials, study.returns.tobytes()


class Trap:
    """Kills the process at one of its writes.

    Args:
        left: Number of the write, from 0; None to count them only.
    """

    def __init__(self, left=None):
        self.left, self.passed = left, 0

    def spring(self):
        if self.passed == self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1

    def around(self, function):
        def guarded(*arguments, **options):
            self.spring()
            result = function(*arguments, **options)
            self.spring()
            return result

        return guarded

    def set_up(self):
        """Watch statements, commits, flushes and changes of names."""
        trap = self

        class Watched(sqlite3.Connection):
            def execute(self, statement, *arguments):
                run = super().execute
                if not statement.lstrip().upper().startswith(READING):
                    run = trap.around(run)
                return run(statement, *arguments)

        connect = sqlite3.connect
        sqlite3.connect = lambda *a, **options: connect(*a, factory=Watched, **options)
        os.fsync = self.around(os.fsync)
        Path.replace = self.around(Path.replace)


def in_a_process(work):
    """Fork, work there; returns the number of the process."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        work()
        status = 0
    except SdmbtlError:
        status = REFUSED
    except BaseException:  # noqa: BLE001 (reported, whatever it is)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def harmed(kind, path, rng, writes, seconds):
    """Run a study in a process that is harmed; returns how that ended, a signal below 0."""

    def work():
        if kind == "kill":
            Trap(int(rng.integers(writes))).set_up()
        if kind in ("torn", "full"):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kind == "torn" else signal.SIG_IGN)
            size = int(rng.integers((path / "study.db").stat().st_size + 8192))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        run_study(path)

    number = in_a_process(work)
    if kind == "late":
        time.sleep(rng.uniform(0.0, seconds))
        os.kill(number, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def recorded(path):
    """Rows and policies on record, by the number of the trial."""
    study = Study.open(path)
    kept = {}
    for trial in study.trained:
        if study.files.state(trial) != "intact":
            raise AssertionError(f"policy {trial.id} is recorded and not here")
        row = None if trial.row is None else trial.row.tobytes()
        kept[trial.id] = trial.run.policy_sha256, row
    return kept


def lost_since(before, now):
    """How many policies or rows are gone or have changed."""
    return sum(
        number not in now or now[number][0] != policy or row not in (None, now[number][1])
        for number, (policy, row) in before.items()
    )


def measured(path):
    """Number of writes, and seconds, of a run that is not harmed."""
    receiving, sending = os.pipe()

    def work():
        trap = Trap()
        trap.set_up()
        run_study(path)
        os.write(sending, str(trap.passed).encode())

    begun = time.monotonic()
    number = in_a_process(work)
    if os.waitpid(number, 0)[1]:
        raise AssertionError("the run that is not harmed failed")
    return int(os.read(receiving, 20)), time.monotonic() - begun


def main(place, harms, seed):
    blank = place / "blank"
    subprocess.run([sys.executable, __file__, blank], check=True)
    shutil.copytree(blank, place / "reference")
    writes, seconds = measured(place / "reference")
    reference = outcome(place / "reference")
    counts, lost, different, studies = Counter(), 0, 0, 0
    rng = np.random.default_rng(seed)
    while counts.total() < harms:
        studies += 1
        path = place / f"study-{studies}"
        shutil.copytree(blank, path)
        before, status = {}, 1
        while status != 0 and counts.total() < harms:
            kind = str(rng.choice(KINDS))
            status = harmed(kind, path, rng.spawn(1)[0], writes, seconds)
            if status == 1:
                raise AssertionError(f"an error that is none of ours, after {kind} in {path}")
            counts[kind] += status != 0
            now = recorded(path)
            lost += lost_since(before, now)
            before = now
        if os.waitpid(in_a_process(lambda path=path: run_study(path)), 0)[1]:
            raise AssertionError(f"the study in {path} does not continue")
        lost += lost_since(before, recorded(path))
        different += outcome(path) != reference or not examine(path).healthy
        shutil.rmtree(path)
    print(json.dumps({**counts, "studies": studies, "lost": lost, "different": different}))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        make_study(Path(sys.argv[1]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
