"""What several processes and Ray cost; for a machine that does nothing else."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

from fault_parts.driver import open_study
from fault_parts.processes import Settings, variables
from fault_parts.search import do_nothing
from sdmbtl.execution import make_executor

#: Policies, seconds that each takes, and trivial tasks.
POLICIES, SECONDS, TASKS = 16, 3.0, 200


def speed_row(settings: Settings) -> dict[str, Any]:
    """Two jobs take half as long as one; a task of Ray costs milliseconds."""
    os.environ.update(variables(settings.work))
    candidates = _calibrate(settings)
    ways: dict[str, dict[str, Any]] = {
        "serial": {},
        "two processes": {"executor": "processes", "jobs": 2},
    }
    times = {name: _run(settings, name, candidates, **how) for name, how in ways.items()}
    tasks = {name: _task_times(name) for name in ("processes", "ray")}
    efficiency = times["serial"] / (2 * times["two processes"])
    return {
        "fault": f"none: {POLICIES} policies of {SECONDS:g} s each, and {TASKS} trivial tasks",
        "held": efficiency > 0.8,
        "ours": f"two processes: {efficiency:.0%} of twice the speed of one after another; a "
        f"task takes {1e3 * tasks['processes']:.1f} ms in a process, {1e3 * tasks['ray']:.1f} ms "
        "on Ray",
        "numbers": {
            "seconds": times,
            "efficiency": efficiency,
            "median_seconds_of_a_task": tasks,
            "candidates": candidates,
        },
    }


def _calibrate(settings: Settings) -> int:
    """How many linear policies are played in the seconds of a run."""
    probe = 1000
    _run(settings, "probe", probe, policies=1)
    times = open_study(settings.work / "probe", targets=16, candidates=probe).database.seconds()
    return max(round(probe * SECONDS / times[0]["training"]), 1)


def _run(
    settings: Settings, name: str, candidates: int, policies: int = POLICIES, **how: Any
) -> float:
    """Seconds of a study, the start of its processes included."""
    study = open_study(settings.work / name, targets=16, candidates=candidates)
    begun = time.monotonic()
    options: dict[str, Any] = {"progress": False, "log_every": None, "checkpoint_seconds": None}
    study.run(policies, eval_processes=1, **options, **how)
    return time.monotonic() - begun


def _task_times(name: str) -> float:
    """Median of the seconds from submitting a task to its result."""
    with make_executor(name, 1) as executor:
        executor.submit(do_nothing).result()  # which starts the worker
        times = []
        for _ in range(TASKS):
            begun = time.monotonic()
            executor.submit(do_nothing).result()
            times.append(time.monotonic() - begun)
    return statistics.median(times)
