"""One process that runs a study: `python -m fault_parts.driver PATH BUDGET [JSON]`.

It prints every event as "stage id", so that whoever has started it knows when to do harm.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import fault_parts.search  # noqa: F401 (its trainer has a name then)
from sdmbtl import ContextSpace
from sdmbtl.callbacks import Event
from sdmbtl.studies import Study

#: What is trained: points, from scratch, chosen at random, so that choosing costs nothing.
HOW: dict[str, Any] = {
    "selector": "random",
    "width": 0,
    "init": "scratch",
    "episodes": 1,
    "trainer": "search",
}


def open_study(
    path: Path, targets: int = 64, env: str = "make_cart", seed: int = 0, **settings: float
) -> Study:
    """Make a study whose policies are trained in no time, or resume it.

    Args:
        path: The directory.
        targets: How many lengths of the pole there are.
        env: Which of our environments.
        seed: Of the study.
        **settings: Of the trainer.
    """
    return Study.open(
        path,
        f"fault_parts.search:{env}",
        space=ContextSpace(length=np.linspace(0.1, 1.0, targets)),
        trainer_options=settings,
        return_range=(0.0, 30.0),
        seed=seed,
        wait=120.0,
        **HOW,
    )


def main() -> None:
    """Run it; `stop_at` names the event at which the process stops itself, once."""
    path, budget = Path(sys.argv[1]), int(sys.argv[2])
    options: dict[str, Any] = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    stop_at = [options.pop("stop_at", None)]
    study = open_study(path, **options.pop("study", {}))

    def show(event: Event) -> None:
        print(event.stage, event.trial.id, flush=True)
        if event.stage == stop_at[0]:
            stop_at.clear()
            stop_at.append(None)
            os.kill(os.getpid(), signal.SIGSTOP)

    how = {"progress": False, "log_every": None, "checkpoint_seconds": None, "callbacks": [show]}
    print("ended:", study.run(budget, **{**how, **options}), flush=True)


if __name__ == "__main__":
    main()
