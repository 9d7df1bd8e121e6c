"""What Optuna does in the same place, run by a Python that has it: `optuna_side.py ROW KIND ...`.

KIND is "rdb", SQLite with a heartbeat and trials that are tried again, or "journal", a file. It
prints what happened as one line of JSON. Nothing of this package is imported.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fault_parts.crowds import run_crowd

optuna: Any = importlib.import_module("optuna")  # which is not a dependency of this package

NAME = "study"


def make_storage(kind: str, folder: Path, grace: int) -> Any:
    """The storage, as its documentation recommends it for several processes."""
    storages = importlib.import_module("optuna.storages")
    if kind == "journal":
        journal = importlib.import_module("optuna.storages.journal")
        return storages.JournalStorage(journal.JournalFileBackend(str(folder / "journal.log")))
    return storages.RDBStorage(
        f"sqlite:///{folder / 'study.db'}",
        engine_kwargs={"connect_args": {"timeout": 100}},
        heartbeat_interval=1,
        grace_period=grace,
        heartbeat_stale_trial_callback=storages.RetryHeartbeatStaleTrialCallback(),
    )


def load(kind: str, folder: Path, targets: int, grace: int = 10) -> Any:
    """The study, whose sampler goes through a grid: each point once is what is wanted."""
    grid = {"x": list(range(targets))}
    return optuna.create_study(
        study_name=NAME,
        storage=make_storage(kind, folder, grace),
        sampler=optuna.samplers.GridSampler(grid, seed=os.getpid()),
        load_if_exists=True,
    )


def describe(study: Any, targets: int) -> dict[str, Any]:
    """How many trials were completed, lost or run twice."""
    states = Counter(trial.state.name.lower() for trial in study.trials)
    done = Counter(t.params["x"] for t in study.trials if t.state.name == "COMPLETE")
    return {
        "version": optuna.__version__,
        "finished": states["complete"],
        "left_running": states["running"],
        "left_waiting": states["waiting"],
        "failed": states["fail"],
        "twice": sum(done.values()) - len(done),
        "never": targets - len(done),
    }


# -- crowd -------------------------------------------------------------------------------------


def _work(kind: str, folder: Path, pairs: int, number: int, rate: float) -> None:
    rng = random.Random(number)  # noqa: S311

    def objective(trial: Any) -> float:
        x = trial.suggest_int("x", 0, pairs - 1)
        if rng.random() < rate:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x)

    study = load(kind, folder, pairs)
    enough = optuna.study.MaxTrialsCallback(pairs, states=(optuna.trial.TrialState.COMPLETE,))
    study.optimize(objective, callbacks=[enough])


def crowd(kind: str, folder: Path, pairs: int, processes: int, rate: float) -> dict[str, Any]:
    """Many processes, of which some are killed in the middle of a trial and replaced."""
    load(kind, folder, pairs)
    begun = time.monotonic()
    ended = run_crowd(lambda number: _work(kind, folder, pairs, number, rate), processes)
    seconds = time.monotonic() - begun
    found = describe(load(kind, folder, pairs), pairs)
    return {**found, **ended, "seconds_per_pair": seconds / max(found["finished"], 1)}


# -- stopped, and clocks ------------------------------------------------------------------------


def _one(kind: str, folder: Path, grace: int, seconds: float, stop: bool) -> None:
    """One trial, in which the process stops itself or takes its time."""

    def objective(trial: Any) -> float:
        x = trial.suggest_int("x", 0, 3)
        if stop:
            time.sleep(2.0)  # until its heartbeat is on record
            os.kill(os.getpid(), signal.SIGSTOP)
        if seconds:
            print("begun", flush=True)
            time.sleep(seconds)
        return float(x)

    load(kind, folder, 4, grace=grace).optimize(objective, n_trials=1)


def stopped(kind: str, folder: Path) -> dict[str, Any]:
    """A process is stopped in a trial for longer than the grace period; another does the rest."""
    fork = multiprocessing.get_context("fork")
    load(kind, folder, 4, grace=2)
    first = fork.Process(target=_one, args=(kind, folder, 2, 0.0, True))
    first.start()
    os.waitid(os.P_PID, first.pid or 0, os.WSTOPPED)
    time.sleep(4.0)
    study = load(kind, folder, 4, grace=2)
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 3)), n_trials=4)
    os.kill(first.pid or 0, signal.SIGCONT)
    first.join()
    return {**describe(load(kind, folder, 4), 4), "stopped_one_ended_with": first.exitcode}


def clock_worker(kind: str, folder: Path) -> dict[str, Any]:
    """One trial of a process whose clock is right, which takes some seconds."""
    _one(kind, folder, 600, 20.0, stop=False)
    return {}


def clock_other(kind: str, folder: Path) -> dict[str, Any]:
    """One trial of a process whose clock may be wrong, then what is on record."""
    _one(kind, folder, 600, 0.0, stop=False)
    return describe(load(kind, folder, 4, grace=600), 4)


def main() -> None:
    """Do what is asked for."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    row, kind, folder, *numbers = sys.argv[1:]
    if row == "crowd":
        pairs, processes, rate = numbers
        found = crowd(kind, Path(folder), int(pairs), int(processes), float(rate))
    else:
        rows = {"stopped": stopped, "clock-worker": clock_worker, "clock-other": clock_other}
        found = rows[row](kind, Path(folder))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
