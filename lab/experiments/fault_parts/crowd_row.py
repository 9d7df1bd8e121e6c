"""Many processes that ask and tell, some of which are killed in between."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from fault_parts.crowds import run_crowd
from fault_parts.processes import Settings, optuna_side, outcome
from sdmbtl import ContextSpace
from sdmbtl.errors import ExhaustedError
from sdmbtl.studies import Study

#: Processes, pairs of ask and tell, share that is killed in between, seconds of a lease.
PROCESSES, PAIRS, RATE, LEASE = 16, 400, 0.1, 10.0


def crowd_row(settings: Settings) -> dict[str, Any]:
    """The count is exact, no context is lost, none is told twice."""
    path = settings.work / "study"
    space = ContextSpace(x=np.arange(PAIRS))
    Study.open(path, space=space, selector="random", seed=settings.seed)
    begun = time.monotonic()
    ended = run_crowd(lambda number: _work(path, number), PROCESSES)
    seconds = time.monotonic() - begun
    found = {**outcome(path), **ended, "seconds_per_pair": seconds / PAIRS}
    held = found["finished"] == PAIRS and not (found["twice"] or found["pending"])
    row: dict[str, Any] = {
        "fault": f"{PROCESSES} processes, {PAIRS} pairs of ask and tell, a tenth killed between",
        "held": bool(held and found["healthy"] and not ended["errors"]),
        "ours": f"{found['finished']} of {PAIRS} ({ended['killed']} killed), {found['pending']} "
        f"lost, {found['twice']} twice; {found['seconds_per_pair']:.2f} s a pair",
        "numbers": {"ours": found},
    }
    for kind in ("rdb", "journal"):
        folder = settings.work / kind
        folder.mkdir()
        numbers = (str(PAIRS), str(PROCESSES), str(RATE))
        theirs = optuna_side(settings, "crowd", kind, str(folder), *numbers)
        if theirs is not None:
            row[f"optuna_{kind}"] = (
                f"{theirs['finished']} of {PAIRS} ({theirs['killed']} killed), {theirs['never']} "
                f"points never, {theirs['twice']} twice, {theirs['left_running']} left as running, "
                f"{theirs['errors']} processes ended by an error; "
                f"{theirs['seconds_per_pair']:.2f} s a pair"
            )
            row["numbers"][f"optuna_{kind}"] = theirs
    return row


def _work(path: Path, number: int) -> None:
    """Ask and tell until all is told; perhaps be killed in between."""
    rng = random.Random(number)  # noqa: S311
    study = Study.open(path, wait=600.0)
    row = np.zeros(PAIRS)
    while study.n_finished < PAIRS:
        try:
            trial = study.ask(lease=LEASE)
        except ExhaustedError:  # the rest is others', or comes back when their leases run out
            time.sleep(0.5)
            study.refresh()
            continue
        token = study.lease_of(trial)
        if rng.random() < RATE:
            os.kill(os.getpid(), signal.SIGKILL)
        study.tell(trial, row + trial.id, lease=token)
