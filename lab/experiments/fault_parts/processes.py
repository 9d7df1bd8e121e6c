"""Processes to do harm to, and what is left of a study afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Settings:
    """What every row is told.

    Attributes:
        work: A directory for its files.
        rounds: Number of policies, where there are many.
        kills: How often a driver is killed, where that is done often.
        optuna: The Python that has Optuna; None to leave it out.
        seed: Of everything that is done at random.
    """

    work: Path
    rounds: int
    kills: int
    optuna: str | None
    seed: int


def variables(work: Path) -> dict[str, str]:
    """The environment of processes that are started: they find this package, and trust it."""
    path = os.pathsep.join([str(HERE.parent), *(p for p in sys.path if p)])
    state = {"XDG_STATE_HOME": str(work / "state")}
    return {**os.environ, **state, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def start_driver(
    settings: Settings, path: Path, budget: int, more: dict[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Start a process that runs a study; see `fault_parts.driver`."""
    return subprocess.Popen(  # noqa: S603 (this package itself)
        [
            *(sys.executable, "-m", "fault_parts.driver"),
            *(str(path), str(budget), json.dumps(options)),
        ],
        stdout=subprocess.PIPE,
        stderr=(settings.work / "errors.txt").open("a"),
        text=True,
        env={**variables(settings.work), **(more or {})},
    )


def sdmbtl(
    settings: Settings,
    *arguments: str | Path,
    given: str | None = None,
    more: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command of the package to its end."""
    return subprocess.run(  # noqa: S603 (this package itself)
        [sys.executable, "-m", "sdmbtl", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=given,
        check=False,
        env={**variables(settings.work), **(more or {})},
    )


def optuna_side(
    settings: Settings, *arguments: str, more: dict[str, str] | None = None
) -> dict[str, Any] | None:
    """What Optuna does; None if it is left out."""
    if settings.optuna is None:
        return None
    done = subprocess.run(  # noqa: S603 (the Python that was given)
        [settings.optuna, str(HERE / "optuna_side.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parent), **(more or {})},
    )
    if done.returncode:
        raise SystemExit(f"Optuna's part failed: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    """Wait for a process that stops itself."""
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def let_continue(process: subprocess.Popen[str]) -> None:
    """Have a stopped process continue."""
    process.send_signal(signal.SIGCONT)


def finish(process: subprocess.Popen[str]) -> int:
    """Read a process to its end; returns its exit status."""
    process.communicate()
    return process.returncode


def outcome(path: Path) -> dict[str, Any]:
    """What is left of a study: how many policies, contexts trained on twice, what a doctor says."""
    study = Study.open(path, trust=True)
    finished = [t for t in study.trials if t.status == "finished"]
    contexts = [tuple(t.context.values()) for t in finished]
    here = [t for t in finished if t.run is not None]
    diagnosis = examine(path)
    return {
        "finished": len(finished),
        "failed": sum(t.status == "failed" for t in study.trials),
        "pending": len(study.pending),
        "twice": len(contexts) - len(set(contexts)),
        "policies_lost": sum(study.policy_state(t) != "intact" for t in here),
        "superseded": len(study.database.superseded()),
        "healthy": diagnosis.healthy,
        "findings": [str(f) for f in diagnosis.to_dict().get("findings", [])]
        if not diagnosis.healthy
        else [],
    }
