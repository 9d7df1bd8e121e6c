"""Many processes ask and tell in one study through separate commands; some commands are killed.

`busy_workers.py PATH PROCESSES PAIRS SEED` makes a study below PATH and lets each process ask for a
context and tell its row until there are so many pairs in all. A tenth of the commands are killed at
a random moment, and given again. Then every row must be on record, once and unchanged. With
`--in-process`, a command is a fork of this process instead of one that starts Python.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from sdmbtl import SdmbtlError
from sdmbtl.errors import BusyError, DuplicateTellError
from sdmbtl.studies import Study

DIMENSION = "[dimensions.{}]\nlow = 0\nhigh = 1\nlevels = 40\n"
KILLED_SHARE = 0.1
TRY_AGAIN, REPORTED_BEFORE = 75, 2


def row_of(number):
    """The row of a trial, the same whenever it is reported."""
    return np.random.default_rng(number).normal(size=1600).round(6).tolist()


def ask_here(path):
    trial = Study.open(path).ask()
    print(json.dumps({"id": trial.id}), flush=True)


def tell_here(path, report):
    Study.open(path).tell(report["id"], report["returns"])


class Process:
    """A command in a process of its own, whose output can be read."""

    def __init__(self, path, report=None, *, fork=False):
        if fork:
            self._fork(path, report)
            return
        words = ["ask", str(path)] if report is None else ["tell", str(path), "-"]
        given = None if report is None else json.dumps(report)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sdmbtl", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(given or "")
            self.process.stdin.close()
        self.pid = self.process.pid

    def _fork(self, path, report):
        self.process = None
        self.receiving, sending = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(sending)
            return
        status = 1
        try:
            os.dup2(sending, 1)
            sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"))
            ask_here(path) if report is None else tell_here(path, report)
            status = 0
        except BusyError:
            status = TRY_AGAIN
        except DuplicateTellError:
            status = REPORTED_BEFORE
        except SdmbtlError:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def end(self):
        """Wait for it; returns its exit status, below 0 for a signal, and what it printed."""
        if self.process is not None:
            printed, errors = self.process.stdout.read(), self.process.stderr.read()
            status = self.process.wait()
            if status > 0 and "reported before" not in errors:
                print(errors, file=sys.stderr)
            return status, printed
        with os.fdopen(self.receiving) as pipe:
            printed = pipe.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), printed


class Worker:
    """Asks and tells; counts what happens."""

    def __init__(self, path, rng, seconds, *, fork):
        self.path, self.rng, self.seconds, self.fork = path, rng, seconds, fork
        self.counts = Counter()
        self.told = []

    def command(self, report=None):
        """Give a command until it ends by itself; returns its status and output."""
        was_killed = False
        while True:
            self.counts["commands"] += 1
            process = Process(self.path, report, fork=self.fork)
            if self.rng.random() < KILLED_SHARE:
                time.sleep(self.rng.uniform(0.0, self.seconds))
                os.kill(process.pid, signal.SIGKILL)
            status, printed = process.end()
            if status == -signal.SIGKILL:
                self.counts["killed"] += 1
                was_killed = True
                if report is None and printed:  # chosen and printed, then killed
                    return printed
                continue
            if status == TRY_AGAIN:
                self.counts["refused"] += 1
                continue
            if status == REPORTED_BEFORE and was_killed:
                return printed  # it was recorded before it was killed
            if status:
                raise AssertionError(f"exit status {status}")
            return printed

    def work(self, pairs):
        for _ in range(pairs):
            number = json.loads(self.command())["id"]
            self.command({"id": number, "returns": row_of(number)})
            self.told.append(number)


def start_worker(path, pairs, seed, seconds, fork):
    """Let a worker work in a process; returns the pipe on which it reports."""
    receiving, sending = os.pipe()
    if os.fork():
        os.close(sending)
        return receiving
    report = {"error": "?"}
    try:
        worker = Worker(path, np.random.default_rng(seed), seconds, fork=fork)
        worker.work(pairs)
        report = {"counts": worker.counts, "told": worker.told}
    except BaseException:  # noqa: BLE001 (reported, whatever it is)
        report = {"error": traceback.format_exc()}
    finally:
        os.write(sending, json.dumps(report).encode())
        os._exit(0)


def main(place, processes, pairs, seed, *, fork):
    path = place / "study"
    (place / "space.toml").write_text(DIMENSION.format("a") + DIMENSION.format("b"))
    Study.open(path, space=place / "space.toml", selector="random")
    begun = time.monotonic()
    Process(path, fork=fork).end()
    seconds = time.monotonic() - begun
    first = len(Study.open(path).trials)
    shares = [pairs // processes + (n < pairs % processes) for n in range(processes)]
    pipes = [start_worker(path, share, [seed, n], seconds, fork) for n, share in enumerate(shares)]
    reports = []
    for pipe in pipes:
        with os.fdopen(pipe) as stream:
            reports.append(json.loads(stream.read()))
        os.wait()
    for report in reports:
        if "error" in report:
            raise AssertionError(report["error"])
    print(json.dumps(summary(path, reports, first)))


def summary(path, reports, first):
    """What was done, and what is not on record as it was told."""
    counts = sum((Counter(report["counts"]) for report in reports), Counter())
    told = [number for report in reports for number in report["told"]]
    study = Study.open(path)
    finished = {t.id: t.row.tolist() for t in study.trials if t.status == "finished"}
    return {
        "processes": len(reports),
        **{name: counts[name] for name in ("commands", "killed", "refused")},
        "told": len(told),
        "told twice": len(told) - len(set(told)),
        "recorded": len(finished),
        "lost": sum(finished.get(number) != row_of(number) for number in told),
        "asked and killed": len(study.pending) - first,
        "contexts chosen twice": len(study.trials) - len({t.index for t in study.trials}),
    }


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        *map(int, sys.argv[2:5]),
        fork="--in-process" in sys.argv,
    )
