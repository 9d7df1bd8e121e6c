"""The time of day is set forward and back by an hour while leases are held.

The clock of this machine stays as it is: a library that is loaded before all others tells single
processes another time of day, SQLite and Python alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from fault_parts.processes import (
    HERE,
    Settings,
    finish,
    optuna_side,
    outcome,
    sdmbtl,
    start_driver,
)

HOUR = 3600
BUDGET, LEASE = 8, 30.0


def clock_row(settings: Settings) -> dict[str, Any]:
    """No lease is lost, none is given to two."""
    library = settings.work / "shifted_clock.so"
    source = str(HERE / "shifted_clock.c")
    subprocess.run(  # noqa: S603
        ["cc", "-shared", "-fPIC", "-o", str(library), source, "-ldl"],  # noqa: S607
        check=True,
    )
    clocks = {hours: _clock(settings, library, hours) for hours in (0, 1, -1)}
    _check_clocks(clocks)
    found = {"ask and tell": _lend(settings, clocks), "drivers": _drive(settings, library)}
    held = all(
        one["finished"] == one["budget"] and one["healthy"] and one["lost_or_doubled"] == 0
        for one in found.values()
    )
    row: dict[str, Any] = {
        "fault": "the time of day set forward and back an hour (for single processes, by a "
        "preloaded library)",
        "held": held,
        "ours": f"{sum(one['lost_or_doubled'] for one in found.values())} leases lost or doubled, "
        "with ask and tell and in two drivers that run side by side",
        "numbers": found,
    }
    theirs = _optuna(settings, clocks)
    if theirs is not None:
        lost = theirs["failed"]
        row["optuna_rdb"] = f"{lost} of 1 running trial declared dead by a process an hour ahead"
        row["optuna_journal"] = "no heartbeat: what dies stays “running”"
        row["numbers"]["optuna_rdb"] = theirs
    return row


def _clock(settings: Settings, library: Path, hours: int) -> dict[str, str]:
    """Variables of a process whose clock is so many hours ahead."""
    file = settings.work / f"shift{hours}"
    file.write_text(str(HOUR * hours))
    return {"LD_PRELOAD": str(library), "SHIFT_FILE": str(file)}


def _check_clocks(clocks: dict[int, dict[str, str]]) -> None:
    """Make sure that processes see another time, and the same clock since the start."""
    code = "import sqlite3, time; print(time.time(), time.monotonic(), sqlite3.connect(':memory:')"
    code += '.execute("SELECT unixepoch()").fetchone()[0])'
    seen = {}
    for hours, clock in clocks.items():
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, **clock},
        )
        seen[hours] = [float(word) for word in done.stdout.split()]
    for hours in (1, -1):
        apart = [round((a - b) / HOUR) for a, b in zip(seen[hours], seen[0], strict=True)]
        if apart != [hours, 0, hours]:
            raise SystemExit(f"The clock was not shifted: {apart}.")


def _lend(settings: Settings, clocks: dict[int, dict[str, str]]) -> dict[str, Any]:
    """Ask with a lease under one clock, ask and renew under others, tell."""
    path, space = settings.work / "lent", settings.work / "space.toml"
    space.write_text("[dimensions.x]\nvalues = [0, 1, 2, 3]\n")
    asked = sdmbtl(settings, "ask", path, "--space", space, "--lease", "600s", more=clocks[0])
    first = json.loads(asked.stdout)
    wrong = 0
    for hours in (1, -1, 1):
        again = sdmbtl(settings, "ask", path, "--lease", "600s", more=clocks[hours])
        wrong += json.loads(again.stdout)["id"] == first["id"]
        held = ["--id", str(first["id"]), "--lease", str(first["lease"])]
        wrong += sdmbtl(settings, "renew", path, *held, more=clocks[-hours]).returncode != 0
    report = json.dumps({**first, "returns": [0.0] * 4})
    sdmbtl(settings, "tell", path, "-", given=report, more=clocks[-1])
    found = outcome(path)
    return {**found, "budget": 1, "lost_or_doubled": wrong + found["superseded"]}


def _drive(settings: Settings, library: Path) -> dict[str, Any]:
    """Two drivers side by side, the clock of one of which is set back and forth all the time."""
    path = settings.work / "driven"
    clock = _clock(settings, library, 0)
    together: dict[str, Any] = {"join": True, "lease_seconds": LEASE, "study": {"seconds": 0.3}}
    first = start_driver(settings, path, BUDGET, clock, **together)
    second = None
    for number, line in enumerate(first.stdout or ()):
        if line.startswith("asked") and second is None:
            second = start_driver(settings, path, BUDGET, **together)
        Path(clock["SHIFT_FILE"]).write_text(str(HOUR * (number % 3 - 1)))
    exits = [finish(driver) for driver in (first, second) if driver is not None]
    found = outcome(path)
    wrong = found["superseded"] + found["twice"] + sum(status != 0 for status in exits)
    return {**found, "budget": BUDGET, "lost_or_doubled": wrong, "exits": exits}


def _optuna(settings: Settings, clocks: dict[int, dict[str, str]]) -> dict[str, Any] | None:
    """One trial takes its time; a process whose clock is an hour ahead does another one."""
    if settings.optuna is None:
        return None
    folder = settings.work / "optuna"
    folder.mkdir()
    worker = subprocess.Popen(  # noqa: S603
        [settings.optuna, str(HERE / "optuna_side.py"), "clock-worker", "rdb", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    if worker.stdout is None or worker.stdout.readline() != "begun\n":
        raise SystemExit("Optuna's worker has not begun.")
    found = optuna_side(settings, "clock-other", "rdb", str(folder), more=clocks[1])
    return {**(found or {}), "worker_ended_with": finish(worker)}
