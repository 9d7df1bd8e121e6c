"""Many processes ask and tell in one study through separate commands; some commands are killed.

`busy_workers.py PATH PROCESSES PAIRS SEED` makes a study below PATH and lets each process ask for a
context and tell its row until there are so many pairs in all. A tenth of the commands, each a fork
of this process, are killed at a random moment, and given again. Then every row must be on record,
once and unchanged.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from sdmbtl.cli import app
from sdmbtl.studies import Study

DIMENSION = "[dimensions.{}]\nlow = 0\nhigh = 1\nlevels = 40\n"
KILLED_SHARE = 0.1
TRY_AGAIN, REPORTED_BEFORE = 75, 2


def row_of(number):
    """The row of a trial, the same whenever it is reported."""
    return np.random.default_rng(number).normal(size=1600).round(6).tolist()


def start_command(path, report=None):
    """Give `sdmbtl ask` or `tell` in a process; returns its number, and the pipe it prints to."""
    receiving, sending = os.pipe()
    number = os.fork()
    if number:
        os.close(sending)
        return number, receiving
    status = 1
    try:
        os.dup2(sending, 1)
        sys.stdout = os.fdopen(1, "w")
        words = ["ask", str(path)]
        if report is not None:
            row = path.parent / f"{os.getpid()}.json"
            row.write_text(json.dumps(report))
            words = ["tell", str(path), str(row)]
        app(words)
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def end_command(number, receiving):
    """Wait for a command; returns its exit status, below 0 for a signal, and what it printed."""
    with os.fdopen(receiving) as pipe:
        printed = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), printed


class Worker:
    """Asks and tells; counts what happens."""

    def __init__(self, path, rng, seconds):
        self.path, self.rng, self.seconds = path, rng, seconds
        self.counts = Counter()
        self.told = []

    def command(self, report=None):
        """Give a command until it ends by itself; returns its status and output."""
        was_killed = False
        while True:
            self.counts["commands"] += 1
            number, receiving = start_command(self.path, report)
            if self.rng.random() < KILLED_SHARE:
                time.sleep(self.rng.uniform(0.0, self.seconds))
                os.kill(number, signal.SIGKILL)
            status, printed = end_command(number, receiving)
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


def start_worker(path, pairs, seed, seconds):
    """Let a worker work in a process; returns the pipe on which it reports."""
    receiving, sending = os.pipe()
    if os.fork():
        os.close(sending)
        return receiving
    report = {"error": "?"}
    try:
        worker = Worker(path, np.random.default_rng(seed), seconds)
        worker.work(pairs)
        report = {"counts": worker.counts, "told": worker.told}
    except BaseException:  # noqa: BLE001 (reported, whatever it is)
        report = {"error": traceback.format_exc()}
    finally:
        os.write(sending, json.dumps(report).encode())
        os._exit(0)


def main(place, processes, pairs, seed):
    path = place / "study"
    (place / "space.toml").write_text(DIMENSION.format("a") + DIMENSION.format("b"))
    Study.open(path, space=place / "space.toml", selector="random")
    begun = time.monotonic()
    end_command(*start_command(path))
    seconds = time.monotonic() - begun
    first = len(Study.open(path).trials)
    shares = [pairs // processes + (n < pairs % processes) for n in range(processes)]
    pipes = [start_worker(path, share, [seed, n], seconds) for n, share in enumerate(shares)]
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
    main(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
