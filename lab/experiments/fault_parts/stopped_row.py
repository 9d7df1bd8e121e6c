"""Processes that are stopped for longer than their lease, and then continue."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from fault_parts.processes import (
    Settings,
    finish,
    let_continue,
    optuna_side,
    outcome,
    sdmbtl,
    start_driver,
    wait_until_stopped,
)

#: When a driver is stopped: before it trains, with a policy that is not recorded, or not evaluated.
MOMENTS = ("asked", "saved", "trained")
#: Number of policies, and seconds of a lease.
BUDGET, LEASE = 4, 2.0


def stopped_row(settings: Settings) -> dict[str, Any]:
    """Late results are superseded, nobody crashes, the budget is exact."""
    found = {moment: _stop_driver(settings, moment) for moment in MOMENTS}
    found["ask and tell"] = _tell_late(settings)
    held = all(
        one["finished"] == one["budget"]
        and one["superseded"] == 1
        and one["exits"] == [0, 0]
        and one["healthy"]
        and not one["twice"]
        for one in found.values()
    )
    counts = [f"{one['finished']} of {one['budget']}" for one in found.values()]
    late = sum(one["superseded"] for one in found.values())
    row: dict[str, Any] = {
        "fault": f"a process stopped past its lease (at {', '.join(MOMENTS)}; ask and tell), "
        "then continued",
        "held": held,
        "ours": f"{', '.join(counts)} policies; {late} late results superseded, none counted; "
        "nobody crashed",
        "numbers": found,
    }
    for kind in ("rdb", "journal"):
        folder = settings.work / kind
        folder.mkdir()
        theirs = optuna_side(settings, "stopped", kind, str(folder))
        if theirs is not None:
            row[f"optuna_{kind}"] = _in_words(theirs)
            row["numbers"][f"optuna_{kind}"] = theirs
    return row


def _in_words(theirs: dict[str, Any]) -> str:
    # Numbers of trials and points say little here: the other process runs four in any case.
    dead = "declared dead" if theirs["failed"] else "not taken over, its late result counts"
    crashed = theirs["stopped_one_ended_with"] != 0
    return f"its trial was {dead}; " + ("it crashed" if crashed else "nobody crashed")


def _stop_driver(settings: Settings, moment: str) -> dict[str, Any]:
    """One driver stops itself, another one finishes the study, the first one continues."""
    path = settings.work / moment
    together: dict[str, Any] = {"join": True, "lease_seconds": LEASE}
    first = start_driver(settings, path, BUDGET, stop_at=moment, **together)
    wait_until_stopped(first)
    second = finish(start_driver(settings, path, BUDGET, **together))
    let_continue(first)
    exits = [finish(first), second]
    return {**outcome(path), "budget": BUDGET, "exits": exits}


def _tell_late(settings: Settings) -> dict[str, Any]:
    """A job asks with a lease, another one gets the same later; both report."""
    path, space = settings.work / "asked-and-told", settings.work / "space.toml"
    space.write_text("[dimensions.x]\nvalues = [0, 1, 2, 3]\n")
    first = json.loads(sdmbtl(settings, "ask", path, "--space", space, "--lease", "1s").stdout)
    time.sleep(1.1)
    second = json.loads(sdmbtl(settings, "ask", path, "--lease", "600s").stdout)
    if first["id"] != second["id"]:
        raise SystemExit(f"It was not lent again: {first['id']}, {second['id']}.")
    exits = [_tell(settings, path, job) for job in (second, first)]
    return {**outcome(path), "budget": 1, "exits": exits}


def _tell(settings: Settings, path: Path, job: dict[str, Any]) -> int:
    report = json.dumps({**job, "returns": [float(job["lease"])] * 4})
    return sdmbtl(settings, "tell", path, "-", given=report).returncode
