"""Processes that are killed while they hold a lock."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fault_parts.driver import open_study
from fault_parts.processes import Settings, finish, outcome, start_driver, variables

LOCKS = {
    "run.lock": "the lock of who runs it",
    "study.lock": "the lock of who writes",
    "transaction": "a transaction of SQLite that is half written",
}


def locks_row(settings: Settings) -> dict[str, Any]:
    """The next start works, within 5 seconds."""
    path = settings.work / "study"
    open_study(path)
    finish(start_driver(settings, path, 1))
    found = {}
    for number, which in enumerate(LOCKS):
        _kill_holder(settings, path, which)
        journal = path / "study.db-journal"
        hot = journal.exists() and journal.stat().st_size > 0
        begun = time.monotonic()
        driver = start_driver(settings, path, number + 2)
        asked = finished = float("nan")
        for line in driver.stdout or ():
            asked = time.monotonic() - begun if line.startswith("asked") else asked
            finished = time.monotonic() - begun if line.startswith("finished") else finished
        status = finish(driver)
        found[which] = {
            "seconds_to_first_choice": round(asked, 2),
            "seconds_to_finished_policy": round(finished, 2),
            "exit": status,
            "journal_left": hot,
        }
    after = outcome(path)
    slowest = max(one["seconds_to_first_choice"] for one in found.values())
    held = after["healthy"] and after["finished"] == 4 and slowest < 5
    return {
        "fault": "kill -9 while holding " + ", ".join(LOCKS.values()),
        "held": bool(held and all(one["exit"] == 0 for one in found.values())),
        "ours": f"the next start, Python included, chooses within {slowest:.1f} s; nothing lost, "
        f"doctor: {'healthy' if after['healthy'] else 'findings'}",
        "numbers": {**found, "after": after},
    }


def _kill_holder(settings: Settings, path: Path, which: str) -> None:
    holder = subprocess.Popen(  # noqa: S603 (this package itself)
        [sys.executable, "-m", "fault_parts.holder", str(path), which],
        stdout=subprocess.PIPE,
        text=True,
        env=variables(settings.work),
    )
    if holder.stdout is None or holder.stdout.readline() != "held\n":
        raise SystemExit(f"{which} was not held.")
    holder.kill()
    finish(holder)
