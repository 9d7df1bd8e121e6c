"""Training runs that crash, use all memory or hang."""

from __future__ import annotations

import os
from typing import Any

from fault_parts.driver import open_study
from fault_parts.processes import Settings, outcome, variables

#: Environments that fall ill on one of four contexts.
ILL = {"crash": "make_crashing", "memory": "make_greedy", "hang": "make_hanging"}
#: Seconds and bytes that a run may take.
RUN_LIMIT, MEMORY = 5.0, 600 * 2**20


def ill_row(settings: Settings) -> dict[str, Any]:
    """Bounded attempts, three distinct reasons, and the study continues with other contexts."""
    os.environ.update(variables(settings.work))
    found = {how: _run(settings, how, env) for how, env in ILL.items()}
    reasons = {one["error"] for one in found.values()}
    held = len(reasons) == len(ILL) and all(
        (one["finished"], one["failed"], one["attempts"]) == (3, 1, 3) and one["healthy"]
        for one in found.values()
    )
    texts = "; ".join(f"“{reason.removeprefix('WorkerLostError: ')}”" for reason in reasons)
    return {
        "fault": "training runs that segfault, use all memory, hang (one of four contexts each)",
        "held": held,
        "ours": f"given up after {max(one['attempts'] for one in found.values())} attempts, the "
        f"other three contexts trained; reasons: {texts}",
        "numbers": found,
    }


def _run(settings: Settings, how: str, env: str) -> dict[str, Any]:
    path = settings.work / how
    study = open_study(path, targets=4, env=env, seed=settings.seed)
    stopped = study.run(
        4,
        executor="processes",
        executor_options={"memory_limit": MEMORY},
        run_limit=RUN_LIMIT,
        progress=False,
        log_every=None,
        checkpoint_seconds=None,
    )
    (failed,) = [t for t in study.trials if t.status == "failed"]
    run = failed.run
    lost, errors = ((), ("",)) if run is None else (run.lost, run.errors)
    return {
        **outcome(path),
        "stopped": stopped,
        "attempts": len(lost) + 1,
        "error": errors[-1],
    }
