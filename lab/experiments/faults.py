"""What becomes of studies when things go wrong: processes killed, clocks set, disks full.

    python lab/experiments/faults.py [NAME ...] [--rounds 200] [--kills 20] [--optuna-python PATH]

Each name is a row of the table in docs/parallel.md; without one all are measured, except `speed`,
which needs a machine that does nothing else. The result, results/faults.json, is written after each
row. Where Optuna has something of the kind, it is measured beside, with the Python that has it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fault_parts.clock_row import clock_row
from fault_parts.crowd_row import crowd_row
from fault_parts.disk_row import disk_row
from fault_parts.ill_row import ill_row
from fault_parts.locks_row import locks_row
from fault_parts.processes import Settings
from fault_parts.ray_row import ray_row
from fault_parts.speed_row import speed_row
from fault_parts.stopped_row import stopped_row
from sdmbtl.files import write_atomically
from sdmbtl.software import CORE, versions

RESULT = Path(__file__).parents[2] / "results" / "faults.json"

#: The rows, in the order of the table.
ROWS: dict[str, Callable[[Settings], dict[str, Any]]] = {
    "ray": ray_row,
    "stopped": stopped_row,
    "locks": locks_row,
    "clock": clock_row,
    "ill": ill_row,
    "crowd": crowd_row,
    "disk": disk_row,
    "speed": speed_row,
}


def main() -> None:
    """Measure rows and write each to the result file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=200, help="policies of a long study")
    parser.add_argument("--kills", type=int, default=20, help="drivers that are killed")
    parser.add_argument("--optuna-python", metavar="PATH", help="a Python that has Optuna")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.names or [name for name in ROWS if name != "speed"]
    if unknown := set(names) - set(ROWS):
        parser.error(f"There is no row {min(unknown)!r}. The rows are: {', '.join(ROWS)}.")
    for name in names:
        work = Path(tempfile.mkdtemp(prefix=f"sdmbtl-{name}-"))
        settings = Settings(work, given.rounds, given.kills, given.optuna_python, given.seed)
        begun = time.monotonic()
        row = ROWS[name](settings)
        print(name, json.dumps(row, indent=1), f"{time.monotonic() - begun:.0f} s", flush=True)
        _write(name, row, given)
        if row["held"]:
            shutil.rmtree(work)
        else:
            print(f"Its files are in {work}.", file=sys.stderr)


def _write(name: str, row: dict[str, Any], given: argparse.Namespace) -> None:
    """Add a row to the result file; read only now, others may have been measured meanwhile."""
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {"rows": {}}
    scale = f"--rounds {given.rounds} --kills {given.kills} --seed {given.seed}"
    found = {"command": f"python lab/experiments/faults.py {name} {scale}", **row}
    rows = {**result["rows"], name: found}
    result["rows"] = {known: rows[known] for known in ROWS if known in rows}
    result["versions"] = versions((*CORE, "gymnasium", "ray"))
    RESULT.parent.mkdir(exist_ok=True)
    write_atomically(RESULT, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
